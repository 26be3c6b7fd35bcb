# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="ucmatose: 100 connections of one process"

# With unmodified siw a process cannot have more than about 47 QPs.
applies() { both_ours; }

check() {
	local before options="-c 100 -C 10 -S 100 -p $PORT"

	[[ $FAMILY == 4 ]] || options+=" -f ip6"
	serve "ucmatose -b $SERVER_IP $options"
	before=$(bytes_sent "$CLIENT")
	client "ucmatose -s $SERVER_IP $options"
	server_ends
	[[ $(bytes_sent "$CLIENT") -gt $((before + 100000)) ]] ||
		fail "the client sent fewer than 1000 messages of 100 bytes"
}
