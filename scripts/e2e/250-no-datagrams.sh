# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="udaddy, udpong, mckey: iWARP has no datagrams, and they are told so"
WIRES=clean
FAMILIES="4"

applies() { both_ours; }

# refused COMMAND [REGEX]: COMMAND ends by itself, with an error, and leaves no object
refused() {
	local output status=0

	output=$(client "$1" 2>/dev/null) || status=$?
	echo "$1: exit status $status: $output"
	[[ $status -ne 124 ]] || fail "$1 hangs"
	[[ $status -ne 125 ]] || fail "the guest is lost"
	[[ $status -ne 0 ]] || fail "$1 believes it worked"
	[[ -z ${2:-} ]] || expect_text "$output" "$2"
	on "$CLIENT" "poll 10 rdma_is_idle"
}

# The second call has no REGEX, since udaddy's client prints no reason.
check() {
	refused "udaddy -p $PORT" 'listen request failed'
	refused "udaddy -s $SERVER_IP -p $PORT"
	refused "udpong -s $SERVER_IP -p $PORT -C 1 -S 64" 'rconnect: Operation not supported'
	refused "mckey -m 239.1.1.1 -b $CLIENT_IP -p 0x111" 'unable to create QP: Operation not supported'
	rping_once 10
}
