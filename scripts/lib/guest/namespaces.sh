# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# In a guest: pairs of network namespaces, each with a wire and an RDMA device of its own.
#
#   NAME (10.NUMBER.0.1, siw-NAME)  <---veth--->  NAME-c (10.NUMBER.0.2, siw-NAME-c)
#
# The addresses of IPv6 are fd00:NUMBER::1 and fd00:NUMBER::2.

# ns_side NAMESPACE NUMBER HOST VETH NETDEV: move one end of a wire into NAMESPACE, and set it up as NETDEV
ns_side() {
	ip link set "$4" netns "$1" name "$5" || return 1
	ip -n "$1" addr add "10.$2.0.$3/24" dev "$5" &&
		ip -n "$1" addr add "fd00:$2::$3/64" dev "$5" nodad &&
		ip -n "$1" link set "$5" up && ip -n "$1" link set lo up
}

# ns_wire NAME NUMBER NETDEV: connect both namespaces by a wire
ns_wire() {
	ip link add "v$2" type veth peer name "w$2" || return 1
	ns_side "$1" "$2" 1 "v$2" "$3" && ns_side "$1-c" "$2" 2 "w$2" "$3"
}

# ns_add NAME NUMBER: make both namespaces and the wire, without devices
ns_add() {
	ip netns add "$1" && ip netns add "$1-c" || return 1
	ns_wire "$1" "$2" eth0
}

# ns_link NAMESPACE [NETDEV]: add the device siw-NAMESPACE; with a NETDEV siw-NAMESPACE-NETDEV
ns_link() { poll 10 ns_try_link "$1" "${2:-eth0}" "siw-$1${2:+-$2}"; }

ns_try_link() {
	ip netns exec "$1" rdma link add "$3" type "$(link_type)" netdev "$2" || return 1
	poll 2 ns_is_up "$3" && return
	rdma link delete "$3"
	return 1
}

ns_is_up() { [[ $(rdma link show "$1/1" 2>/dev/null) == *'state ACTIVE'* ]]; }

# ns_pair NAME NUMBER: make namespaces, wire and devices
ns_pair() { ns_add "$1" "$2" && ns_link "$1" && ns_link "$1-c"; }

# ns_serve NAME PORT [ADDRESS]: start rping, by default at the wildcard address; return when it listens
ns_serve() {
	bg_start "rping-$1" "ip netns exec $1 rping -s -P -a ${3:-0.0.0.0} -p $2"
	poll 20 ns_listens "$1" || fail "rping does not listen in $1: $(cat "/run/bg/rping-$1/output")"
}

ns_listens() {
	local pid ids

	ids=$(rdma resource show cm_id)
	for pid in $(ip netns pids "$1"); do
		! grep -q "state LISTEN .*pid $pid comm rping" <<<"$ids" || return 0
	done
	return 1
}

# ns_rping NAMESPACE ADDRESS PORT: run a client there
ns_rping() { timeout 30 ip netns exec "$1" rping -c -a "$2" -p "$3" -C 3 -V -v 2>&1; }

# ns_reach NAMESPACE ADDRESS PORT: a client there has to reach the server at that address
ns_reach() {
	local output

	output=$(ns_rping "$@") || true
	[[ $(grep -c '^ping data: rdma-ping-' <<<"$output") -eq 3 ]] ||
		fail "rping in $1 to $2: $output"
}

# ns_refused NAMESPACE ADDRESS PORT ERROR: the server has to reject a client there with ERROR
ns_refused() {
	local output

	if output=$(ns_rping "$@") || [[ $output != *"RDMA_CM_EVENT_REJECTED, error $4"* ]]; then
		fail "rping in $1 to $2 was not refused: $output"
	fi
}

# ns_ping NAME NUMBER PORT: the client of a pair has to reach the pair's server
ns_ping() { ns_reach "$1-c" "10.$2.0.1" "$3"; }

# ns_copy NAME NAMESPACE NUMBER: make a namespace NAME, whose interface has the same IP address,
# 10.NUMBER.0.1, and hardware address as NAMESPACE's
ns_copy() {
	local mac

	mac=$(ip netns exec "$2" cat /sys/class/net/eth0/address) || return 1
	ip netns add "$1" && ip -n "$1" link add eth0 address "$mac" type dummy || return 1
	ip -n "$1" addr add "10.$3.0.1/24" dev eth0 && ip -n "$1" link set eth0 up
}

# ns_count DEVICE COUNTER: print a counter of the device
ns_count() { rdma statistic show link "$1/1" | grep -o " $2 [0-9]*" | grep -o '[0-9]*$'; }

# ns_del NAME: delete both namespaces, and with them their wire and their devices
ns_del() {
	ip netns del "$1" && ip netns del "$1-c" && poll 20 ns_device_is_gone "$1"
}

ns_device_is_gone() { [[ ! -e /sys/class/infiniband/siw-$1 ]]; }
