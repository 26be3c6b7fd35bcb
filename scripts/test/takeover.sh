#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Takeover without hardware. Guest A has the device twin0, whose "hardware" is a socket in another
# network namespace, restored with TCP_REPAIR from the record of the connection that iw_mpa gives to
# the device; tc redirects packets to it. Guest B has an unmodified peer and rping, which compares
# the data that it gets back. judge.py checks B's capture: no RST, no retransmission, no challenge
# ACK; time stamps and window do not go back. On A the socket that was taken over is frozen, and
# must not send: TCP and netfilter's output hook count its segments. Controls, which have to fail,
# prove that the judges work.
#
#   scripts/test/takeover.sh [--sample] [-k REGEX] [-l]
#
# -k: only the cases whose line matches; -l: list them; --sample: four that show the most
#
# KERNEL, which may be kasan, is the kernel of both guests. PEER is the driver of B.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"
# shellcheck source=scripts/lib/guest/guest.sh
. "$TOP/scripts/lib/guest/guest.sh"

PEER=${PEER:-srnic}
PATTERN=
SAMPLE='^(passive_host_sees_all_4|early_4|active_6|control_not_frozen_4) '
PORT=7000
TRY_AGAIN=75	# exit status of judge.py: only a slow wire was at fault, so the case runs again
INSIDE="set -e; . /host$TOP/scripts/test/takeover/inside.sh;"

# Columns: NAME ROLE FAMILY WIRE OPTIONS / OPTIONS. FAMILY 4 or 6 is IPv4 or IPv6. WIRE is clean, or
# rough: packets are lost and reordered. OPTIONS are first twin.py's, then judge.py's. A case
# control_* has to fail, as WHY says. ROLE is the peer's: rping plays it, or, if it is marked *,
# peer.py over plain TCP:
#   serve   rping's client
#   leave   rping's client, while the device is the first to close
#   move    rping's client, whose link-layer address changes during the takeover
#   early   * a client that sends its first FPDU with its Request
#   fill    * like early, and sends until the window of the device's host is full
#   wrap    * like early, and begins a little below sequence number 2^32
#   client  rping's server
#   again   rping's server; an earlier connection makes the device begin a little below 2^32
#   back    * a client; an earlier connection makes the device, the server, begin a little below 2^32
#   shut    rping's server, whose window is shut after the Request, until it is told to open it
#   us      rping's client; the device's host has time stamps in microseconds
#   close   * a server that closes before the device does
CASES='
passive_4		serve	4 clean
passive_6		serve	6 clean
passive_host_sees_all_4	serve	4 clean --mirror
early_4			early	4 clean
early_rough_6		early	6 rough / --rough
active_4		client	4 clean
active_6		client	6 clean --brief
passive_rough_4		serve	4 rough / --rough
active_rough_6		client	6 rough / --rough
device_closes_4		leave	4 clean --close --brief
peer_closes_4		close	4 clean --count 1000
window_ours_4		fill	4 clean --full / --edge ours
window_ours_6		fill	6 clean --full / --edge ours
window_peer_4		shut	4 clean --open --brief / --edge peer
wrap_peer_4		wrap	4 clean / --wrap peer
wrap_peer_6		wrap	6 clean / --wrap peer
wrap_ours_4		again	4 clean --brief / --wrap ours
wrap_ours_6		again	6 clean --brief / --wrap ours
wrap_ours_back_4	back	4 clean / --wrap ours
wrap_ours_back_6	back	6 clean / --wrap ours
stamp_us_4		us	4 clean --us
neighbour_4		move	4 clean --move
neighbour_6		move	6 clean --move
crash_4			serve	4 clean --crash / --reset
control_not_frozen_4	serve	4 clean --mirror
control_stamp_4		serve	4 clean --skew -600000 --limit 30
control_deaf_4		move	4 clean --move --deaf --limit 30
'
# Controls, and how each has to fail: regular expressions, one a line, all of which the output has to match
declare -A WHY=(
	[control_not_frozen_4]="^not ok - the window's edge does not move back
^the frozen socket has spoken, or is gone: TCP has counted it
^the frozen socket has spoken: netfilter has counted it"
	[control_stamp_4]='^not ok - time stamps do not fall'
	[control_deaf_4]='^not ok - nothing is sent again'
)

# since RELEASE CASE: filter the cases on stdin; before that release drop those whose names begin with CASE
since() {
	if printf '%s\n%s\n' "$1" "$KREL" | sort -VC; then cat; else grep -v "^$2"; fi
}

# Linux has TCP time stamps in microseconds since 6.7. Before 6.10 a server's first sequence number does not depend on
# an earlier connection in TIME_WAIT, so wrap_ours_back is not possible.
cases() {
	sed -E '/^$/d; s/\t+/ /g' <<<"$CASES" | grep -E -- "$PATTERN" | since 6.7 stamp_us |
		since 6.10 wrap_ours_back || true
}

build_twin() {
	local dir=${IW_MPA_BUILD:-$CACHE/build/$KREL}

	mkdir -p "$dir/twin"
	rsync -rc "$TOP/scripts/test/takeover/twin/" "$dir/twin/"
	kernel_make M="$dir/twin" TOP="$TOP" KBUILD_EXTRA_SYMBOLS="$dir/src/Module.symvers" modules
}

boot() {
	guest_boot A B
	mkdir -p "$GUEST_RUN"/share/{takeover,wire}
	cp "$TOP"/scripts/test/takeover/{twin,peer,rping,route_feature}.py "$GUEST_RUN/share/takeover/"
	cp "$TOP"/scripts/wire/{fpdu,rdmap,mpa}.py "$GUEST_RUN/share/wire/"
	gcc -O2 -shared -fPIC -o "$GUEST_RUN/share/wire/crc32c.so" "$TOP/scripts/wire/crc32c.c"
	guest_run A "$INSIDE twin_load"
	guest_run B "driver_set $PEER"
}

client_at_peer() {
	case $1 in
	serve | move | us) echo "rping -c -a $2 -p $PORT -C 3 -v -V" ;;
	leave) echo "rping_left $2 $PORT" ;;
	early | fill | wrap | back) echo "python3 /share/takeover/peer.py $1 $2 $PORT" ;;
	esac
}

# server_at_peer ROLE REMOTE: start the server of this role as the background job "server", and wait until it listens
server_at_peer() {
	case $1 in
	client | again | shut) guest_serve B server "$PORT" "rping -s -a $2 -p $PORT -C 3 -v -V" ;;
	close) guest_run B "$INSIDE job_start server python3 -u /share/takeover/peer.py serve $2 $PORT" ;;
	esac
}

# before ROLE REMOTE: prepare a role before the capture begins; after() undoes that, also after a failure
before() {
	case $1 in
	fill) guest_run A "$INSIDE memory_scarce" ;;
	again)
		guest_run B "$INSIDE job_start old python3 -u /share/takeover/peer.py old $3 $2 $PORT"
		guest_run A "$INSIDE bg_run old 60 'python3 /share/takeover/peer.py old --first $2 $3 $PORT'"
		guest_wait B old
		;;
	back)
		guest_run B "$INSIDE stamps_of_the_clock 1
			job_start old python3 -u /share/takeover/peer.py old --client $3 $2 $PORT"
		guest_run A "$INSIDE bg_run old 60 \
			'python3 /share/takeover/peer.py old --client --first $2 $3 $PORT'"
		guest_wait B old
		;;
	shut) guest_run B "$INSIDE windows_shut $PORT" ;;
	move) guest_run B "$INSIDE address_will_change" ;;
	us) guest_run A "$INSIDE stamps_us 1" ;;
	esac
}

after() {
	case $1 in
	fill) guest_run A "$INSIDE memory_restore" ;;
	back) guest_run B "$INSIDE stamps_of_the_clock 0" ;;
	shut) guest_run B "$INSIDE windows_open" ;;
	move) guest_run B "$INSIDE address_restore" ;;
	us) guest_run A "$INSIDE stamps_us 0" ;;
	esac
}

# connect ROLE LOCAL REMOTE OPTIONS...: make one connection of the device twin0, at LOCAL, with a
# peer that plays ROLE, at REMOTE. twin.py, which is twin0's hardware, runs with OPTIONS. Print the
# output of twin.py and of the peer's program, rping or peer.py; fail if either of them failed.
connect() {
	local role=$1 local=$2 remote=$3 status=0

	shift 3
	if [[ $(client_at_peer "$role" "$local") ]]; then
		guest_run A "$INSIDE twin_start twin serve $* $local $PORT"
		guest_bg_run B peer 60 "$INSIDE $(client_at_peer "$role" "$local")" || status=$?
	else
		server_at_peer "$role" "$remote" || return
		guest_run A "$INSIDE twin_start twin client $* $local $remote $PORT"
	fi
	guest_wait A twin 160 | tee "$GUEST_RUN/share/twin.log" || status=$?
	grep -q '^done' "$GUEST_RUN/share/twin.log" || status=1
	case $role in
	client | again | shut) guest_stop B server || status=$? ;;
	close) guest_wait B server || status=$? ;;
	esac
	return "$status"
}

# one NAME ROLE FAMILY WIRE OPTIONS: run one case
one() {
	local name=$1 role=$2 family=$3 wire=$4 local=10.0.0.1 remote=10.0.0.2 status=0 verdict=0 crash=no
	local -a twin=() judge=()

	shift 4
	while [[ $# -gt 0 && $1 != / ]]; do
		twin+=("$1")
		shift
	done
	judge=("${@:2}")
	[[ $family == 4 ]] || { local=fd00::1 remote=fd00::2; }
	[[ " ${twin[*]} " != *' --crash '* ]] || crash=yes
	PORT=$((PORT + 1))
	guest_run A "echo $([[ $name == control_not_frozen* ]] && echo 1 || echo 0) \
		>/sys/module/iw_mpa_twin/parameters/thaw && wire_set $wire" || return 1
	before "$role" "$local" "$remote" || status=$?
	guest_run B "capture_start 0 eth0 'tcp or udp port 9'" || return 1
	connect "$role" "$local" "$remote" "${twin[@]}" || status=$?
	[[ $crash == no || $status -eq 0 ]] || { grep -q '^done' "$GUEST_RUN/share/twin.log" && status=0; }
	guest_run B "capture_stop $name.pcapng && capture_is_whole" || status=$?
	"$TOP/scripts/test/takeover/judge.py" "${judge[@]}" "$GUEST_RUN/share/$name.pcapng" "$local" || verdict=$?
	after "$role" || status=$?
	# An RDMA object that is still in use is a failure, as after an end-to-end test.
	guest_run A clean_up || status=1
	guest_run A 'wire_set clean' || status=1
	[[ $status -ne 0 ]] || status=$verdict
	return "$status"
}

# tried NAME...: run a case; run it again if the judge proves that the machine was too slow, and finds nothing else
tried() {
	local status

	for _ in 1 2 3; do
		status=0
		one "$@" || status=$?
		[[ $status == "$TRY_AGAIN" ]] || return "$status"
		echo 'retried: the emulated wire was slow' | tee -a "$GUEST_RUN/retries"
	done
	return "$status"
}

# A control succeeds if its case fails for the expected reasons, which proves that the rules can be broken.
control() {
	local why status=0

	one "$@" >"$GUEST_RUN/control.log" 2>&1 && status=1
	while read -r why; do
		grep -q -- "$why" "$GUEST_RUN/control.log" || status=1
	done <<<"${WHY[$1]}"
	[[ $status -eq 0 ]] || cat "$GUEST_RUN/control.log"
	return "$status"
}

alone() { [[ ! $1 =~ ^[a-z_]+_[46]$ ]] || echo "KERNEL=$KERNEL PEER=$PEER scripts/test/takeover.sh -k ^$1"; }

main() {
	local line name list=no
	local -a words

	while [[ $# -gt 0 ]]; do
		case $1 in
		--sample) PATTERN=$SAMPLE ;;
		-k) PATTERN=${2?which cases?} && shift ;;
		-l) list=yes ;;
		*) die 'usage: takeover.sh [--sample] [-k REGEX] [-l]' ;;
		esac
		shift
	done
	if [[ $list == yes ]]; then
		need_krel
		cases
		return
	fi
	"$TOP/scripts/lib/setup.sh" build guest
	need_krel
	[[ -n $(cases) ]] || die "no case for kernel $KREL has a line like $PATTERN"
	"$TOP/scripts/lib/build.sh"
	build_locked build_twin >&2
	boot
	tap_run 'the judge finds what is wrong' "$TOP/scripts/test/takeover/judge.py" --selftest
	while read -r line <&5; do
		read -ra words <<<"$line"
		say "takeover: ${words[0]}"
		if [[ ${words[0]} == control_* ]]; then
			tap_run "${words[0]}" control "${words[@]}"
		else
			: >"$GUEST_RUN/retries"
			tap_run "${words[0]}" tried "${words[@]}"
			tap_retried_in "$GUEST_RUN/retries"
		fi
	done 5< <(cases)
	tap_run 'nothing is left, the modules unload' guest_run A "$INSIDE twin_unload"
	for name in A B; do
		tap_run "the kernel of $name has nothing to report" guest_detectors "$name"
		! kernel_debugs "$KERNEL" ||
			tap_run "the detectors of $name see mistakes made on purpose" guest_controls "$name"
	done
	tap_run 'the guests end well' guest_down
	tap_end takeover
}

main "$@"
