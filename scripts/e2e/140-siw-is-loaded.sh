# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="our driver does not load beside siw, for which the RDMA core takes it, and says so"
WIRES=clean
FAMILIES="4"

applies() { both_ours; }

# one_at_a_time DRIVER runs in the guest, with the functions of inside.sh.
one_at_a_time() {
	local ours=$1

	driver_clear || return 1
	insmod /share/modules/siw.ko && insmod /share/modules/iw_mpa.ko || return 1
	! insmod "/share/modules/$ours.ko" || fail "$ours is loaded beside siw" || return 1
	dmesg | grep "$ours: siw is loaded" || fail "the log does not say why" || return 1
	rmmod siw || return 1
	insmod "/share/modules/$ours.ko" || fail "$ours does not load after siw" || return 1
	if [[ $ours == srnic ]]; then
		keeps_siw_out && comes_with_siw || return 1
	fi
	rdma_add
}

keeps_siw_out() {
	! insmod /share/modules/siw.ko || fail "siw is loaded beside srnic" || return 1
	dmesg | grep 'srnic: siw cannot be loaded' || fail "the log does not say why"
}

# srnic is loaded at a moment when siw is being loaded, and srnic cannot find siw yet. So srnic loads, but it must not
# make a device when siw is there.
comes_with_siw() {
	local point=/sys/module/slow_point/parameters try status

	rmmod srnic && insmod /share/modules/slow_point.ko function=mod_sysfs_setup || return 1
	for try in 1 2 3; do
		status=0
		loads_before_siw_is_seen "$point" "$try" || status=$?
		[[ $status -eq 2 ]] || break
		echo 'retried: siw could be seen before srnic was loaded, on a slow host'
		rmmod siw || return 1
		[[ ! -d /sys/module/srnic ]] || rmmod srnic || return 1
	done
	[[ $status -ne 2 ]] || fail 'siw could be seen too early, three times'
	[[ $status -eq 0 ]] || return 1
	ip link add beside0 type veth peer name beside1 || return 1
	! rdma link add beside type srnic netdev beside0 || fail "a device beside siw" || return 1
	dmesg | tail -n 5 | grep 'srnic: siw is loaded' || fail "the log does not say why" || return 1
	rmmod siw slow_point || return 1
	rdma link add beside type srnic netdev beside0 && rdma link delete beside &&
		ip link delete beside0
}

# loads_before_siw_is_seen PARAMETERS TRY: delay the loading of siw until srnic is loaded, but not
# so long that the kernel reports a stuck processor. PARAMETERS is the folder in /sys of the
# parameters of the module slow_point, which delays a function, and counts the calls that it delays.
# Each attempt delays one call, so in attempt TRY the count is TRY. Return 2 if /sys has siw when
# insmod of srnic returns: srnic could find siw then, and nothing is proven.
loads_before_siw_is_seen() {
	local siw called=no loaded=no seen=no

	echo 0 >"$1/release"
	echo 15000 >"$1/ms"
	insmod /share/modules/siw.ko &
	siw=$!
	if poll 10 grep -qx "$2" "$1/calls"; then
		called=yes
		echo 0 >"$1/ms"
		! insmod /share/modules/srnic.ko || loaded=yes
		[[ ! -e /sys/module/siw ]] || seen=yes
	fi
	echo 1 >"$1/release"
	wait $siw || fail "siw does not load" || return 1
	[[ $called == yes ]] || fail "siw does not load slowly" || return 1
	[[ $seen == no ]] || return 2
	[[ $loaded == yes ]] || fail "srnic does not load"
}

check() {
	on "$SERVER" "$(declare -f one_at_a_time keeps_siw_out comes_with_siw \
		loads_before_siw_is_seen); one_at_a_time $SERVER_DRIVER"
	rping_once 10
}
