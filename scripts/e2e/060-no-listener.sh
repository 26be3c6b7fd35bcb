# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="nobody listens: rping gets an event and ends"

# Over unmodified siw rping hangs for ever: rdma_connect() fails at once, and no event follows.
applies() { is_ours "$CLIENT_DRIVER"; }

check() {
	local output status=0

	[[ $WIRE == flap ]] || watch_server
	output=$(client "rping -c -a $SERVER_IP -p $PORT -C 10 -V -v") || status=$?
	echo "$output"
	[[ $status -ne 124 ]] || fail "rping hangs"
	[[ $status -ne 0 ]] || fail "rping believes it was connected"
	[[ $status -ne 125 ]] || fail "the guest is lost"
	# While links flap the RST or the capture can be lost, so there is no proof to check.
	if [[ $WIRE == flap ]]; then
		expect_text "$output" 'RDMA_CM_EVENT_(REJECTED|UNREACHABLE|CONNECT_ERROR)'
	else
		expect_text "$output" RDMA_CM_EVENT_REJECTED
		proofs_hold
	fi
}

refused_here() { grep -qx "$PORT" <<<"$(refused_ports)"; }

# Other tests run again only with proof that a server listened too late: a captured RST of its port,
# and a server that listens now. Check that there is no such proof unless both are true.
proofs_hold() {
	local output

	refused_here || fail "no RST of this port was captured"
	! server_was_late "$PORT" || fail "nobody listens, and a server was late"
	serve "rping -s -a $SERVER_IP -p $PORT -C 10 -V"
	server_was_late "$PORT" || fail "the server was late, and there is no proof"
	! server_was_late "$((PORT + 1000))" || fail "a server of another port was late"
	watch_server
	output=$(client "rping -c -a $SERVER_IP -p $PORT -C 10 -V -v")
	expect_pings "$output" 10
	! refused_here || fail "an RST of this port was captured, and the connection came up"
	server_ends
}
