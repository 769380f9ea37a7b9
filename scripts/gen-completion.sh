#!/bin/sh
# SPDX-License-Identifier: MIT
# Make the completions for bash and zsh in completion/ from --help, which is made from the tables.
# With --check: write nothing, fail if one is not up to date.
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
qimg=$BUILD/qimg
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

commands=$("$qimg" --help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p')
formats=$("$qimg" --help | sed -n 's/^Supported formats: //p')

help_of() {
	case $1 in
	qimg-io) "$BUILD/qimg-io" --help ;;
	*) "$qimg" "$1" --help ;;
	esac
}

# Options as "letters|long|argument|text", one a line.
table() {
	help_of "$1" | awk '/^ +(-., )?--[a-z]/ || /^ +-[a-zA-Z] / {
		match($0, /^ +(-.(, )?)?(--[-a-z0-9]+)?([ =][A-Z][-A-Z0-9%]*)?( |$)/)
		opt = substr($0, 1, RLENGTH)
		text = substr($0, RLENGTH + 1)
		gsub(/^ +| +$/, "", opt)
		gsub(/^ +/, "", text)
		arg = letter = long = ""
		if (match(opt, /[ =][A-Z][-A-Z0-9%]*$/)) {
			arg = substr(opt, RSTART + 1)
			opt = substr(opt, 1, RSTART - 1)
		}
		if (match(opt, /--[-a-z0-9]+/))
			long = substr(opt, RSTART)
		if (match(opt, /^-[^-]/))
			letter = substr(opt, 1, 2)
		print letter "|" long "|" arg "|" text
	}'
}

# Names that can stand in -o, for all formats together.
create_options() {
	for format in $formats; do
		"$qimg" create -f "$format" -o help 2>/dev/null || :
	done | sed -n 's/^  \([a-z][-a-z_.]*\)=.*/\1=/p' | sort -u | tr '\n' ' '
}

bash_case() { # NAME: the options of one command, and what takes which argument
	echo "	$1)"
	echo "		options='$(table "$1" | awk -F '|' '{
		if ($1) printf "%s ", $1
		if ($2) printf "%s%s ", $2, $3 ? "=" : ""
	}')'"
	table "$1" | awk -F '|' '$3 {
		names = $1 ($1 && $2 ? "|" : "") $2
		list[$3] = list[$3] (list[$3] ? "|" : "") names
		if (!seen[$3]++)
			order[++nr] = $3
	} END {
		print "\t\tcase $prev in"
		for (i = 1; i <= nr; i++)
			print "\t\t" list[order[i]] ") kind=" order[i] " ;;"
		print "\t\tesac ;;"
	}'
}

make_bash() {
	cat <<END
# SPDX-License-Identifier: MIT
# bash completion for qimg and qimg-io; made by scripts/gen-completion.sh.

_qimg_options()
{
	case \$1 in
END
	for name in $commands qimg-io; do
		bash_case "$name"
	done
	cat <<END
	esac
}

# Sets words: what can stand for an argument of kind \$1; nothing: a file.
_qimg_words()
{
	case \$1 in
	FMT) words='$formats' ;;
	CACHE) words='none writeback writethrough directsync unsafe' ;;
	OFMT) words='human json' ;;
	AIO) words='threads native io_uring sync mmap' ;;
	DISCARD) words='ignore unmap' ;;
	MODE) words='off metadata falloc full' ;;
	WHAT) words='leaks all' ;;
	ALGORITHM) words='sha256 sha512 xxh3' ;;
	OPTIONS) words='$(create_options)' ;;
	*) words= ;;
	esac
}

_qimg()
{
	local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]}
	local command= options= kind= words= i
	[ "\$cur" = = ] && cur=
	[ "\$prev" = = ] && prev=\${COMP_WORDS[COMP_CWORD - 2]}
	[ "\${COMP_WORDS[0]##*/}" = qimg-io ] || [ "\${COMP_WORDS[0]##*/}" = qemu-io ] &&
		command=qimg-io
	for ((i = 1; i < COMP_CWORD && \${#command} == 0; i++)); do
		case \${COMP_WORDS[i]} in -*) ;; *) command=\${COMP_WORDS[i]} ;; esac
	done
	if [ -z "\$command" ]; then
		COMPREPLY=(\$(compgen -W '$(echo $commands) --help --version' -- "\$cur"))
		return
	fi
	_qimg_options "\$command"
	_qimg_words "\$kind"
	[ "\$command" = dd ] && [ -z "\$kind" ] && words='if= of= bs= count= skip= seek= conv='
	if [ -z "\$kind" ] && [ "\${cur#-}" != "\$cur" ]; then
		COMPREPLY=(\$(compgen -W "\$options" -- "\$cur"))
	elif [ -n "\$words" ]; then
		COMPREPLY=(\$(compgen -W "\$words" -- "\${cur##*,}"))
		[ "\${cur##*,}" = "\$cur" ] || COMPREPLY=("\${COMPREPLY[@]/#/\${cur%,*},}")
	fi
	case \${COMPREPLY[0]:-} in *=) compopt -o nospace 2>/dev/null ;; esac
}

complete -o default -F _qimg qimg qimg-io qemu-img qemu-io
END
}

zsh_case() {
	echo "	$1)"
	echo "		_arguments -s \\"
	table "$1" | sed "s/'/'\\\\''/g; s/\\[/\\\\[/g; s/\\]/\\\\]/g; s/:/\\\\:/g" | awk -F '|' '{
		end = "[" $4 "]" ($3 ? ":" $3 ":_qimg_argument " $3 : "") "\x27"
		if ($1 && $2)
			print "\t\t\t\x27(" $1 " " $2 ")\x27{" $1 ($3 ? "+" : "") "," $2 \
				($3 ? "=" : "") "}\x27" end " \\"
		else if ($2)
			print "\t\t\t\x27" $2 ($3 ? "=" : "") end " \\"
		else
			print "\t\t\t\x27" $1 ($3 ? "+" : "") end " \\"
	}'
	echo "			'*:file:_files' ;;"
}

make_zsh() {
	cat <<END
#compdef qimg qimg-io qemu-img=qimg qemu-io=qimg-io
# SPDX-License-Identifier: MIT
# zsh completion for qimg and qimg-io; made by scripts/gen-completion.sh.

_qimg_argument()
{
	case \$1 in
	FMT) compadd $formats ;;
	CACHE) compadd none writeback writethrough directsync unsafe ;;
	OFMT) compadd human json ;;
	AIO) compadd threads native io_uring sync mmap ;;
	DISCARD) compadd ignore unmap ;;
	MODE) compadd off metadata falloc full ;;
	WHAT) compadd leaks all ;;
	ALGORITHM) compadd sha256 sha512 xxh3 ;;
	OPTIONS) compadd -S '' $(create_options);;
	*) _files ;;
	esac
}

_qimg_command()
{
	case \$1 in
END
	for name in $commands qimg-io; do
		zsh_case "$name"
	done
	cat <<END
	esac
}

_qimg()
{
	local command
	if [[ \$service == qimg-io ]]; then
		_qimg_command qimg-io
	elif (( CURRENT == 2 )); then
		compadd $(echo $commands) --help --version
	else
		command=\$words[2]
		shift words
		(( CURRENT-- ))
		_qimg_command \$command
	fi
}

_qimg "\$@"
END
}

make_bash >"$tmp/qimg.bash"
make_zsh >"$tmp/_qimg"
for file in qimg.bash _qimg; do
	if cmp -s "$tmp/$file" "completion/$file"; then
		continue
	elif [ "${1:-}" = --check ]; then
		echo "completion/$file is not up to date: run scripts/gen-man.sh"
		exit 1
	fi
	cp "$tmp/$file" "completion/$file"
done
