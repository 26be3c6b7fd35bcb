# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="both ends ask for Markers: 10 verified round trips of 65,000 octets, the wire has them"
WIRES="clean rough"

# Only srnic has Markers.
applies() { [[ $CLIENT_DRIVER/$SERVER_DRIVER == srnic/srnic ]]; }

ask_for_markers() {
	on "$1" "at_clean_up 'sysctl -q -w net.iw_mpa.markers=0'; sysctl -q -w net.iw_mpa.markers=1"
}

# endpoints_have ROLE GUEST: the guest's only connection has this role, and Markers in both directions
endpoints_have() {
	on "$2" "/host$TOP/scripts/iw-mpa endpoints -j" | python3 -c '
import json, sys
ep, = [ep for ep in json.load(sys.stdin) if ep["state"] == "OFFLOADED"]
assert (ep["role"], ep["tx_markers"], ep["rx_markers"]) == (sys.argv[1], 1, 1), ep' "$1"
}

check() {
	local capture=$GUEST_RUN/share/wire.pcapng size=65000

	# shellcheck disable=SC2153 # from who runs the test
	[[ $WIRE == clean ]] || size=4000
	in_both ask_for_markers
	serve "rping -s -P -a $SERVER_IP -p $PORT"
	guest_bg "$CLIENT" client "rping -c -a $SERVER_IP -p $PORT -C 1000000 -V -v"
	on "$CLIENT" "poll 20 grep -q 'rdma-ping-0:' /run/bg/client/output"
	endpoints_have initiator "$CLIENT"
	endpoints_have responder "$SERVER"
	guest_stop "$CLIENT" client >/dev/null
	guest_stop "$SERVER" server >/dev/null

	on "$CLIENT" capture_start
	rping_once 10 "$size"
	on "$CLIENT" "capture_stop wire.pcapng && capture_is_whole"
	"$TOP/scripts/lib/guest/startup.py" --check --expect-connections 1 --expect-rtr --expect-crc \
		--expect-markers --expect-send-bytes 16 "$capture"
	# judge.py checks the place and the pointer of each Marker, and each CRC.
	[[ $WIRE != clean ]] || "$TOP/scripts/wire/judge.py" "$capture"
}
