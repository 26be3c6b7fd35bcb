# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="nobody listens: rping gets an event and ends"

# Over unmodified siw it hangs for ever: rdma_connect() fails at once and no event follows.
applies() { is_ours "$CLIENT_DRIVER"; }

check() {
	local output status=0 before

	before=$(tcp_refusals)
	output=$(client "rping -c -a $SERVER_IP -p $PORT -C 10 -V -v") || status=$?
	echo "$output"
	[[ $status -ne 124 ]] || fail "rping hangs"
	[[ $status -ne 0 ]] || fail "rping believes it was connected"
	[[ $status -ne 125 ]] || fail "the guest is lost"
	expect_text "$output" 'RDMA_CM_EVENT_(REJECTED|UNREACHABLE|CONNECT_ERROR)'
	# What other tests take for a proof
	[[ $output != *RDMA_CM_EVENT_REJECTED* ]] || tcp_was_refused "$before" ||
		fail "no end has counted that TCP was refused"
}
