# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="our driver does not load beside siw, for which the RDMA core takes it, and says so"
WIRES=clean
FAMILIES="4"

applies() { both_ours; }

# Runs in the guest, with the functions of inside.sh.
one_at_a_time() {
	local ours=$1

	driver_clear || return 1
	insmod /share/modules/siw.ko && insmod /share/modules/iw_mpa.ko || return 1
	! insmod "/share/modules/$ours.ko" || fail "$ours is loaded beside siw" || return 1
	dmesg | grep "$ours: siw is loaded" || fail "the log does not say why" || return 1
	rmmod siw || return 1
	insmod "/share/modules/$ours.ko" || fail "$ours does not load after siw" || return 1
	[[ $ours != srnic ]] || keeps_siw_out || return 1
	rdma_add
}

keeps_siw_out() {
	! insmod /share/modules/siw.ko || fail "siw is loaded beside srnic" || return 1
	dmesg | grep 'srnic: siw cannot be loaded' || fail "the log does not say why"
}

check() {
	on "$SERVER" "$(declare -f one_at_a_time keeps_siw_out); one_at_a_time $SERVER_DRIVER"
	rping_once 10
}
