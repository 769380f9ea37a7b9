# SPDX-License-Identifier: MIT
# bash completion for qimg and qimg-io; made by scripts/gen-completion.sh.

_qimg_options()
{
	case $1 in
	amend)
		options='--object= --image-opts -p --progress -q --quiet -f --format= -t --cache= --force -o --options= -h --help '
		case $prev in
		--object) kind=OBJDEF ;;
		-f|--format) kind=FMT ;;
		-t|--cache) kind=CACHE ;;
		-o|--options) kind=OPTIONS ;;
		esac ;;
	bench)
		options='-f --format= --image-opts --object= -t --cache= -c --count= -d --depth= -o --offset= -s --buffer-size= -S --step-size= -w --write --pattern= --flush-interval= --no-drain -i --aio= -n --native -U --force-share -q --quiet --random --mix= --seed= --time= --latency --stats --output= --l2-cache-size= --l2-cache-entry-size= --l2-cache-file= --refcount-cache-size= --cache-size= --cache-clean-interval= --warm-up --batch= --no-l2-cache --no-extents -h --help '
		case $prev in
		-f|--format) kind=FMT ;;
		--object) kind=OBJDEF ;;
		-t|--cache) kind=CACHE ;;
		-c|--count|--flush-interval) kind=COUNT ;;
		-d|--depth) kind=DEPTH ;;
		-o|--offset) kind=OFFSET ;;
		-s|--buffer-size|-S|--step-size|--l2-cache-size|--l2-cache-entry-size|--refcount-cache-size|--cache-size) kind=SIZE ;;
		--pattern) kind=BYTE ;;
		-i|--aio) kind=AIO ;;
		--mix) kind=READ% ;;
		--seed|--batch) kind=N ;;
		--time|--cache-clean-interval) kind=SECONDS ;;
		--output) kind=OFMT ;;
		--l2-cache-file) kind=FILE ;;
		esac ;;
	bitmap)
		options='--add --remove --clear --enable --disable --merge= --remove-all --list --output= -g --granularity= -b --source-file= -F --source-format= --object= --image-opts -f --format= -h --help '
		case $prev in
		--merge) kind=BITMAP ;;
		--output) kind=OFMT ;;
		-g|--granularity) kind=SIZE ;;
		-b|--source-file) kind=FILE ;;
		-F|--source-format|-f|--format) kind=FMT ;;
		--object) kind=OBJDEF ;;
		esac ;;
	check)
		options='--object= --image-opts -q --quiet -f --format= --output= -r --repair= --force -T --cache= -U --force-share -h --help '
		case $prev in
		--object) kind=OBJDEF ;;
		-f|--format) kind=FMT ;;
		--output) kind=OFMT ;;
		-r|--repair) kind=WHAT ;;
		-T|--cache) kind=CACHE ;;
		esac ;;
	checksum)
		options='--object= --image-opts -f --format= --algorithm= --output= -T --cache= -U --force-share -p --progress -h --help '
		case $prev in
		--object) kind=OBJDEF ;;
		-f|--format) kind=FMT ;;
		--algorithm) kind=ALGORITHM ;;
		--output) kind=OFMT ;;
		-T|--cache) kind=CACHE ;;
		esac ;;
	commit)
		options='--object= --image-opts -q --quiet -f --format= -t --cache= -b --base= -r --rate-limit= -d --drop -p --progress --output= -h --help '
		case $prev in
		--object) kind=OBJDEF ;;
		-f|--format) kind=FMT ;;
		-t|--cache) kind=CACHE ;;
		-b|--base) kind=BASE ;;
		-r|--rate-limit) kind=RATE ;;
		--output) kind=OFMT ;;
		esac ;;
	compare)
		options='--object= --image-opts -f --a-format= -F --b-format= -T --cache= -p --progress -q --quiet -s --strict --output= -U --force-share -h --help '
		case $prev in
		--object) kind=OBJDEF ;;
		-f|--a-format|-F|--b-format) kind=FMT ;;
		-T|--cache) kind=CACHE ;;
		--output) kind=OFMT ;;
		esac ;;
	convert)
		options='--object= --image-opts --target-image-opts --target-is-zero --bitmaps --skip-broken-bitmaps -U --force-share -C --copy-range-offloading -c --compress -p --progress -q --quiet -n --no-create -f --source-format= -t --target-cache= -T --source-cache= -O --target-format= -B --backing= -F --backing-format= -o --target-format-options= -l --snapshot= -S --sparse-size= -r --rate-limit= -m --parallel= -W --oob-writes --compression-level= --compression-window= --no-verify --verify --salvage -h --help '
		case $prev in
		--object) kind=OBJDEF ;;
		-f|--source-format|-O|--target-format|-F|--backing-format) kind=FMT ;;
		-t|--target-cache|-T|--source-cache) kind=CACHE ;;
		-B|--backing) kind=FILE ;;
		-o|--target-format-options) kind=OPTIONS ;;
		-l|--snapshot) kind=SNAPSHOT ;;
		-S|--sparse-size|--compression-window) kind=SIZE ;;
		-r|--rate-limit) kind=RATE ;;
		-m|--parallel|--compression-level) kind=N ;;
		esac ;;
	create)
		options='-f --format= -o --options= -b --backing= -F --backing-format= -u --backing-unsafe -q --quiet --object= -h --help '
		case $prev in
		-f|--format|-F|--backing-format) kind=FMT ;;
		-o|--options) kind=OPTIONS ;;
		-b|--backing) kind=FILE ;;
		--object) kind=OBJDEF ;;
		esac ;;
	dd)
		options='--object= --image-opts -U --force-share -f --format= -O --output-format= -h --help '
		case $prev in
		--object) kind=OBJDEF ;;
		-f|--format|-O|--output-format) kind=FMT ;;
		esac ;;
	info)
		options='--object= --image-opts -f --format= --output= --backing-chain --limits -t --cache= -U --force-share -h --help '
		case $prev in
		--object) kind=OBJDEF ;;
		-f|--format) kind=FMT ;;
		--output) kind=OFMT ;;
		-t|--cache) kind=CACHE ;;
		esac ;;
	inspect)
		options='--image-opts --output= --structure= --guest= -U --force-share -h --help '
		case $prev in
		--output) kind=OFMT ;;
		--structure) kind=NAME ;;
		--guest) kind=OFFSET ;;
		esac ;;
	map)
		options='--object= --image-opts -f --format= -s --start-offset= -l --max-length= --output= --picture --svg= -U --force-share -h --help '
		case $prev in
		--object) kind=OBJDEF ;;
		-f|--format) kind=FMT ;;
		-s|--start-offset) kind=OFFSET ;;
		-l|--max-length) kind=LEN ;;
		--output) kind=OFMT ;;
		--svg) kind=FILE ;;
		esac ;;
	measure)
		options='--output= -O --target-format= -o --options= -s --size= --object= --image-opts -f --format= -l --snapshot= --compressed -U --force-share -h --help '
		case $prev in
		--output) kind=OFMT ;;
		-O|--target-format|-f|--format) kind=FMT ;;
		-o|--options) kind=OPTIONS ;;
		-s|--size) kind=SIZE ;;
		--object) kind=OBJDEF ;;
		-l|--snapshot) kind=SNAPSHOT ;;
		esac ;;
	rebase)
		options='--object= --image-opts -U --force-share -q --quiet -f --format= -t --cache= -T --backing-cache= -p --progress -u --backing-unsafe -c --compress -b --backing= -F --backing-format= --output= -h --help '
		case $prev in
		--object) kind=OBJDEF ;;
		-f|--format|-F|--backing-format) kind=FMT ;;
		-t|--cache|-T|--backing-cache) kind=CACHE ;;
		-b|--backing) kind=FILE ;;
		--output) kind=OFMT ;;
		esac ;;
	resize)
		options='--object= --image-opts -f --format= --preallocation= -q --quiet --output= --shrink -h --help '
		case $prev in
		--object) kind=OBJDEF ;;
		-f|--format) kind=FMT ;;
		--preallocation) kind=MODE ;;
		--output) kind=OFMT ;;
		esac ;;
	snapshot)
		options='--object= --image-opts -f --format= -U --force-share -q --quiet --output= -l --list -a --apply= -c --create= -d --delete= -h --help '
		case $prev in
		--object) kind=OBJDEF ;;
		-f|--format) kind=FMT ;;
		--output) kind=OFMT ;;
		-a|--apply) kind=SNAPSHOT ;;
		-c|--create|-d|--delete) kind=NAME ;;
		esac ;;
	qimg-io)
		options='--object= --image-opts -c --cmd= -f --format= -r --read-only -s --snapshot -n --nocache -C --copy-on-read -m --misalign -k --native-aio -i --aio= -t --cache= -d --discard= -T --trace= -U --force-share --latency= --journal= --count= --seed= --verify= -h --help -V --version '
		case $prev in
		--object) kind=OBJECTDEF ;;
		-c|--cmd) kind=STRING ;;
		-f|--format) kind=FMT ;;
		-i|--aio) kind=AIO ;;
		-t|--cache) kind=CACHE ;;
		-d|--discard) kind=DISCARD ;;
		-T|--trace) kind=SPEC ;;
		--latency|--journal|--verify) kind=FILE ;;
		--count|--seed) kind=N ;;
		esac ;;
	esac
}

# Sets words: what can stand for an argument of kind $1; nothing: a file.
_qimg_words()
{
	case $1 in
	FMT) words='blkdebug delay file host_device luks null-aio null-co qcow2 raw record throttle' ;;
	CACHE) words='none writeback writethrough directsync unsafe' ;;
	OFMT) words='human json' ;;
	AIO) words='threads native io_uring sync mmap' ;;
	DISCARD) words='ignore unmap' ;;
	MODE) words='off metadata falloc full' ;;
	WHAT) words='leaks all' ;;
	ALGORITHM) words='sha256 sha512 xxh3' ;;
	OPTIONS) words='backing_file= backing_fmt= cipher-alg= cipher-mode= cluster_size= compat= compression_type= data_file= data_file_raw= encrypt.cipher-alg= encrypt.cipher-mode= encrypt.format= encrypt.hash-alg= encrypt.iter-time= encrypt.ivgen-alg= encrypt.ivgen-hash-alg= encrypt.key-secret= encryption= hash-alg= iter-time= ivgen-alg= ivgen-hash-alg= key-secret= lazy_refcounts= preallocation= refcount_bits= size= ' ;;
	*) words= ;;
	esac
}

_qimg()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local command= options= kind= words= i
	[ "$cur" = = ] && cur=
	[ "$prev" = = ] && prev=${COMP_WORDS[COMP_CWORD - 2]}
	[ "${COMP_WORDS[0]##*/}" = qimg-io ] || [ "${COMP_WORDS[0]##*/}" = qemu-io ] &&
		command=qimg-io
	for ((i = 1; i < COMP_CWORD && ${#command} == 0; i++)); do
		case ${COMP_WORDS[i]} in -*) ;; *) command=${COMP_WORDS[i]} ;; esac
	done
	if [ -z "$command" ]; then
		COMPREPLY=($(compgen -W 'amend bench bitmap check checksum commit compare convert create dd info inspect map measure rebase resize snapshot --help --version' -- "$cur"))
		return
	fi
	_qimg_options "$command"
	_qimg_words "$kind"
	[ "$command" = dd ] && [ -z "$kind" ] && words='if= of= bs= count= skip= seek= conv='
	if [ -z "$kind" ] && [ "${cur#-}" != "$cur" ]; then
		COMPREPLY=($(compgen -W "$options" -- "$cur"))
	elif [ -n "$words" ]; then
		COMPREPLY=($(compgen -W "$words" -- "${cur##*,}"))
		[ "${cur##*,}" = "$cur" ] || COMPREPLY=("${COMPREPLY[@]/#/${cur%,*},}")
	fi
	case ${COMPREPLY[0]:-} in *=) compopt -o nospace 2>/dev/null ;; esac
}

complete -o default -F _qimg qimg qimg-io qemu-img qemu-io
