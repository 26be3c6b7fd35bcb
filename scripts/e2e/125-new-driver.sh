# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="a driver that new-driver made loads, registers a device, and goes"
WIRES=clean
FAMILIES="4"

applies() { both_ours; }

# Runs in the guest, with the functions of inside.sh.
comes_and_goes() {
	insmod "$1/acme.ko" || return 1
	rdma link add acme0 type acme netdev eth0 || return 1
	rdma link show acme0/1 || return 1
	[[ $(</sys/class/infiniband/acme0/iw_mpa/peer_to_peer) == default ]] || return 1
	rdma statistic show link acme0/1 | grep -q 'established 0' || return 1
	[[ $(</sys/module/iw_mpa/refcnt) -eq 2 ]] || fail "iw_mpa has other users" || return 1
	rdma link delete acme0 || return 1
	poll 10 rmmod acme
}

check() {
	local dir=$GUEST_RUN/acme-$PORT

	KERNEL=$(guest_kernel "$SERVER") "$TOP/scripts/new-driver" acme "$dir"
	on "$SERVER" "$(declare -f comes_and_goes); comes_and_goes /host$dir"
	rping_once 10
}
