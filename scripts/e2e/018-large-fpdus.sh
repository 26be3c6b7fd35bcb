# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="both ends allow large FPDUs: verified round trips of 65,000 octets in few FPDUs, the wire has them"
WIRES="clean rough"

both_ours || DESCRIPTION="srnic alone allows large FPDUs: round trips of 65,000 bytes, and srnic sends no such FPDU"

# Only srnic has large FPDUs. siw looks at no reserved bit, and as responder it sends the Request's back. The test
# begins without large FPDUs.
applies() { [[ -z ${LARGE_FPDU:-} && $CLIENT_DRIVER/$SERVER_DRIVER == @(srnic/srnic|srnic/siw|siw/srnic) ]]; }

allow_large_fpdus() {
	on "$1" "at_clean_up 'sysctl -q -w net.iw_mpa.large_fpdu=0'; sysctl -q -w net.iw_mpa.large_fpdu=1"
}

# endpoints_have ROLE GUEST LARGE: the guest's only connection has this role, and large_fpdu is LARGE
endpoints_have() {
	on "$2" "/host$TOP/scripts/iw-mpa endpoints -j" | python3 -c '
import json, sys
ep, = [ep for ep in json.load(sys.stdin) if ep["state"] == "OFFLOADED"]
assert (ep["role"], ep["large_fpdu"]) == (sys.argv[1], int(sys.argv[2])), ep' "$1" "$3"
}

# connection_has LARGE: connect, and check large_fpdu at each end that has srnic
connection_has() {
	serve "rping -s -P -a $SERVER_IP -p $PORT"
	guest_bg "$CLIENT" client "rping -c -a $SERVER_IP -p $PORT -C 1000000 -V -v"
	on "$CLIENT" "poll 20 grep -q 'rdma-ping-0:' /run/bg/client/output"
	! is_ours "$CLIENT_DRIVER" || endpoints_have initiator "$CLIENT" "$1"
	! is_ours "$SERVER_DRIVER" || endpoints_have responder "$SERVER" "$1"
	guest_stop "$CLIENT" client >/dev/null
	guest_stop "$SERVER" server >/dev/null
}

tx_fpdus() { on "$1" 'rdma statistic show link siw0/1' | sed -n 's/.*tx_fpdus \([0-9]*\).*/\1/p'; }

# count_fpdus GUEST: have 20 blocks of 65,000 bytes sent each way, the client's by Read Responses and the server's by
# Writes, and set fpdus to how many FPDUs GUEST has sent. In FPDUs of one TCP segment a block takes 45 or more.
count_fpdus() {
	local before

	before=$(tx_fpdus "$1")
	rping_once 20 65000
	fpdus=$(($(tx_fpdus "$1") - before))
	echo "result: $fpdus FPDUs from $1"
}

check() {
	local capture=$GUEST_RUN/share/wire.pcapng fpdus

	if ! both_ours; then
		allow_large_fpdus "$(our_end)"
		connection_has 0
		count_fpdus "$(our_end)"
		((fpdus >= 20 * 45)) || fail "$fpdus FPDUs"
		return
	fi
	allow_large_fpdus "$CLIENT"
	connection_has 0
	allow_large_fpdus "$SERVER"
	connection_has 1

	on "$CLIENT" capture_start
	count_fpdus "$CLIENT"
	on "$CLIENT" "capture_stop wire.pcapng && capture_is_whole"
	# Fewer than 20 * 20 FPDUs prove that FPDUs are longer than a segment.
	# shellcheck disable=SC2153 # from who runs the test
	[[ $WIRE != clean ]] || ((fpdus < 20 * 20)) || fail "$fpdus FPDUs"
	"$TOP/scripts/lib/guest/startup.py" --check --expect-connections 1 --expect-rtr --expect-crc \
		--expect-send-bytes 16 "$capture"
	[[ $WIRE != clean ]] || "$TOP/scripts/wire/judge.py" "$capture"
}
