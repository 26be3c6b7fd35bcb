# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions that the end-to-end tests share. A test file NNN-topic.sh sets these variables:
#   DESCRIPTION     one line: what the test proves
#   FAMILIES        address families; by default "4 6"
#   WIRES           kinds of wires; by default "clean rough flap"
#   LONG            yes: the test is not part of a sample
#   KIT             name of a file in scripts/lib/guest, whose functions inside() can use
#   VARIANTS        names of variants, each a case of its own; NAME/FAMILY for a single address family
#
# A test file also defines check(), in which any command that fails fails the test. It may define applies(), which says
# for which drivers the test is meant. The test can use these variables:
#   CLIENT SERVER                  names of the guests: A and B, or B and A
#   CLIENT_DRIVER SERVER_DRIVER    their drivers: siw, siw_mpa or srnic
#   FAMILY CLIENT_IP SERVER_IP     4 or 6, and the guests' addresses of that family
#   PORT                           a port that no other case uses
#   VARIANT                        one of VARIANTS
#   WIRE                           clean; rough: see wire_set in inside.sh; flap: links go down and up
#
# The exit status 0 of a program does not suffice: a test also checks the data. A test may print what it has measured as
# a line "result: ...".
#
# shellcheck disable=SC2034 # variables for the test files

CLIENT=A
SERVER=B

fail() {
	echo "FAILED: $*" >&2
	return 1
}

# loudly FUNCTION GUEST ...: print the output of a failed command, even when it goes into a variable.
loudly() {
	local output status=0

	output=$("$@") || status=$?
	printf '%s\n' "$output"
	[[ $status -eq 0 ]] || printf 'exit status %d: %s\n%s\n' "$status" "$*" "$output" >&2
	return "$status"
}

# is_ours DRIVER: does the driver use iw_mpa?
is_ours() { [[ $1 != siw ]]; }

# Conditions for applies() of a test
both_ours() { is_ours "$CLIENT_DRIVER" && is_ours "$SERVER_DRIVER"; }
stock_kernel() { ! kernel_debugs "$KERNEL"; }

# few NUMBER: NUMBER, or less in guests with detectors, which are slow
few() { echo $(($1 / SLOW)); }

on() { loudly guest_run "$@"; }

# inside GUEST COMMAND [SECONDS]: run COMMAND with the functions of scripts/lib/guest/$KIT.sh
inside() { on "$1" "set -e; . /host$TOP/scripts/lib/guest/$KIT.sh; $2" "${3:-60}"; }

# loses_connections GUEST: does the guest's driver end connections when the network interface goes
# down? siw of Linux 6.1 does, and siw_mpa, which is built from siw. Later versions of these, and
# srnic, leave that to TCP.
loses_connections() { [[ $(driver_of "$1") != srnic && $(guest_kernel "$1") == 6.1 ]]; }

DISK_SIZE=$((4 << 20))

# disk_has SHA256SUM WHEN: check that the initiator reads data with this checksum from the disk
disk_has() {
	[[ $(inside "$CLIENT" "${KIT}_read $DISK_SIZE | sha256sum") == "$1" ]] ||
		fail "the disk does not have what was written: $2"
}

# disk_write_and_compare WHEN: write new data to the initiator's disk, and set want to its checksum;
# the disk and the target's file must have this checksum. WHEN is for the message of a failure.
disk_write_and_compare() {
	want=$(inside "$CLIENT" "head -c $DISK_SIZE /dev/urandom >/run/data; sha256sum </run/data")
	inside "$CLIENT" "${KIT}_write /run/data"
	[[ $(inside "$SERVER" "head -c $DISK_SIZE \$${KIT^^}_DISK | sha256sum") == "$want" ]] ||
		fail "the target's file does not have what was written: $1"
	disk_has "$want" "$1"
}

# When only completion queues are left, remove the devices of both guests. The kernel keeps these
# queues for the next ULP as long as the device exists.
devices_go() {
	on "$CLIENT" "poll 10 only_pool && driver_clear"
	on "$SERVER" "poll 10 only_pool && driver_clear"
}

# client COMMAND [SECONDS]: print output, return exit status; a command that hangs keeps running for e2e_diagnose.
client() { loudly guest_bg_run "$CLIENT" client "${2:-60}" "$1"; }

# Start a server under the name "server"; it listens on PORT when this returns.
serve() { guest_serve "$SERVER" server "$PORT" "$1"; }

# The server has to end by itself, with status 0.
server_ends() { loudly guest_wait "$SERVER" server 60; }

# set_addresses FAMILY
set_addresses() {
	FAMILY=$1
	CLIENT_IP=$(address_of "$CLIENT" "$1")
	SERVER_IP=$(address_of "$SERVER" "$1")
}

# address_of GUEST FAMILY
address_of() {
	case $1-$2 in
	A-4) echo 10.0.0.1 ;;
	B-4) echo 10.0.0.2 ;;
	A-6) echo fd00::1 ;;
	B-6) echo fd00::2 ;;
	esac
}

# expect_pings TEXT NUMBER: check that TEXT, the output of rping, has NUMBER blocks; rping prints
# each block of data that returned and was verified
expect_pings() {
	local seen

	seen=$(grep -o 'ping data: rdma-ping-[0-9]*:' <<<"$1" | sort -u | wc -l)
	[[ $seen -eq $2 ]] || fail "rping verified $seen blocks of data, not $2"
	echo "result: $seen blocks of data verified"
}

# expect_text TEXT REGEX
expect_text() { grep -Eq "$2" <<<"$1" || fail "nothing matches '$2' in:
$1"; }

# bytes_sent GUEST: print the number of bytes that the guest's network interface has sent. Some programs do not check
# the status of their completions, so only this counter proves that data was sent.
bytes_sent() { guest_run "$1" 'cat /sys/class/net/eth0/statistics/tx_bytes'; }
bytes_moved() { echo $(($(bytes_sent "$CLIENT") + $(bytes_sent "$SERVER"))); }

# our_end: print the server's guest if its driver uses iw_mpa, else the client's
our_end() { if is_ours "$SERVER_DRIVER"; then echo "$SERVER"; else echo "$CLIENT"; fi; }

# established GUEST: how many connections iw_mpa has established in the guest
established() { on "$1" "sed -n 's/^established //p' /sys/kernel/debug/iw_mpa/stats"; }

# kernel_uses GUEST MODULE: "link users", which the package asks before it takes a link down, lists the connections that
# MODULE has, if the guest's driver is ours
kernel_uses() {
	local driver=$CLIENT_DRIVER

	[[ $1 == "$CLIENT" ]] || driver=$SERVER_DRIVER
	! is_ours "$driver" || expect_text "$(on "$1" "/host$TOP/scripts/deb/link users")" "^siw0: $2 with "
}

# need_program NAME: compile scripts/lib/guest/NAME.c; guests have it as /share/NAME
need_program() {
	[[ -e $GUEST_RUN/share/$1 ]] ||
		gcc -Wall -Wextra -Werror -O2 -o "$GUEST_RUN/share/$1" "$TOP/scripts/lib/guest/$1.c" \
			-lrdmacm -libverbs
}

# rping_once [COUNT [SIZE]]: run rping once, as several tests do at their end. The server reads each block of SIZE
# bytes, 65,535 at most, by RDMA Read and returns it by RDMA Write; only the beginning of a block is compared.
rping_once() {
	local count=${1:-10} size=${2:-64} options output before

	options="-a $SERVER_IP -p $PORT -C $count -S $size -V"
	serve "rping -s $options"
	before=$(bytes_moved)
	output=$(client "set -o pipefail; rping -c $options -v | cut -b -40")
	echo "$output"
	expect_pings "$output" "$count"
	server_ends
	[[ $(bytes_moved) -ge $((before + 2 * count * size)) ]] ||
		fail "less than $count blocks of $size octets went there and back"
}

# A test may be repeated only with proof that neither end's driver was at fault; a program's message is no proof. The
# last lines of a run count the repetitions by cause.
retried() { echo "retried: $1"; }

# If a last message and the end of the connection arrive together, RxM of Debian 12's libfabric
# 1.17.0-3 may post a receive to an endpoint that it has closed (libfabric's issue 11828), and crash
# in its call of fi_recv(). RXM_POSTS matches the address of this call.
RXM_POSTS='libfabric\.so\.1\(\+0xb7882\)'
RXM_POSTED="libfabric's RxM posted a receive to an endpoint that it had closed"

# rxm_posted OUTPUT: did a program crash at an address that RXM_POSTS matches? The address of the
# crash is the first one after libpsm's message about a signal, and the second one after Open MPI's,
# whose first is the return address of the signal handler.
rxm_posted() {
	[[ $(grep -A 1 'terminated with signal 11 at ' <<<"$1") =~ $RXM_POSTS ||
		$(grep -A 5 'Signal: Segmentation fault (11)' <<<"$1" | grep '\[ 1\] ') =~ $RXM_POSTS ]]
}

# watch_server: capture SYNs and refusals of TCP in the server's guest from now on, and list the sockets that listen now
watch_server() { on "$SERVER" refusals_start; }

# refused_ports: end the capture of watch_server; print the ports at which TCP has refused a SYN
refused_ports() {
	on "$SERVER" 'refusals_stop refused.pcapng' >&2 &&
		"$TOP/scripts/e2e/refused.py" "$GUEST_RUN/share/refused.pcapng"
}

# server_was_late [PORT]: has TCP refused a SYN to PORT, by default to any port, because the server
# was not listening yet? As proof the server has to run and to listen now, on a socket that was not
# there when watch_server was called. (A server that fails to listen may be the driver's fault.)
# REFUSED is set to the ports at which TCP has refused a SYN.
server_was_late() {
	local port

	REFUSED=$(refused_ports) || return 1
	on "$SERVER" '! bg_gone server' || return 1
	for port in $REFUSED; do
		[[ $port == "${1:-$port}" ]] || continue
		! on "$SERVER" "poll 20 listens_anew $port" || return 0
	done
	return 1
}

# Print the state of the guests after a failure. Call this before e2e_clean_up, which ends all jobs.
e2e_diagnose() {
	local name

	for name in "$CLIENT" "$SERVER"; do
		echo "--- guest $name:"
		guest_run "$name" "diagnose" 20
	done
}

# If the wire is "flap", have the host take the guests' links down and up until the test ends.
flap_if_asked() {
	[[ $WIRE == flap ]] || return 0
	guest_flap "$CLIENT" "$SERVER"
	# shellcheck disable=SC2064 # its pid now
	trap "kill $GUEST_FLAP_PID; wait $GUEST_FLAP_PID" EXIT
}

# driver_of GUEST
driver_of() {
	if [[ $1 == "$CLIENT" ]]; then
		echo "$CLIENT_DRIVER"
	else
		echo "$SERVER_DRIVER"
	fi
}

# in_both FUNCTION: call FUNCTION with the name of each guest, both at the same time
in_both() {
	local client status=0

	"$1" "$CLIENT" &
	client=$!
	"$1" "$SERVER" || status=$?
	wait "$client" && return "$status"
}

# Clean up both guests, and end all background jobs except KEEP_JOB; fail if the test has left an RDMA object.
e2e_clean_up() { in_both e2e_clean_up_guest; }

e2e_clean_up_guest() { guest_run "$1" "clean_up ${KEEP_JOB:-}"; }

# --- running them: e2e.sh and demo.sh ----------------------------------------------------------

e2e_set_up_guest() {
	local driver settings=

	driver=$(driver_of "$1")
	[[ ! ${LARGE_FPDU:-} || $driver != srnic ]] ||
		settings="&& sysctl -q -w net.iw_mpa.large_fpdu=$LARGE_FPDU"
	guest_run "$1" "driver_set $driver && wire_set $WIRE $settings"
}

# run_check FILE CLIENT_DRIVER SERVER_DRIVER FAMILY PORT [WIRE]: run the function check of the test
# FILE, in a subshell with errexit on. It must not be called after "if" or before "||", where bash
# ignores errexit even if it is set again.
run_check() (
	set -e
	CLIENT_DRIVER=$2
	SERVER_DRIVER=$3
	PORT=$5
	WIRE=${6:-clean}
	set_addresses "$4"
	in_both e2e_set_up_guest
	# shellcheck source=/dev/null
	. "$TOP/scripts/e2e/${1%:*}"
	VARIANT=${1#*:}
	flap_if_asked
	check
)

# try_case LOG RUN_CHECK-ARGUMENTS: run a test, with its output in the file LOG, and clean up; set
# STATUS to the exit status of the test, and CLEAN to that of the clean-up. If CLEAN is not 0, the
# guests cannot be used for another test.
try_case() {
	local log=$1
	shift

	set +e
	run_check "$@" >"$log" 2>&1 </dev/null
	STATUS=$?
	[[ $STATUS -eq 0 ]] || e2e_diagnose >>"$log" 2>&1
	(set -e; e2e_clean_up) >>"$log" 2>&1
	CLEAN=$?
	set -e
}
