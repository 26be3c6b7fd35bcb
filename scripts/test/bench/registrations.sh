# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by bench.sh: what it costs to register memory, with few regions and with very many, compared with siw in the
# same guest.

REGISTRATIONS=${REGISTRATIONS:-100000}
# What a registration or deregistration with srnic may cost, in percent of its cost with siw; and
# what one of the last thousand registrations may, in percent of one of the first thousand
REGISTERED_LIMIT=110

# The process that registers memory is in a memory cgroup, as under systemd, so that the
# instructions by which srnic charges the cgroup are counted, too.
# shellcheck disable=SC2016
IN_CGROUP='mkdir -p /run/cgroup; mountpoint -q /run/cgroup || mount -t cgroup2 none /run/cgroup
	echo +memory >/run/cgroup/cgroup.subtree_control; mkdir -p /run/cgroup/bench
	echo $BASHPID >/run/cgroup/bench/cgroup.procs; exec '

# registered VARIANT user|kernel COUNT: see registrations.c
registered() {
	local command="/share/registrations $2" file=$OUT/register/$1.$2

	take_driver "$1"
	if [[ $2 == kernel ]]; then
		guest_run A "insmod /share/modules/kverbs.ko" "$LIMIT"
		command+=" 10.0.0.1 $3"
	else
		command="($IN_CGROUP $command siw0 $3)"
	fi
	guest_run A "$command" "$LIMIT" >"$file" || die "$1, $2: $(cat "$file")"
	[[ $2 == user ]] || guest_run A 'rmmod kverbs' "$LIMIT"
}

# registered_value VARIANT KIND KEY
registered_value() { awk -v key="$3" '$1 == key { print $2 }' "$OUT/register/$1.$2"; }

# registered_least VARIANT user|kernel register|deregister: print the least of three average costs
# with the driver VARIANT: of the first thousand such operations, of the last thousand, and of all
registered_least() {
	awk -v key="$3" '$1 ~ "^" key "(_first|_last)?$" { print $2 }' "$OUT/register/$1.$2" | sort -n | head -n 1
}

# judge_registered user|kernel COUNT: compare srnic's cost of COUNT registrations and
# deregistrations, by a process or by the kernel, with siw's, and the cost of the last registrations
# with that of the first. RCU frees the memory of regions at any time, also during a later
# measurement: so for deregistration each driver's least average, registered_least(), is compared.
judge_registered() {
	local variant what first last cost siw

	for variant in siw srnic; do
		registered "$variant" "$1" "$2"
	done
	for what in register deregister; do
		siw=$(registered_value siw "$1" "$what")
		cost=$(registered_value srnic "$1" "$what")
		first=$(registered_value srnic "$1" "${what}_first")
		last=$(registered_value srnic "$1" "${what}_last")
		echo "# $KERNEL, $1: $cost instructions to $what one of $2 regions, $first at first and $last" \
			"at last, siw: $siw, limit: $REGISTERED_LIMIT %"
		[[ $what == register ]] || {
			cost=$(registered_least srnic "$1" "$what")
			siw=$(registered_least siw "$1" "$what")
			echo "# at least $cost, siw: $siw"
		}
		tap_run "$KERNEL: to $what costs what it may: $1" within "$REGISTERED_LIMIT" "$cost" "$siw"
		[[ $what != register ]] || tap_run "$KERNEL: the last to $what costs what the first did: $1" \
			within "$REGISTERED_LIMIT" "$last" "$first"
	done
}

# judge_registrations COUNT: judge both kinds, in the guest of boot_counted
judge_registrations() {
	local kind

	rm -rf "$OUT/register"
	mkdir "$OUT/register"
	cp "$OUT/registrations" "$GUEST_RUN/share/"
	for kind in user kernel; do
		judge_registered "$kind" "$1"
	done
}

measure_registrations() {
	need_krel
	"$TOP/scripts/lib/build.sh"
	build_program cm_bench
	build_program registrations
	boot_counted
	judge_registrations "$REGISTRATIONS"
	guest_kill_all		# other tests check that guests shut down
	tap_end bench
}
