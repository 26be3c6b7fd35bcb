#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# wire.sh --remote: two guests stand for the host of a card and for that of a person who has it judged. All that goes
# between them is one wire, and ssh. What the report says of srnic is known; what is no iWARP device, or is not there,
# is refused with one line.
#
#   scripts/test/device.sh

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
LIMIT=1200	# seconds for one run: a hang is to end
SAID=		# what the last run has said

# Guest B is the card's host: anybody with the key of A may come in.
let_in() {
	local home=/root/.ssh

	guest_run A "ln -sf /proc/self/fd /dev/fd && rm -rf $home && mkdir -m 700 $home &&
		ssh-keygen -q -t ed25519 -N '' -f $home/id_ed25519 &&
		cp $home/id_ed25519.pub /share/key && printf '%s\n' 'StrictHostKeyChecking no' 'LogLevel ERROR' >$home/config" &&
		guest_run B "rm -rf $home && mkdir -m 700 $home && cp /share/key $home/authorized_keys &&
			chmod 600 $home/authorized_keys && dropbearkey -t ed25519 -f /run/host_key &&
			bg_start sshd 'dropbear -F -E -r /run/host_key -p 22' && poll 20 tcp_listens 22"
}

# as_a_person COMMAND...: in A, with programs that were built already; its report is then in the share
as_a_person() {
	local status=0

	rm -rf "$GUEST_RUN/share/cache/reports"
	SAID=$(guest_bg_run A wire "$LIMIT" "IW_MPA_CACHE=/share/cache /host$(printf '%q ' "$@")") || status=$?
	echo "$SAID"
	return "$status"
}

judge() { as_a_person "$TOP/scripts/wire.sh" --remote "$CARD" "$@"; }

# said REGEX...: each of a line of that
said() {
	local regex

	for regex in "$@"; do
		grep -qE -- "$regex" <<<"$SAID" || { echo "not said: $regex" && return 1; }
	done
}

# refused REGEX ARGUMENT...: with one line, and soon
refused() {
	local regex=$1

	shift
	! judge "$@" || return 1
	[[ $(grep -c '^error: ' <<<"$SAID") -eq 1 && $(tail -n 1 <<<"$SAID") =~ ^error:\ $regex ]] ||
		{ echo "not with the one line $regex" && return 1; }
}

# reports REGEX...: each of a line of the report
reports() {
	local regex

	for regex in "$@"; do
		grep -qE -- "$regex" "$GUEST_RUN"/share/cache/reports/*/report.txt ||
			{ echo "not reported: $regex" && cat "$GUEST_RUN"/share/cache/reports/*/report.txt && return 1; }
	done
}

test_refused() {
	refused "no ssh to 10\.0\.0\.9 " --device siw0 --remote 10.0.0.9 -k rtr_offer responder &&
		refused "$CARD has no RDMA device siw7 " --device siw7 -k rtr_offer responder &&
		refused "rxe0 of $CARD is no iWARP device$" --device rxe0 -k rtr_offer responder
}

# Hazards are left out by name.
test_startup() {
	judge --device siw0 --sample -k 'request_v1|rtr_offer|own_depths|rejected_v1|connect_to_where' \
		initiator responder hazards || return
	said '^ok .* hazards_connect_to_where.*# SKIP needs --hazards' || return
	reports '^device: siw0$' '^MPA revision: 2$' '^Reads at a time, taken and sent: 128, 128$' \
		'^RTR messages: Send, Write, Read$' '^Markers: yes$' '^without: the device in the host of the peer$' \
		'^[0-9]+ rules: [0-9]+ passes, [0-9]+ not judged$' '^  E-9-1 ' '^  E-9\.2-4 ' '^  M-7\.1\.2-8 ' \
		'^      initiator_request_v1: needs the sysctls of iw_mpa$'
}

# They come in if they are asked for. A device that asks for no RTR message is not blamed for that.
test_hazards() {
	guest_run B 'echo 0 >/proc/sys/net/iw_mpa/peer_to_peer' || return
	as_a_person "$TOP/scripts/wire.sh" --hazards --device siw0 --remote "$CARD" --sample \
		-k 'read_rtr_works|request_by_default|no_rtr_in_common' initiator hazards || return
	guest_run B 'echo 1 >/proc/sys/net/iw_mpa/peer_to_peer' || return
	said '^\[.*\] WARNING: 10\.0\.0\.2 may crash' '^ok .* hazards_read_rtr_works_with_depths_of_0 \[[^]]*\]$' || return
	reports '^asks for an RTR message: no$' '^not supported by the device:$' ': to ask for an RTR message$'
}

# What is in memory there is compared, too.
test_data() {
	judge --device siw0 --sample -k 'D_5_2_3|D_5_2_6|D_7_1_1_|F_4_1_1|F_8_1_(reset|time)' \
		data_ddp data_mpa || return
	said '^ok .* data_mpa_F_8_1_time_out.*# SKIP needs the device in the host of the peer' || return
	reports '^[0-9]+ rules: [0-9]+ passes$' '^  D-5\.2-3 ' '^  D-5\.2-6 ' '^  D-7\.1-1 ' '^  F-4\.4-1 ' '^  F-8-1 '
}

main() {
	[[ $# -eq 0 ]] || die 'usage: device.sh'
	"$TOP/scripts/lib/setup.sh" build guest device remote
	need_krel
	"$TOP/scripts/lib/build.sh"
	say 'booting two guests'
	guest_boot A B
	(CACHE=$GUEST_RUN/share/cache && mkdir -p "$CACHE" && remote_build)
	# The peer waits for what comes after an RTR message, and is slow here.
	guest_run B 'driver_set srnic && echo 0 >/proc/sys/net/iw_mpa/rtr_repeat_ms &&
		cp /host/etc/libibverbs.d/rxe.driver /etc/libibverbs.d/ && modprobe rdma_rxe &&
		rdma link add rxe0 type rxe netdev eth0'
	tap_run 'ssh from A to B' let_in
	tap_run 'what is no iWARP device, or not there, is refused with one line' test_refused
	tap_run 'startup, in both roles: the report' test_startup
	tap_run 'the data path: the report' test_data
	tap_run 'hazards, and a device that asks for no RTR message: the report' test_hazards
	guest_run B 'rdma link delete rxe0 && modprobe -r rdma_rxe' || true
	tap_run 'what was created was destroyed' guest_run B 'poll 10 driver_is_balanced'
	tap_run 'the modules unload' guest_run B driver_clear
	tap_run 'the kernels have nothing to report' guest_detectors B
	tap_run 'the guests end well' guest_down
	tap_end device || die "logs: $GUEST_RUN"
	guest_forget_logs
}

main "$@"
