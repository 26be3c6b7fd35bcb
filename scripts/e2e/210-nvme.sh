# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="NVMe over RDMA: discover, connect, compare data, reset, lose the link, connect anew"
WIRES=clean

# The kernels with detectors leave out what it needs.
applies() {
	[[ $CLIENT_DRIVER == siw_mpa && $SERVER_DRIVER == siw_mpa ]] && ! kernel_debugs "$KERNEL"
}

SIZE=$((4 << 20))

# inside GUEST COMMAND [SECONDS]
inside() { on "$1" "set -e; . /host$TOP/scripts/guest/nvme.sh; $2" "${3:-60}"; }

# disk_has SHA256SUM: what the initiator reads
disk_has() {
	[[ $(inside "$CLIENT" "nvme_read $SIZE | sha256sum") == "$1" ]] ||
		fail "the disk does not have what was written: $2"
}

# write_and_compare: new data; the initiator's disk and the target's file
write_and_compare() {
	want=$(inside "$CLIENT" "head -c $SIZE /dev/urandom >/run/data; sha256sum </run/data")
	inside "$CLIENT" "nvme_write /run/data"
	[[ $(inside "$SERVER" "head -c $SIZE \$NVME_DISK | sha256sum") == "$want" ]] ||
		fail "the target's file does not have what was written"
	disk_has "$want" "$1"
}

nobody_listens() {
	local output

	output=$(inside "$CLIENT" "nvme_fabrics connect $SERVER_IP $((PORT + 10000))" 30 2>/dev/null) &&
		fail "connected to nobody"
	echo "$output"
	expect_text "$output" 'could not add new controller'
	inside "$CLIENT" "nvme_is_gone"
}

check() {
	local want

	inside "$SERVER" "nvme_serve $FAMILY $SERVER_IP $PORT"
	nobody_listens
	expect_text "$(inside "$CLIENT" "nvme_fabrics discover $SERVER_IP $PORT")" 'test.iw-mpa:disk'
	inside "$CLIENT" "nvme_attach $SERVER_IP $PORT"
	write_and_compare "at first"
	inside "$CLIENT" "nvme_reset"
	write_and_compare "after a reset"
	inside "$CLIENT" "link_flap 2; poll 30 nvme_is_live"
	write_and_compare "after the link was gone"
	inside "$CLIENT" "nvme_detach; nvme_attach $SERVER_IP $PORT"
	disk_has "$want" "with another connection"
	inside "$CLIENT" "nvme_detach; rm /run/data"
	inside "$SERVER" "nvme_serve_end"
	# The kernel keeps completion queues for the next consumer as long as there is the device.
	inside "$CLIENT" "poll 10 only_pool; driver_clear"
	inside "$SERVER" "poll 10 only_pool; driver_clear"
	echo "result: 12 MB"
}
