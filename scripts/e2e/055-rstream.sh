# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="rstream: rsockets with their private data, the server verifies 4096-byte messages"

# With unmodified siw as the server one run in ten fails within librdmacm, or hangs.
applies() { is_ours "$SERVER_DRIVER"; }

check() {
	local output count=100

	[[ $WIRE == clean ]] || count=10
	serve "rstream -b $SERVER_IP -p $PORT -C $count -S 4096 -T v"
	client "rstream -s $SERVER_IP -p $PORT -C $count -S 4096 -T v"
	output=$(server_ends)
	# columns: name, bytes per transfer, transfers, iterations, total ...
	expect_text "$output" "^custom +4k +$count +1 +$((8 * count))k "
}
