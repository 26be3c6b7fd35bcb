# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="rstream: rsockets with their private data, verified 4096-byte messages"

check() {
	local output

	serve "rstream -b $SERVER_IP -p $PORT -C 100 -S 4096 -T v"
	output=$(client "rstream -s $SERVER_IP -p $PORT -C 100 -S 4096 -T v")
	echo "$output"
	# name, bytes per transfer, transfers, iterations, total ...
	expect_text "$output" '^custom +4k +100 +1 +800k '
	server_ends
}
