# SPDX-License-Identifier: MIT
# The serial line at a socket, a pseudo-terminal and a file; the machine in the background.
. "$(dirname "$0")/common.sh"

printf 'text here\nwait\ntext there\nwait\nend seed=8\n' | script
run="-kernel $guests/guest.elf -initrd script $debug_exit"

# talk NAME: wait for "here", answer, as two clients of a socket or one of a terminal; until "there"
talk() {
	python3 - "$1" <<-'END'
		import os, socket, sys, time
		def open_line():
		    if sys.argv[1].startswith('/dev'):
		        fd = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)
		        return lambda: os.read(fd, 100), lambda data: os.write(fd, data)
		    line = socket.socket(socket.AF_UNIX)
		    line.connect(sys.argv[1])
		    line.settimeout(30)
		    return lambda: line.recv(100), line.send
		def until(read, text):
		    seen = b''
		    while text not in seen:
		        seen += read()
		read, write = open_line()
		time.sleep(0.5)
		write(b'x')
		until(read, b'there')
		if not sys.argv[1].startswith('/dev'):
		    del read, write
		    read, write = open_line()
		write(b'y')
	END
}

# In the background: the command comes back once the guest runs, and says what is wrong before.
expect 0 timeout 60 "$vkvm" $run -daemonize -pidfile pid -serial unix:line,server=on,wait=off
pid=$(cat pid)
kill -0 "$pid" || fail "it is not there"
talk line
ended() { ! kill -0 "$pid" 2>/dev/null; }
eventually ended
[ ! -e pid ] && [ ! -e line ] || fail "files are left"
expect 1 "$vkvm" -daemonize -hda nowhere
says "Could not open 'nowhere'"
expect 1 "$vkvm" -daemonize -serial stdio
says "cannot be used with -daemonize"

timeout 60 "$vkvm" $run -serial pty </dev/null >out 2>&1 &
runner=$!
until_said redirected
talk "$(sed -n 's/.*redirected to //p' out)"
status=0
wait $runner || status=$?
[ $status = 17 ] || fail "status $status"

printf 'text here\nend seed=8\n' | script
expect 17 timeout 60 "$vkvm" $run -serial file:log
grep -q here log || fail "nothing in the file"
expect 1 "$vkvm" $run -serial udp:1
says "is expected"
