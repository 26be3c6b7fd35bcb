# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2153
DESCRIPTION="connections of each kind go by the device and the interface that they should"
WIRES="clean"
KIT=arrangements

# Names of arrangements of a host's interfaces; /4 and /6: only for this address family.
# scripts/lib/guest/arrangements.sh explains them.
ALL="plain exclusive bond bridge macvlan link-local/6 link-local-twice/6
	two-nics two-wires two-nics-arp/4 two-nics-metric two-nics-rule
	vlan-last vlan-first vlan-parent vlan-alone
	bridge-and-port bridge-port bond-port passthru
	service vrrp vrf vrf-accept vrf-twice
	asymmetric two-defaults multipath tunnel-by-prefix tunnel-by-rule tunnel-by-metric
	ipvlan-last ipvlan-first ipvlan-parent tun wireguard lo"

# Kernels with detectors lack the modules that the other arrangements need.
stock_kernel || ALL="plain link-local/6 two-wires asymmetric"

# A sample has one case for all arrangements, and tests each in one role, on one of the two kernels.
VARIANTS=$ALL
[[ ${SAMPLE:-no} == no ]] || VARIANTS=-

applies() { [[ $CLIENT_DRIVER == srnic ]] && both_ours; }

check() {
	need_program place
	# Each case uses several ports, which no other case may use.
	PORT=$(((PORT - 7000) * 40 + 10000))
	if [[ $VARIANTS == - ]]; then
		in_both check_half
	else
		in_both check_variant
	fi
}

check_half() {
	# shellcheck disable=SC2086 # words
	inside "$1" "arr_sample $([[ $1 == "$CLIENT" ]] && echo 0 || echo 1) 2 $PORT ${ALL//$'\n'/ }" 1200
}

check_variant() { inside "$1" "arr_run $VARIANT $FAMILY $PORT all" 300; }
