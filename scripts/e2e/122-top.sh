# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="iw-mpa top: connections, rates and ends by reason, as text and on a terminal"
WIRES=clean
FAMILIES="4"

applies() { both_ours; }

LONG_IP=2001:db8:1111:2222:3333:4444:5555	# without the last of its eight numbers
DOWN='\x1bOB'	# keys of a vt100
RIGHT='\x1bOC'

# Program for the guest that runs "iw-mpa top" on a terminal of 24 lines with 80 columns, a vt100, and keeps what such a
# terminal shows. Its arguments are iw-mpa, and pairs of keys and a regular expression: it presses the keys, waits until
# the screen matches, and prints the screen and a line "next". In the end the key q has to make top exit.
on_terminal='
import fcntl, os, pty, re, struct, sys, termios, time
pid, fd = pty.fork()
if not pid:
    os.environ["TERM"] = "vt100"
    os.execv(sys.argv[1], [sys.argv[1], "top", "-d", "0.5"])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
part = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|\x1b[()].|\x1b([^\[()])|([^\x1b])", re.DOTALL)
rows, y, x, top, bottom, text = [[" "] * 80 for _ in range(24)], 0, 0, 0, 23, ""

def screen():
    return "\n".join("".join(row).rstrip() for row in rows)

def draw(text):
    """Draw text, and return its end if that is a part of an escape sequence."""
    global y, x, top, bottom
    done = 0
    for found in part.finditer(text):
        if found.start() != done:
            break
        done = found.end()
        numbers, command, single, char = found.groups()
        many = int(numbers) if numbers and numbers.isdigit() else 1
        if command == "H":
            y, x = (int(number) - 1 for number in (numbers or "1;1").split(";"))
        elif command == "r":
            top, bottom = (int(number) - 1 for number in (numbers or "1;24").split(";"))
        elif command in ("A", "B"):
            y += many if command == "B" else -many
        elif command in ("C", "D"):
            x += many if command == "C" else -many
        elif command == "K" and numbers == "1":
            rows[y][:x + 1] = [" "] * (x + 1)
        elif command in ("J", "K"):
            rows[y][x:] = [" "] * (80 - x)
            rows[y + 1:] = [[" "] * 80 for _ in rows[y + 1:]] if command == "J" else rows[y + 1:]
        elif single == "M" and y == top or char == "\n" and y == bottom:    # scroll down, or up
            del rows[top if char else bottom]
            rows.insert(bottom if char else top, [" "] * 80)
        elif single == "M" or char == "\n":
            y += 1 if char else -1
        elif char == "\r":
            x = 0
        elif char == "\b":
            x -= 1
        elif char == "\t":
            x = x // 8 * 8 + 8
        elif char and char >= " ":
            rows[y][x] = char
            x += 1
    return text[done:]

end = time.monotonic() + 150
for keys, wanted in zip(sys.argv[2::2], sys.argv[3::2]):
    os.write(fd, keys.encode().decode("unicode_escape").encode())
    while not re.search(wanted, screen(), re.MULTILINE | re.DOTALL):
        if time.monotonic() > end:
            sys.exit("it does not show " + wanted + " but\n" + screen())
        text = draw(text + os.read(fd, 4096).decode())
    print(screen(), "next", sep="\n")
os.write(fd, b"q")
try:
    while os.read(fd, 4096):
        pass
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))'

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
	local output none='no [^\n]*' steps

	serve "rping -s -P -a $SERVER_IP -p $PORT"
	client "rping -c -a $SERVER_IP -p $PORT -C 1 -V -v" >/dev/null
	guest_bg "$CLIENT" long "rping -c -a $SERVER_IP -p $PORT -C 1000000 -V -v"
	on "$CLIENT" "poll 60 grep -q 'rdma-ping-0:' /run/bg/long/output"
	# While "iw-mpa top" runs, a second connection is made and closed. The test stops the program when it has shown
	# the close, however long this takes on a slow host.
	on "$CLIENT" "/host$TOP/scripts/iw-mpa top -b -d 2 >/run/top & top=\$!
		poll 120 grep -q second: /run/top
		rping -c -a $SERVER_IP -p $PORT -C 1 -V -v >/run/one
		poll 120 grep -q '^ULP_CLOSE .* 0\.[1-9]' /run/top; kill \$top; wait \$top || :" 300
	output=$(on "$CLIENT" 'cat /run/top')
	echo "$output"
	# At least one screen shows one connection and no event, and another one shows that a connection was made and
	# ended. Screens are at least two seconds apart, so one event is shown as 0.5 a second or less.
	expect_text "$output" ' 1 connections, .*1 OFFLOADED'
	expect_text "$output" 'a second: 0\.0 established, 0\.0 closed, 0\.0 failed'
	expect_text "$output" 'a second: 0\.[1-5] established'
	expect_text "$output" '^ULP_CLOSE  *[0-9]+  *0\.[1-5]$'
	expect_text "$output" "^no  *[0-9.]+[kM]?  *[0-9.]+[kM]?  *[0-9.]+k?  *[0-9]+ .* $SERVER_IP:$PORT  *OFFLOADED .* siw0 "

	# A second connection with the longest addresses, which leave no room for a column to the right of them.
	on "$SERVER" "ip -6 address add $LONG_IP:2222/64 dev eth0 nodad && at_clean_up 'ip -6 address flush to $LONG_IP:2222'"
	on "$CLIENT" "ip -6 address add $LONG_IP:1111/64 dev eth0 nodad && at_clean_up 'ip -6 address flush to $LONG_IP:1111'"
	guest_serve "$SERVER" server6 "$((PORT + 1))" "rping -s -P -a $LONG_IP:2222 -p $((PORT + 1))"
	guest_bg "$CLIENT" long6 "rping -c -a $LONG_IP:2222 -p $((PORT + 1)) -C 1000000 -V -v"
	on "$CLIENT" "poll 60 grep -q 'rdma-ping-0:' /run/bg/long6/output"
	steps=(
		# The younger connection is first.
		'' "^stalled +sent/s +recv/s .*^no +[0-9.]+[kM]? +[0-9.]+[kM]? .*\[2001:.*^$none$SERVER_IP:$PORT\n.*rate +e: ends"
		ssss "^$none$SERVER_IP:$PORT\n.*^$none\[2001:.*sort by local"
		"$DOWN" "^stalled [^\n]*\n$none\[2001:"
		"$RIGHT" "\[$LONG_IP:2222\]:$((PORT + 1)) +OFFLOADED "
		e '^ULP_CLOSE .*connections')
	output=$(on "$CLIENT" "python3 -c '$on_terminal' /host$TOP/scripts/iw-mpa ${steps[*]@Q}" 200)
	echo "$output"
	[[ ${output%%next*} != *ULP_CLOSE* ]] || fail 'ends are shown before connections' || return 1
	expect_text "$output" 'q: quit'
	on "$CLIENT" "python3 -c '$without_keys' /host$TOP/scripts/iw-mpa" 60 || fail "it does not wait" || return 1
	guest_stop "$CLIENT" long >/dev/null
	guest_stop "$CLIENT" long6 >/dev/null
	guest_stop "$SERVER" server >/dev/null
	guest_stop "$SERVER" server6 >/dev/null
}
