# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="iSER: discover, log in, compare data, lose the link, log in anew"
WIRES=clean
KIT=iser

# Kernels with detectors lack iSER.
applies() { stock_kernel; }

nobody_listens() {
	local output

	output=$(inside "$CLIENT" "iser_login '$SERVER_IP' $((PORT + 10000)) timeo.login_timeout=5" 2>/dev/null) &&
		fail "logged in to nobody"
	echo "$output"
	expect_text "$output" '^iscsiadm: Could not login to'
	inside "$CLIENT" "iser_is_gone; poll 10 only_pool"
}

check() {
	local want before cut=

	loses_connections "$CLIENT" || cut="tcp_cut $PORT;"
	# An IPv6 address is put between brackets, since a port follows.
	[[ $FAMILY == 4 ]] || SERVER_IP="[$SERVER_IP]"

	inside "$SERVER" "iser_serve '$SERVER_IP' $PORT"
	inside "$CLIENT" "iser_start"
	nobody_listens
	before=$(established "$(our_end)")
	expect_text "$(inside "$CLIENT" "iser_discover '$SERVER_IP' $PORT")" 'test.iw-mpa:disk'
	inside "$CLIENT" "iser_login '$SERVER_IP' $PORT"
	[[ $(established "$(our_end)") -ge $((before + 2)) ]] ||
		fail "discovery and login are not two connections of iw_mpa"
	disk_write_and_compare "at first"
	kernel_uses "$CLIENT" ib_iser
	kernel_uses "$SERVER" ib_isert
	before=$(established "$(our_end)")
	inside "$CLIENT" "link_flap 2; $cut doze 1; poll 30 iser_is_logged_in"
	disk_write_and_compare "after the link was gone"
	[[ $(established "$(our_end)") -gt $before ]] || fail "it did not connect again"
	if both_ours; then
		on "$CLIENT" 'rdma link delete siw0 && rdma_add' 90
		inside "$CLIENT" 'poll 60 iser_is_logged_in' 90
		disk_write_and_compare "after the initiator's link was removed"
	fi
	inside "$CLIENT" "iser_logout; iser_login '$SERVER_IP' $PORT"
	disk_has "$want" "with another connection"
	inside "$CLIENT" "iser_logout; iser_end; rm /run/data"
	inside "$SERVER" "iser_serve_end '$SERVER_IP' $PORT"
	devices_go
	if both_ours; then echo "result: 12 MB"; else echo "result: 8 MB"; fi
}
