# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="a device works on a VLAN, a MACVLAN, a bridge and a bond"
FAMILIES="4"
WIRES="clean"
LONG=yes
KIT=namespaces

applies() { both_ours && stock_kernel; }

check() {
	inside "$SERVER" "modprobe -a 8021q macvlan bridge bonding
		$(declare -f kinds_arp kinds_wire kinds_try)
		ns_add kinds 20
		kinds_arp
		kinds_try vlan0 21 'link add link eth0 name vlan0 type vlan id 7'
		kinds_try macvlan0 22 'link add link eth0 name macvlan0 type macvlan mode bridge'
		kinds_try br0 23 'link add br0 type bridge' 'link set eth0 master br0'
		kinds_try bond0 24 'link add bond0 type bond mode active-backup miimon 100' \\
			'link set eth0 down' 'link set eth0 master bond0' 'link set eth0 up'
		bg_stop_all; ns_del kinds" 200
}

# An interface below a MACVLAN would answer for its address, and take the connection.
kinds_arp() {
	local side

	for side in kinds kinds-c; do
		ip netns exec "$side" bash -c 'echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore'
	done
}

# kinds_wire NETDEV NUMBER COMMAND...: of ip, in both namespaces; then its addresses
kinds_wire() {
	local netdev=$1 number=$2 side command host=0

	shift 2
	for side in kinds kinds-c; do
		host=$((host + 1))
		for command; do
			# shellcheck disable=SC2086 # words
			ip -n "$side" $command || fail "ip -n $side $command"
		done
		ip -n "$side" addr add "10.$number.0.$host/24" dev "$netdev"
		ip -n "$side" link set "$netdev" up
	done
}

# kinds_try NETDEV NUMBER COMMAND...: data goes by it, both ways. Then the interface goes, and its
# device with it.
kinds_try() {
	local netdev=$1 number=$2 side

	kinds_wire "$@"
	for side in kinds kinds-c; do
		ns_link "$side" "$netdev" || fail "no device on $netdev of $side"
	done
	ns_serve kinds "$((7300 + number))"
	ns_reach kinds-c "10.$number.0.1" "$((7300 + number))"
	bg_stop rping-kinds >/dev/null
	ns_serve kinds-c "$((7400 + number))"
	ns_reach kinds "10.$number.0.2" "$((7400 + number))"
	bg_stop rping-kinds-c >/dev/null
	for side in kinds kinds-c; do
		ip -n "$side" link delete "$netdev"
		poll 20 ns_device_is_gone "$side-$netdev" || fail "the device of $netdev stays"
	done
}
