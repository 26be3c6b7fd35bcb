# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="iw-mpa top: connections, rates and ends by reason, as text and on a terminal"
WIRES=clean
FAMILIES="4"

applies() { both_ours; }

# Program for the guest that runs "iw-mpa top" on a terminal of 80 columns and 24 lines: top shows the list of
# connections; after a key the list of ends; 'q' makes it exit. The line 'keys' in the output separates what top drew
# before the first key from what it drew after.
on_terminal='
import fcntl, os, pty, struct, sys, termios, time
pid, fd = pty.fork()
if not pid:
    os.environ["TERM"] = "vt100"
    os.execv(sys.argv[1], [sys.argv[1], "top", "-d", "0.5"])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
text, keys, end = b"", False, time.monotonic() + 30
while time.monotonic() < end:
    try:
        text += os.read(fd, 4096)
    except OSError:
        break
    if not keys and b"OFFLOADED" in text and b"quit" in text:
        os.write(fd, b"se")
        text += b"\nkeys\n"
        keys = True
    if keys and b"a second" in text.split(b"\nkeys\n")[1]:
        os.write(fd, b"q")
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.stdout.write(text.decode(errors="replace"))
sys.exit(status)'

# Program for the guest that runs top on a terminal, with /dev/null as its input, so that no key can arrive: top draws
# twice, a second apart.
without_keys='
import os, pty, sys, time
start = time.monotonic()
pid, fd = pty.fork()
if not pid:
    os.environ["TERM"] = "vt100"
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    os.execv(sys.argv[1], [sys.argv[1], "top", "-d", "1", "-n", "2"])
try:
    while os.read(fd, 4096):
        pass
except OSError:
    pass
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.exit(status or time.monotonic() - start < 2)'

check() {
	local output before after

	serve "rping -s -P -a $SERVER_IP -p $PORT"
	client "rping -c -a $SERVER_IP -p $PORT -C 1 -V -v" >/dev/null
	guest_bg "$CLIENT" long "rping -c -a $SERVER_IP -p $PORT -C 1000000 -V -v"
	on "$CLIENT" "poll 20 grep -q 'rdma-ping-0:' /run/bg/long/output"
	# While "iw-mpa top" runs, a second connection is made and closed. The test stops the program when it has shown
	# the close, however long this takes on a slow host.
	on "$CLIENT" "/host$TOP/scripts/iw-mpa top -b -d 2 >/run/top & top=\$!
		poll 30 grep -q second: /run/top
		rping -c -a $SERVER_IP -p $PORT -C 1 -V -v >/run/one
		poll 40 grep -q '^ULP_CLOSE .* 0\.[1-9]' /run/top; kill \$top; wait \$top || :" 100
	output=$(on "$CLIENT" 'cat /run/top')
	echo "$output"
	# At least one screen shows one connection and no event, and another one shows that a connection was made and
	# ended. Screens are at least two seconds apart, so one event is shown as 0.5 a second or less.
	expect_text "$output" ' 1 connections, .*1 OFFLOADED'
	expect_text "$output" 'a second: 0\.0 established, 0\.0 closed, 0\.0 failed'
	expect_text "$output" 'a second: 0\.[1-5] established'
	expect_text "$output" '^ULP_CLOSE  *[0-9]+  *0\.[1-5]$'
	expect_text "$output" "^$SERVER_IP:$PORT  *OFFLOADED  *[0-9.]+[kM]?  *[0-9.]+[kM]?  *[0-9.]+k?  *[0-9]+ .* no .* siw0 "
	output=$(on "$CLIENT" "python3 -c '$on_terminal' /host$TOP/scripts/iw-mpa" 60)
	expect_text "${output%%keys*}" "$SERVER_IP:$PORT .*OFFLOADED"
	[[ ${output%%keys*} != *ULP_CLOSE* ]] || fail 'ends are shown before connections'
	expect_text "${output#*keys}" 'ULP_CLOSE'
	expect_text "$output" 'q: quit'
	on "$CLIENT" "python3 -c '$without_keys' /host$TOP/scripts/iw-mpa" 60 || fail "it does not wait" || return 1
	guest_stop "$CLIENT" long >/dev/null
	guest_stop "$SERVER" server >/dev/null
}
