# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="NVMe over RDMA: discover, connect, compare data, reset, lose the link, connect anew, rmmod"
WIRES=clean
KIT=nvme

# Kernels with detectors lack NVMe over RDMA.
applies() { stock_kernel; }

nobody_listens() {
	local output

	output=$(inside "$CLIENT" "nvme_fabrics connect $SERVER_IP $((PORT + 10000))" 30 2>/dev/null) &&
		fail "connected to nobody"
	echo "$output"
	expect_text "$output" 'could not add new controller'
	inside "$CLIENT" "nvme_is_gone"
}

# Over IPv6 the target uses shared receive queues if its driver is srnic, so that both kinds of queues are tested.
check() {
	local want srq=0

	[[ $SERVER_DRIVER != srnic ]] || srq=$((FAMILY == 6))
	inside "$SERVER" "nvme_serve $FAMILY $SERVER_IP $PORT $srq"
	nobody_listens
	expect_text "$(inside "$CLIENT" "nvme_fabrics discover $SERVER_IP $PORT")" 'test.iw-mpa:disk'
	inside "$CLIENT" "nvme_attach $SERVER_IP $PORT"
	inside "$SERVER" "nvme_srqs $srq" || fail "of shared receive queues there are some, or none"
	disk_write_and_compare "at first"
	inside "$CLIENT" "nvme_reset"
	disk_write_and_compare "after a reset"
	inside "$CLIENT" "link_flap 2; poll 30 nvme_is_live"
	disk_write_and_compare "after the link was gone"
	inside "$CLIENT" "nvme_detach; nvme_attach $SERVER_IP $PORT"
	disk_has "$want" "with another connection"
	# Our driver can be unloaded while it has a consumer.
	if is_ours "$CLIENT_DRIVER"; then
		inside "$CLIENT" "rmmod $CLIENT_DRIVER; nvme_is_gone"
		on "$CLIENT" "driver_leaves_nothing && rmmod iw_mpa"
	else
		inside "$CLIENT" "nvme_detach"
	fi
	on "$CLIENT" "rm /run/data"
	inside "$SERVER" "nvme_serve_end"
	devices_go
	echo "result: 12 MB"
}
