# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="rping to a server that listens on the wildcard address"

check() {
	local any=0.0.0.0 output

	[[ $FAMILY == 4 ]] || any=::
	serve "rping -s -a $any -p $PORT -C 10 -V"
	output=$(client "rping -c -a $SERVER_IP -p $PORT -C 10 -V -v")
	expect_pings "$output" 10
	server_ends
}
