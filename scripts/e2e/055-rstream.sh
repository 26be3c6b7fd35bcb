# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="rstream: rsockets with their private data, the server verifies 4096-byte messages"

# With unmodified siw at one end, one run in ten fails within librdmacm ("rpoll: Success").
applies() { [[ $CLIENT_DRIVER == siw_mpa && $SERVER_DRIVER == siw_mpa ]]; }

# The server, which is first to close, is the witness. Over siw and siw_mpa alike, one client in
# seven then never learns the end and spins in librdmacm.
check() {
	local output

	serve "rstream -b $SERVER_IP -p $PORT -C 100 -S 4096 -T v"
	guest_bg "$CLIENT" client "rstream -s $SERVER_IP -p $PORT -C 100 -S 4096 -T v"
	output=$(server_ends)
	# name, bytes per transfer, transfers, iterations, total ...
	expect_text "$output" '^custom +4k +100 +1 +800k '
}
