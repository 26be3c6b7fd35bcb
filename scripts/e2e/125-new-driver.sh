# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="a driver that new-driver made: kernel ULPs in both roles, NVMe in both roles, unload under traffic"
WIRES=clean
FAMILIES="4"
KIT=nvme

# The server uses a driver that new-driver has made, in place of srnic; the client's driver is srnic
# or siw. The test uses NVMe, for which kernels with detectors such as KASAN lack options.
applies() { [[ $SERVER_DRIVER == srnic ]] && stock_kernel; }

PAIR="python3 /host$TOP/scripts/lib/guest/kverbs_pair.py"

# acme_comes FOLDER runs in the guest, with the functions of inside.sh: load FOLDER/acme.ko, and add
# a link of this driver.
acme_comes() {
	driver_clear || return 1
	insmod /share/modules/iw_mpa.ko || return 1
	insmod "$1/acme.ko" || return 1
	rdma link add siw0 type acme netdev eth0 || return 1
	poll 10 rdma_is_up || return 1
	rdma link show siw0/1
	[[ $(</sys/class/infiniband/siw0/iw_mpa/peer_to_peer) == default ]] || return 1
	rdma statistic show link siw0/1 | grep -q 'established 0' || return 1
	[[ $(</sys/module/iw_mpa/refcnt) -eq 1 ]] || fail "iw_mpa has other users"
}

# acme_goes runs in the guest: clean up after a test that failed at any step.
acme_goes() {
	bg_stop_all
	[[ ! -d /sys/module/kverbs ]] || rmmod kverbs
	[[ ! -d /sys/module/acme ]] || poll 20 rmmod acme
	[[ ! -d /sys/module/iw_mpa ]] || { driver_leaves_nothing && rmmod iw_mpa; }
}

# pair LISTENER CONNECTOR: kernel ULPs in these two guests post all kinds of work requests for three
# rounds, and then disconnect
pair() {
	local address output

	PORT=$((PORT + 100))
	address=$(address_of "$1" 4)
	guest_bg "$1" listener "$PAIR listen $address $PORT 3"
	on "$1" "poll 120 grep -q listens /run/bg/listener/output" 130
	guest_bg_run "$2" connector 200 "$PAIR connect $address $PORT 3"
	output=$(guest_wait "$1" listener 60)
	expect_text "$output" '3 rounds'
}

# The driver is unloaded while it has a connection with traffic. The ULP gets an event, and releases its objects.
unload() {
	local address

	PORT=$((PORT + 100))
	address=$(address_of "$CLIENT" 4)
	guest_bg "$CLIENT" listener "$PAIR listen $address $PORT 0"
	on "$CLIENT" "poll 120 grep -q listens /run/bg/listener/output" 130
	guest_bg "$SERVER" connector "$PAIR connect $address $PORT 0"
	on "$SERVER" "poll 120 grep -q 'it goes' /run/bg/connector/output" 130
	on "$SERVER" "rmmod acme" 60
	expect_text "$(guest_wait "$SERVER" connector 60)" 'ended by DEVICE_REMOVAL'
	expect_text "$(guest_wait "$CLIENT" listener 60)" 'ended by DISCONNECTED'
}

# storage TARGET HOST: the guest HOST uses a disk of the guest TARGET by NVMe, and compares data
storage() {
	local CLIENT=$2 SERVER=$1 want address

	PORT=$((PORT + 100))
	address=$(address_of "$SERVER" 4)
	inside "$SERVER" "nvme_serve 4 $address $PORT 0"
	inside "$CLIENT" "nvme_attach $address $PORT" 120
	disk_write_and_compare "of $2"
	inside "$CLIENT" "nvme_reset" 120
	disk_has "$want" "after a reset"
}

storage_ends() {
	inside "$2" "nvme_detach"
	inside "$1" "nvme_serve_end"
}

check() {
	local dir=$GUEST_RUN/acme-$PORT

	KERNEL=$(guest_kernel "$SERVER") "$TOP/scripts/new-driver" acme "$dir"
	on "$SERVER" "$(declare -f acme_comes acme_goes)
		at_clean_up '$(declare -f acme_goes); acme_goes'; acme_comes /host$dir"
	on "$SERVER" "insmod /share/modules/kverbs.ko"
	on "$CLIENT" "at_clean_up 'bg_stop_all; [[ ! -d /sys/module/kverbs ]] || rmmod kverbs'
		insmod /share/modules/kverbs.ko"
	pair "$SERVER" "$CLIENT"
	pair "$CLIENT" "$SERVER"
	echo "result: kernel ULPs in both roles"
	storage "$SERVER" "$CLIENT"
	storage_ends "$SERVER" "$CLIENT"
	storage "$CLIENT" "$SERVER"
	# The driver is unloaded while NVMe, its consumer, writes.
	guest_bg "$SERVER" load ". /host$TOP/scripts/lib/guest/nvme.sh; while nvme_write /run/data; do :; done"
	on "$SERVER" "rmmod acme && rmmod iw_mpa" 60
	inside "$SERVER" "bg_stop load; poll 20 nvme_is_gone"
	inside "$CLIENT" "nvme_serve_end"
	echo "result: NVMe in both roles, and the driver unloads while it writes"
	on "$SERVER" "$(declare -f acme_comes); acme_comes /host$dir"
	unload
	on "$SERVER" "rmmod kverbs; rmmod iw_mpa; driver_set srnic"
	on "$CLIENT" "rmmod kverbs; poll 10 only_pool && driver_clear && driver_set $CLIENT_DRIVER"
	rping_once 10
}
