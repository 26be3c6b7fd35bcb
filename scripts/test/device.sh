#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A test of iw-mpa-judge: two guests stand for the host of a card and for the other host, which judges the card by the
# package iw-mpa-dev, without this tree. Only a wire and ssh connect them. The report on srnic must be the known one,
# and must name the broken rules of an srnic with a mistake; a device that is not iWARP, or does not exist, must be
# refused with one line.
#
#   scripts/test/device.sh [TEST...]		functions of this file, without test_; without TEST: all

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"
# shellcheck source=scripts/lib/guest/guest.sh
. "$TOP/scripts/lib/guest/guest.sh"
# shellcheck source=scripts/wire/lib.sh
. "$TOP/scripts/wire/lib.sh"
# shellcheck source=scripts/wire/remote.sh
. "$TOP/scripts/wire/remote.sh"

CARD=10.0.0.2
LIMIT=1200	# seconds for one run, so that a hang ends
SAID=		# output of the last run
HIDDEN=/usr/bin/tshark	# program that guest A lacks; by default tshark, whose analysis of the capture takes long
UNDO=()		# commands that undo the changes of a test, in the order of the changes

# Let A, the judging host, reach B, the host of the card, by ssh without a password.
let_in() {
	local home=/root/.ssh

	guest_run A "ln -sf /proc/self/fd /dev/fd && rm -rf $home && mkdir -m 700 $home &&
		ssh-keygen -q -t ed25519 -N '' -f $home/id_ed25519 &&
		cp $home/id_ed25519.pub /share/key &&
		printf '%s\n' 'StrictHostKeyChecking no' 'LogLevel ERROR' >$home/config" &&
		guest_run B "rm -rf $home && mkdir -m 700 $home && cp /share/key $home/authorized_keys &&
			chmod 600 $home/authorized_keys && dropbearkey -t ed25519 -f /run/host_key &&
			bg_start sshd 'dropbear -F -E -r /run/host_key -p 22' && poll 20 tcp_listens 22"
}

# Make the script /share/person for guest A. It runs iw-mpa-judge as a user does, from the package,
# while this tree, and the program that is the script's first argument, are hidden. The test
# programs have been built before: see build_programs.
make_person() {
	local deb

	deb=$("$TOP/scripts/lib/deb.sh") || return
	dpkg-deb -x "${deb/iw-mpa-dkms_/iw-mpa-dev_}" "$GUEST_RUN/share/dev" || return
	cat >"$GUEST_RUN/share/person" <<-END
	#!/bin/bash
	for dir in $TOP /host$TOP; do
		[[ ! -d \$dir ]] || mount -t tmpfs hidden "\$dir" || exit
	done
	mount --bind /dev/null "\$1" && cd /run || exit
	exec env -u BASH_ENV IW_MPA_CACHE=/share/cache /run/dev/usr/bin/iw-mpa-judge "\${@:2}"
	END
	chmod +x "$GUEST_RUN/share/person"
	mkdir "$GUEST_RUN/share/cache"
	guest_run A 'cp -r /share/dev /run/'
}

build_programs() {
	local CACHE=$GUEST_RUN/share/cache REMOTE_HERE=$GUEST_RUN/built

	mkdir "$REMOTE_HERE"
	remote_build
	rm -r "$REMOTE_HERE"
}

person() { printf 'unshare -m /share/person'; printf ' %q' "$HIDDEN" "$@"; }

# judge ARGUMENT...: run iw-mpa-judge in guest A; its report is then in the shared folder
judge() {
	local status=0

	rm -rf "$GUEST_RUN/share/cache/reports"
	SAID=$(guest_bg_run A judge "$LIMIT" "$(person --remote "$CARD" "$@")") || status=$?
	echo "$SAID"
	return "$status"
}

# said REGEX...: each REGEX matches a line that the last run of iw-mpa-judge printed
said() {
	local regex

	for regex in "$@"; do
		grep -qE -- "$regex" <<<"$SAID" || { echo "not said: $regex" && return 1; }
	done
}

# refused REGEX ARGUMENT...: iw-mpa-judge fails, and prints just one line with an error, like REGEX
refused() {
	local regex=$1

	shift
	! judge "$@" || return 1
	[[ $(grep -c '^error: ' <<<"$SAID") -eq 1 && $(tail -n 1 <<<"$SAID") =~ ^error:\ $regex ]] ||
		{ echo "not with the one line $regex" && return 1; }
}

# reports REGEX...: each REGEX matches a line of report.txt, which iw-mpa-judge wrote
reports() {
	local regex

	for regex in "$@"; do
		grep -qE -- "$regex" "$GUEST_RUN"/share/cache/reports/*/report.txt ||
			{ echo "not reported: $regex" &&
				cat "$GUEST_RUN"/share/cache/reports/*/report.txt && return 1; }
	done
}

# changes COMMAND UNDO: run COMMAND now, and UNDO at the end of the test, even after a failure
changes() {
	UNDO+=("$2")
	eval "$1"
}

# run_test NAME: undo the test's changes, also after a failure, so that the next test finds the guests as they were
run_test() {
	local status=0 number

	UNDO=()
	"test_$1" || status=$?
	[[ $status -eq 0 ]] || guest_run A bg_stop_all >/dev/null || true
	for ((number = ${#UNDO[@]} - 1; number >= 0; number--)); do
		eval "${UNDO[number]}" || { echo "not undone: ${UNDO[number]}" && status=1; }
	done
	return "$status"
}

rxe_begin() {
	guest_run B 'cp /host/etc/libibverbs.d/rxe.driver /etc/libibverbs.d/ && modprobe rdma_rxe &&
		rdma link add rxe0 type rxe netdev eth0'
}

# Undo rxe_begin, even if it failed half way
rxe_end() {
	guest_run B '[[ ! -e /sys/class/infiniband/rxe0 ]] || rdma link delete rxe0
		[[ ! -e /sys/module/rdma_rxe ]] || modprobe -r rdma_rxe
		rm -f /etc/libibverbs.d/rxe.driver && ! rdma link show rxe0/1 2>/dev/null'
}

test_refused() {
	changes rxe_begin rxe_end || return
	refused "no ssh to 10\.0\.0\.9 " --device siw0 --remote 10.0.0.9 -k rtr_offer responder &&
		refused "$CARD has no RDMA device siw7 " --device siw7 -k rtr_offer responder &&
		refused "rxe0 of $CARD is no iWARP device$" --device rxe0 -k rtr_offer responder &&
		HIDDEN=/usr/bin/python3 refused 'there is no python3' --device siw0 -k rtr_offer responder
}

# Without --hazards, wire tests that need it are reported as skipped. By default tshark is hidden
# from iw-mpa-judge; in this test it is not, so the report also has tshark's verdict on the capture.
test_startup() {
	HIDDEN=/usr/bin/false judge --device siw0 --sample \
		-k 'request_v1|rtr_offer|own_depths|rejected_v1|connect_to_where' \
		initiator responder hazards || return
	said '^ok .* hazards_connect_to_where.*# SKIP needs --hazards' || return
	reports '^device: siw0$' '^MPA revision: 2$' '^Reads at a time, taken and sent: 128, 128$' \
		'^RTR messages: Send, Write, Read$' '^Markers: yes$' '^without: the device in the host of the peer$' \
		'^[0-9]+ rules: [0-9]+ passes, [0-9]+ not judged$' '^  E-9-1 ' '^  E-9\.2-4 ' '^  M-7\.1\.2-8 ' \
		'^      initiator_request_v1: needs the sysctls of iw_mpa$' '^tshark: [0-9]+ passes$' || return
	said '^ok .* siw0 initiator tshark: [1-9][0-9]* connections' '^ok .* siw0 responder tshark: .* FPDUs dissect'
}

# Over IPv6 the report must have no failed rule, either.
test_ipv6() {
	CARD=fd00::2 judge --device siw0 --sample -k 'rtr_offer|own_depths' responder initiator &&
		said 'wire: siw0, fd00::2, with its peer at fd00::1$' &&
		reports '^[0-9]+ rules: [0-9]+ passes(, [0-9]+ not judged)?$'
}

# The package's iw-mpa-judge and this tree's wire.sh run at the same time, and must use different
# ports. While they run, the test programs that were compiled for them are removed, as a run of
# another tree may do, and built again.
test_beside() {
	local name

	guest_bg A one "$(person --remote "$CARD" --device siw0 -k 'responder_rtr_offer_[1-4]' responder)" &&
		guest_bg A other \
		"IW_MPA_CACHE=/share/cache /host$TOP/scripts/wire.sh --hazards --device siw0 --remote $CARD \
			-k 'responder_rtr_offer_[1-4]' responder" || return
	guest_run A "for name in one other; do poll 200 grep -q 'wire: responder' /run/bg/\$name/output || exit; done" \
		420 &&
		rm -r "$GUEST_RUN/share/cache/probes" && build_programs || return
	for name in one other; do
		SAID=$(guest_wait A "$name" "$LIMIT") || { echo "$SAID" && return 1; }
		said "^# wire: [49] passed, 0 failed(, [0-9]+ skipped)?\$" || { echo "$SAID" && return 1; }
	done
}

peer_to_peer() { guest_run B "echo $1 >/proc/sys/net/iw_mpa/peer_to_peer"; }

# The tests of hazards.py run on another host's device only with --hazards. With the sysctl
# peer_to_peer 0 the device never asks for RTR messages. That breaks no rule, so the report has to
# name "to ask for an RTR message" among what the device does not support.
test_hazards() {
	changes 'peer_to_peer 0' 'peer_to_peer 1' || return
	judge --hazards --device siw0 --sample -k 'read_rtr_works|request_by_default|no_rtr_in_common' \
		initiator hazards || return
	said '^\[.*\] WARNING: 10\.0\.0\.2 may crash' '^ok .* hazards_read_rtr_works_with_depths_of_0 \[[^]]*\]$' ||
		return
	reports '^asks for an RTR message: no$' '^not supported by the device:$' ': to ask for an RTR message$'
}

# Tests of the data path, in which memory of the card's host is compared, too.
test_data() {
	judge --device siw0 --sample -k 'D_5_2_3|D_5_2_6|D_7_1_1_|F_4_1_1|F_8_1_(reset|time)' \
		data_ddp data_mpa || return
	said '^ok .* data_mpa_F_8_1_time_out.*# SKIP needs the device in the host of the peer' || return
	reports '^[0-9]+ rules: [0-9]+ passes$' '^  D-5\.2-3 ' '^  D-5\.2-6 ' '^  D-7\.1-1 ' '^  F-4\.4-1 ' '^  F-8-1 '
}

# mistaken NAME FILE SED: build srnic with a mistake, and load it in B
mistaken() {
	local src=$GUEST_RUN/mistaken dir=drivers/infiniband/sw/srnic

	say "srnic with $1"
	mkdir -p "$src"
	rsync -rc "$TOP/include" "$TOP/drivers" "$src/"
	sed -i "$3" "$src/$dir/$2"
	! cmp -s "$TOP/$dir/$2" "$src/$dir/$2" || { echo "$2 has no place for the mistake" && return 1; }
	kernel_make M="$src/$dir" KBUILD_EXTRA_SYMBOLS="${IW_MPA_BUILD:-$CACHE/build/$KREL}/src/Module.symvers" \
		modules \
		>"$src.log" 2>&1 || { tail -n 20 "$src.log" && return 1; }
	cp "$src/$dir/srnic.ko" "$GUEST_RUN/share/modules-B/"
	srnic_again
}

keep_srnic() { cp "$GUEST_RUN/share/modules-B/srnic.ko" "$GUEST_RUN/"; }
srnic_as_it_was() { cp "$GUEST_RUN/srnic.ko" "$GUEST_RUN/share/modules-B/" && srnic_again; }
srnic_again() { guest_run B 'driver_clear && driver_set srnic && echo 0 >/proc/sys/net/iw_mpa/rtr_repeat_ms'; }

# fails RULE...: iw-mpa-judge reports exactly these rules as broken
fails() {
	local folder=$GUEST_RUN/share/cache/reports named

	! judge --device siw0 data_mpa \
		-k '_F_(4_1_1_fpdu|4_1_5_ulpdu.*0_17|4_3_4_markers|4_4_3_changed_length_1)_.*responder' || return
	reports '^4 tests: 1 fails, 3 passes$' "^7 rules: $# fails, $((7 - $#)) passes$" || return
	named=$(sed -n '/^fails:$/,/^passes:$/s/^  \([A-Z]-[^ ]*\) .*/\1/p' "$folder"/*/report.txt | paste -sd ' ')
	[[ $named == "$*" ]] || { echo "named: $named, not $*" && return 1; }
	grep -q '<testsuite [^>]*tests="4" failures="1"' "$folder"/*/junit.xml &&
		grep -q '<failure ' "$folder"/*/junit.xml
}

set_mtu() { guest_run A "ip link set eth0 mtu $1" && guest_run B "ip link set eth0 mtu $1"; }

# A Marker in the middle of an FPDU needs a long FPDU, so the MTU is larger.
test_mistakes() {
	changes 'set_mtu 9000' 'set_mtu 1500' && changes keep_srnic srnic_as_it_was &&
		mistaken 'a wrong Terminate' wire.c 's/SRNIC_ERR_SHORT/SRNIC_ERR_CQ_FULL/' && fails F-4.1-5 &&
		mistaken 'no CRC' rx.c 's/\(if (\|return \)qp->params\.crc &&/\10 \&\&/' && fails F-4.4-3 &&
		mistaken 'Markers that point elsewhere' wire.c 's/u16 ptr = marker_ptr(fpdu_pos, marker_pos)/& + 4/' &&
		fails M-4.3-1 F-4.3-3 F-4.3-4
}

# The device is unmodified siw: whether its tests pass is not checked, but iw-mpa-judge has to run them and to report.
test_siw() {
	guest_run B 'driver_clear && driver_set siw' || return
	judge --device siw0 --sample -k rtr_offer responder >/dev/null || true
	! grep '^error: ' <<<"$SAID" || return
	said '^(not )?ok .* responder_rtr_offer' || return
	! grep -E 'SKIP|not all tests ran' <<<"$SAID" || return
	reports '^Markers: no$' >/dev/null
}

# With --hazards iw-mpa-judge warns, and runs tests against siw that may crash siw's host.
test_hazards_of_others() {
	guest_run B 'driver_clear && driver_set siw' || return
	judge --device siw0 --hazards -k 'longest_private_data_of_the_ulp_reject_247' hazards >/dev/null || true
	! grep '^error: ' <<<"$SAID" || return
	said '^\[.*\] WARNING: 10\.0\.0\.2 may crash' '^(not )?ok .* hazards_longest_private_data' || return
	! grep -E 'SKIP|not all tests ran' <<<"$SAID"
}

# The order matters: the last two tests leave the driver siw in guest B.
ALL=(refused startup ipv6 beside data hazards mistakes siw hazards_of_others)
declare -A TEXT=(
	[refused]='what is no iWARP device, or not there, is refused with one line'
	[startup]='startup, in both roles: the report'
	[ipv6]='an address of IPv6'
	[beside]='two runs at once, of two trees'
	[data]='the data path: the report'
	[hazards]='hazards, and a device that asks for no RTR message: the report'
	[mistakes]='three mistakes made on purpose: the report names the rules'
	[siw]='the driver of the kernel is judged'
	[hazards_of_others]='hazards over a driver that is not ours'
)

alone() {
	local name

	for name in "${ALL[@]}"; do
		[[ ${TEXT[$name]} != "$1" ]] || echo "scripts/test/device.sh $name"
	done
}

main() {
	local name

	[[ $# -gt 0 ]] || set -- "${ALL[@]}"
	for name in "$@"; do
		[[ -n ${TEXT[$name]:-} ]] || die "no such test: $name (${ALL[*]})"
	done
	"$TOP/scripts/lib/setup.sh" build guest device remote deb
	need_krel
	"$TOP/scripts/lib/build.sh"
	say 'booting two guests'
	guest_boot A B
	make_person
	build_programs
	# Repeats of RTR messages are off, since the device is slow, and tests would have to wait for them.
	guest_run B 'driver_set srnic && echo 0 >/proc/sys/net/iw_mpa/rtr_repeat_ms'
	tap_run 'ssh from A to B' let_in
	for name in "${ALL[@]}"; do
		[[ " $* " == *" $name "* ]] || continue
		say "device: $name"
		tap_run "${TEXT[$name]}" run_test "$name"
	done
	tap_run 'what was created was destroyed' guest_run B 'poll 10 driver_is_balanced'
	tap_run 'the modules unload' guest_run B driver_clear
	tap_run 'the kernels have nothing to report' guest_detectors B
	tap_run 'the guests end well' guest_down
	tap_end device || die "logs: $GUEST_RUN"
	guest_forget_logs
}

main "$@"
