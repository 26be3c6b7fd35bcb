# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="rmmod works and nothing is left: RDMA objects, references, sockets, slabs"
FAMILIES="4"

# nothing_left [MODULE] runs in the guest, with the functions of inside.sh.
nothing_left() {
	local driver module

	driver=$(driver_get)
	# iw_mpa calls iw_cm's event handler by a pointer, which does not keep iw_cm loaded. So
	# iw_mpa refers to a symbol of iw_cm, and only this reference, which
	# /sys/module/iw_cm/holders shows, keeps iw_cm loaded.
	[[ -z ${1:-} || ! -d /sys/module/iw_cm/holders || -e /sys/module/iw_cm/holders/$1 ]] ||
		fail "iw_cm can go before $1" || return 1
	poll 10 rdma_is_idle || fail "still in use: $(rdma_leftovers)" || return 1
	rdma resource show
	rdma link delete siw0 || return 1
	driver_leaves_nothing || return 1
	for module in "$driver" ${1:+"$1"}; do
		echo "$module: $(<"/sys/module/$module/refcnt") references"
		[[ $(<"/sys/module/$module/refcnt") -eq 0 ]] || fail "$module is in use" || return 1
		rmmod "$module" || return 1
	done
	! grep -E 'iw_mpa|siw|srnic' /proc/slabinfo || fail "slabs of ours are left" || return 1
	! ss -Htan | grep -v '^TIME-WAIT' || fail "sockets are left" || return 1
	# A kworker keeps the name of its last work item, so only names of our own threads count.
	! grep -E '^Name:\s*(iw_mpa|siw|srnic)' /proc/[0-9]*/status 2>/dev/null || fail "kernel threads are left" ||
		return 1
	[[ -z $(driver_get) && ! -d /sys/module/iw_mpa ]]
}

check() {
	local host driver library

	for host in "$CLIENT" "$SERVER"; do
		driver=$(guest_run "$host" driver_get)
		[[ -n $driver ]] || fail "no driver in $host to unload"
		library=
		! is_ours "$driver" || library=iw_mpa
		on "$host" "$(declare -f nothing_left); nothing_left $library"
	done
}
