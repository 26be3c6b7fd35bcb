# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="pyverbs: rdma-core's own tests of devices, PDs, regions, queues, QPs and rdma_cm"
WIRES=clean

# The list of expected features is srnic's.
applies() { [[ $CLIENT_DRIVER == srnic && $SERVER_DRIVER == srnic ]]; }

SUITES="test_device test_pd test_mr test_cq test_cq_events test_qp test_rdmacm"

# Both ends of each test of pyverbs are on one host, here the client.
check() {
	local kind=inet output

	[[ $FAMILY == 4 ]] || kind=inet6
	output=$(client "python3 /host$TOP/scripts/lib/guest/pyverbs.py /host$CACHE/tools siw0 eth0 \
		$kind /host$TOP/scripts/e2e/pyverbs.expected $SUITES" 300)
	echo "$output"
	grep '^result: ' <<<"$output"
}
