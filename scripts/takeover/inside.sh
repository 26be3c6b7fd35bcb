# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions in the guest with the device twin0: see scripts/takeover.sh.

# twin_load [PARAMETER...]: the device on eth0, and the namespace in which its hardware is
twin_load() {
	insmod /share/modules/iw_mpa.ko
	insmod /share/modules/iw_mpa_twin.ko "$@"
	rdma link add twin0 type iw_mpa_twin netdev eth0
	[[ -e /run/netns/hw ]] || twin_namespace
}

twin_unload() {
	rdma link delete twin0
	driver_leaves_nothing
	rmmod iw_mpa_twin
	rmmod iw_mpa
}

# The other end of h0 is the hardware's port: it has the addresses of eth0, and knows the peer. What
# it sends leaves by eth0; twin.py says what comes.
twin_namespace() {
	local mac peer=$((3 - ${number:?}))

	mac=$(</sys/class/net/eth0/address)
	modprobe -a sch_plug act_mirred cls_flower sch_ingress
	ip netns add hw
	ip link add h0 type veth peer name h1
	ip link set h1 address "$mac" netns hw
	echo 1 >/proc/sys/net/ipv6/conf/h0/disable_ipv6
	ip link set h0 up
	ip netns exec hw bash -e <<-END
	echo 0 >/proc/sys/net/ipv6/conf/h1/accept_dad
	ip addr add 10.0.0.$number/24 dev h1
	ip addr add fd00::$number/64 dev h1 nodad
	ip link set lo up
	ip link set h1 up
	ip neigh replace 10.0.0.$peer dev h1 lladdr 52:54:00:00:00:0$peer nud permanent
	ip neigh replace fd00::$peer dev h1 lladdr 52:54:00:00:00:0$peer nud permanent
	END
	tc qdisc add dev eth0 clsact
	tc qdisc add dev h0 clsact
	for protocol in ip ipv6; do
		tc filter add dev h0 ingress protocol $protocol flower ip_proto tcp \
			action mirred egress redirect dev eth0
	done
}

# twin_start NAME ARGUMENT...: in the background; returns when it is ready
twin_start() {
	local name=$1

	shift
	bg_start "$name" "python3 -u /share/takeover/twin.py ${*@Q}"
	poll 20 twin_is_ready "$name" || { cat "/run/bg/$name/output"; return 1; }
}

twin_is_ready() { grep -q '^ready' "/run/bg/$1/output"; }
