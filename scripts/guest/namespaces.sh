# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# In a guest: pairs of network namespaces, each with a wire and an RDMA device of its own.
#
#   NAME (10.NUMBER.0.1, siw-NAME)  <---veth--->  NAME-c (10.NUMBER.0.2, siw-NAME-c)

# ns_side NAMESPACE ADDRESS VETH: bring an end of a wire up
ns_side() {
	ip link set "$3" netns "$1" name eth0 || return 1
	ip -n "$1" addr add "$2/24" dev eth0 && ip -n "$1" link set eth0 up &&
		ip -n "$1" link set lo up
}

# ns_add NAME NUMBER: both namespaces and the wire, without devices
ns_add() {
	ip netns add "$1" && ip netns add "$1-c" || return 1
	ip link add "v$2" type veth peer name "w$2" || return 1
	ns_side "$1" "10.$2.0.1" "v$2" && ns_side "$1-c" "10.$2.0.2" "w$2"
}

# ns_link NAMESPACE: its device
ns_link() { poll 10 ns_try_link "$1"; }

ns_try_link() {
	ip netns exec "$1" rdma link add "siw-$1" type "$(link_type)" netdev eth0 || return 1
	poll 2 ns_is_up "$1" && return
	rdma link delete "siw-$1"
	return 1
}

ns_is_up() { [[ $(rdma link show "siw-$1/1" 2>/dev/null) == *'state ACTIVE'* ]]; }

# ns_pair NAME NUMBER: all of it
ns_pair() { ns_add "$1" "$2" && ns_link "$1" && ns_link "$1-c"; }

# ns_serve NAME PORT: rping on the wildcard address; returns when it listens
ns_serve() {
	bg_start "rping-$1" "ip netns exec $1 rping -s -P -a 0.0.0.0 -p $2"
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

# ns_ping NAME NUMBER PORT: the client of a pair reaches the pair's own server
ns_ping() {
	local output

	output=$(timeout 30 ip netns exec "$1-c" rping -c -a "10.$2.0.1" -p "$3" -C 3 -V -v 2>&1) || true
	[[ $(grep -c '^ping data: rdma-ping-' <<<"$output") -eq 3 ]] ||
		fail "rping in $1-c: $output"
}

# ns_del NAME: the namespaces go, and with them their wire and their devices
ns_del() {
	ip netns del "$1" && ip netns del "$1-c" && poll 20 ns_device_is_gone "$1"
}

ns_device_is_gone() { [[ ! -e /sys/class/infiniband/siw-$1 ]]; }
