# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="fio: RDMA Write of 1 MB"
WIRES=clean
FAMILIES="4"

applies() { both_ours; }

check() {
	local output before

	serve "fio --name=server --ioengine=rdma --port=$PORT --rw=read --bs=4k --size=1M"
	before=$(bytes_sent "$CLIENT")
	output=$(client "fio --name=client --ioengine=rdma --hostname=$SERVER_IP --port=$PORT \
		--verb=write --rw=write --bs=4k --size=1M --minimal")
	server_ends
	[[ $(bytes_sent "$CLIENT") -gt $((before + 1000000)) ]] ||
		fail "the client sent less than 1 MB: $output"
}
