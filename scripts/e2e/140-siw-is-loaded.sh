# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="siw_mpa does not load beside siw, whose link type it has, and says so"
WIRES=clean
FAMILIES="4"

applies() { both_ours; }

# Runs in the guest, with the functions of inside.sh.
one_at_a_time() {
	driver_clear || return 1
	insmod /share/modules/siw.ko && insmod /share/modules/iw_mpa.ko || return 1
	! insmod /share/modules/siw_mpa.ko || fail "siw_mpa is loaded beside siw" || return 1
	dmesg | grep 'siw_mpa: siw is loaded' || fail "the log does not say why" || return 1
	rmmod siw || return 1
	insmod /share/modules/siw_mpa.ko || fail "siw_mpa does not load after siw" || return 1
	rdma_add
}

check() {
	on "$SERVER" "$(declare -f one_at_a_time); one_at_a_time"
	rping_once 10
}
