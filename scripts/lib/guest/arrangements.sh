# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Runs in a guest: arrangements of a host's network interfaces, and for each the RDMA device and the interface that each
# kind of connection has to use.
#
#   host (10.40.N.1, fd40:N::1)  <---wire N: ethN at either end--->  peer (10.40.N.2, fd40:N::2)
#
# Host and peer are network namespaces. The RDMA device of an interface is called r-INTERFACE in the host, p-INTERFACE
# in the peer. An arrangement is a function arrange_NAME, and lines in EXPECTED.
#
# The role of the host is one of these:
#   CA  it connects from its address      LA  it listens at its address
#   CW  it connects without a source      LW  it listens at the wildcard address
#   OA  it listens at its address, and connects to that address from itself
#   OW  it listens at the wildcard address, and connects to its address without a source

KIT_FILE=${BASH_SOURCE[0]}
. "${KIT_FILE%/*}/namespaces.sh"

# Columns: arrangement; role of the host (CA, CW: it connects; LA, LW: it listens; OA, OW: both);
# how rdma_cm finds the device of an address (mac: by the hardware address of the interface, before
# Linux 6.5; ifi: by the interface's index); address family. Then what is expected: the host's RDMA
# device without "r-" (for OA and OW the client's and the server's, if they differ); the interface
# by which TCP's packets leave; and the one by which they arrive, where = is the interface of the
# device. Or "-" and a program's message. All are shell patterns. The first line that matches
# counts; a combination without one is not tested.
EXPECTED='
plain             [CL]? *   * eth0          =         =
plain             O?    *   * eth0          lo        lo
exclusive         [CL]? *   * eth0          =         =
exclusive         O?    *   * eth0          lo        lo
bond              [CL]? *   * bond0         =         =
bond              O?    *   * bond0         lo        lo
bridge            [CL]? *   * br0           =         =
bridge            O?    *   * br0           lo        lo
macvlan           [CL]? *   * macvlan0      =         =
macvlan           O?    *   * macvlan0      lo        lo
link-local        [CL]? *   6 eth1          =         =
link-local        O?    *   6 eth1          lo        lo
link-local-twice  [LO]? *   6 -             refused
link-local-twice  C?    *   6 eth1          =         =

two-nics          CW    *   * eth0          =         =
two-nics          LA    *   * eth1          eth0      eth1
two-nics          [CL]? *   * eth1          =         =
two-nics          O?    *   * eth1          lo        lo
two-nics-arp      CA    *   4 eth1          eth1      eth0
two-nics-metric   CA    *   * eth1          eth0      eth1
two-wires         CA    *   * eth1          =         =
two-wires         O?    *   * eth1          lo        lo
two-nics-rule     CW    *   * -             timed out
two-nics-rule     [CL]? *   * eth1          =         =
two-nics-rule     O?    *   * eth1          lo        lo

vlan-last         LW    *   * eth0.5        =         =
vlan-last         [CL]? *   * eth0          eth0.5    eth0.5
vlan-last         OA    *   * eth0          lo        lo
vlan-last         OW    *   * eth0/eth0.5   lo        lo
vlan-first        [CL]? *   * eth0.5        =         =
vlan-first        O?    *   * eth0.5        lo        lo
vlan-parent       LW    *   * eth0          =         =
vlan-parent       [CL]? *   * eth0.5        eth0      eth0
vlan-parent       OA    *   * eth0.5        lo        lo
vlan-parent       OW    *   * eth0.5/eth0   lo        lo
vlan-alone        [LO]W *   * -             refused
vlan-alone        [CL]? *   * eth0          eth0.5    eth0.5
vlan-alone        OA    *   * eth0          lo        lo

bridge-and-port   LW    *   * br0           =         =
bridge-and-port   [CL]? mac * eth0          br0       br0
bridge-and-port   OW    mac * eth0/br0      lo        lo
bridge-and-port   OA    mac * eth0          lo        lo
bridge-and-port   [CL]? ifi * br0           =         =
bridge-and-port   O?    ifi * br0           lo        lo
bridge-port       [LO]W mac * -             refused
bridge-port       [CL]? mac * eth0          br0       br0
bridge-port       OA    mac * eth0          lo        lo
bridge-port       LW    ifi * -             refused
bridge-port       ??    ifi * -             No such device
bond-port         [LO]W mac * -             refused
bond-port         [CL]? mac * eth0          bond0     bond0
bond-port         OA    mac * eth0          lo        lo
bond-port         LW    ifi * -             refused
bond-port         ??    ifi * -             No such device
passthru          LW    *   * macvlan0      =         =
passthru          [CL]? mac * eth0          macvlan0  macvlan0
passthru          OW    mac * eth0/macvlan0 lo        lo
passthru          OA    mac * eth0          lo        lo
passthru          [CL]? ifi * macvlan0      =         =
passthru          O?    ifi * macvlan0      lo        lo

service           CW    *   * eth0          =         =
service           LW    *   * -             refused
service           [CL]A *   * dummy0        eth0      eth0
service           O?    *   * dummy0        lo        lo
vrrp              CW    *   * eth0          =         =
vrrp              [CL]A *   * vrrp0         eth0      vrrp0
vrrp              O?    *   * vrrp0         lo        lo

vrf*              [CO]W *   * -             unreachable
vrf*              OA    *   * eth0          vrf0      vrf0
vrf-twice         L?    *   * -             refused
vrf-twice         CA    *   * -             timed out
vrf*              [CL]? *   * eth0          vrf0+eth0 vrf0

asymmetric        CW    *   * eth0          =         =
asymmetric        LW    *   6 -             timed out
asymmetric        LW    *   4 eth1          =         =
asymmetric        [CL]A *   * eth1          eth0      eth1
asymmetric        O?    *   * eth1          lo        lo
two-defaults      CA    *   * eth1          =         =
two-defaults      CW    *   4 eth0          =         =
two-defaults      CW    *   6 eth[01]       =         =
multipath         CA    *   * eth1          =         =
multipath         CW    *   * eth[01]       =         =
two-defaults      LA    *   4 eth1          eth0      eth1
two-defaults      LA    *   6 eth1          eth[01]   eth1
two-defaults      LW    *   * eth1          =         =
two-defaults      O?    *   * eth1          lo        lo
multipath         LA    *   * eth1          eth[01]   eth1
multipath         LW    *   * eth1          =         =
multipath         O?    *   * eth1          lo        lo
tunnel-by-*       CA    *   * eth0          wg0       wg0
tunnel-by-*       CW    *   * -             No such device
tunnel-by-*       LA    *   * eth0          wg0       wg0
tunnel-by-*       LW    *   * -             refused
tunnel-by-*       O?    *   * eth0          lo        lo

ipvlan-last       LW    *   * ipvlan0       =         =
ipvlan-last       [CL]? mac * eth0          ipvlan0   ipvlan0
ipvlan-last       OA    mac * eth0          lo        lo
ipvlan-last       OW    mac * eth0/ipvlan0  lo        lo
ipvlan-last       [CL]? ifi * ipvlan0       =         =
ipvlan-last       O?    ifi * ipvlan0       lo        lo
ipvlan-first      [CL]? *   * ipvlan0       =         =
ipvlan-first      O?    *   * ipvlan0       lo        lo
ipvlan-parent     LW    *   * eth0          =         =
ipvlan-parent     [CL]? mac * ipvlan0       eth0      eth0
ipvlan-parent     OA    mac * ipvlan0       lo        lo
ipvlan-parent     OW    mac * ipvlan0/eth0  lo        lo
ipvlan-parent     [CL]? ifi * eth0          =         =
ipvlan-parent     O?    ifi * eth0          lo        lo

tun               ??    mac * -             Operation not supported
tun               [CL]? ifi * tun0          =         =
tun               O?    ifi * tun0          lo        lo
wireguard         ??    mac * -             Operation not supported
wireguard         [CL]? ifi * wg0           =         =
wireguard         O?    ifi * wg0           lo        lo
lo                O?    mac * -             Operation not supported
lo                O?    ifi * lo            =         =
'

# Lines that the kernel's log must have. Columns: arrangement; roles: the line must be there if one
# of these was tested; how rdma_cm finds a device (mac or ifi, as in EXPECTED); and the line. The
# log must have no other line of iw_mpa or srnic that warns about an arrangement.
LOGGED='
vlan-last         *     *   iw_mpa: r-eth0.5: rdma_cm takes r-eth0, which was added before, for the addresses of eth0.5
vlan-first        *     *   iw_mpa: r-eth0: rdma_cm takes r-eth0.5, which was added before, for the addresses of eth0
vlan-parent       *     *   iw_mpa: r-eth0: rdma_cm takes r-eth0.5, which was added before, for the addresses of eth0
vlan-parent       *     *   iw_mpa: p-eth0: rdma_cm takes p-eth0.5, which was added before, for the addresses of eth0
bridge-and-port   *     *   iw_mpa: r-eth0: eth0 is a port of br0, which has the addresses: add a device there
bridge-and-port   *     mac iw_mpa: r-br0: rdma_cm takes r-eth0, which was added before, for the addresses of br0
bridge-port       *     *   iw_mpa: r-eth0: eth0 is a port of br0, which has the addresses: add a device there
bond-port         *     *   iw_mpa: r-eth0: eth0 is a port of bond0, which has the addresses: add a device there
vrf*              *     *   iw_mpa: r-eth0: eth0 is in the VRF vrf0: a program that connects has to choose its source address
vrf-twice         *     *   iw_mpa: r-eth1: eth1 is in the VRF vrf1: a program that connects has to choose its source address
passthru          *     mac iw_mpa: r-macvlan0: rdma_cm takes r-eth0, which was added before, for the addresses of macvlan0
ipvlan-last       *     mac iw_mpa: r-ipvlan0: rdma_cm takes r-eth0, which was added before, for the addresses of ipvlan0
ipvlan-last       C?    mac iw_mpa: r-eth0: is used from another network namespace, in which an interface has the hardware address of eth0
ipvlan-last       LA    mac iw_mpa: r-eth0: is used from another network namespace, in which an interface has the hardware address of eth0
ipvlan-first      *     mac iw_mpa: r-eth0: rdma_cm takes r-ipvlan0, which was added before, for the addresses of eth0
ipvlan-parent     *     mac iw_mpa: r-eth0: rdma_cm takes r-ipvlan0, which was added before, for the addresses of eth0
ipvlan-parent     C?    mac iw_mpa: r-ipvlan0: is used from another network namespace, in which an interface has the hardware address of ipvlan0
ipvlan-parent     LA    mac iw_mpa: r-ipvlan0: is used from another network namespace, in which an interface has the hardware address of ipvlan0
tun               *     mac srnic: tun0 has no hardware address: before Linux 6.5 rdma_cm finds no device there
wireguard         *     mac srnic: wg0 has no hardware address: before Linux 6.5 rdma_cm finds no device there
lo                *     mac srnic: lo has no hardware address: before Linux 6.5 rdma_cm finds no device there
'

# --- set-up ------------------------------------------------------------------------------------

# at NUMBER HOST: print an address on wire NUMBER. net NUMBER: print the wire's network. len, all:
# print the prefix length of such a network, and of a single address.
at() { if [[ $FAMILY == 4 ]]; then echo "10.40.$1.$2"; else echo "fd40:$1::$2"; fi; }
net() { if [[ $FAMILY == 4 ]]; then echo "10.40.$1.0/24"; else echo "fd40:$1::/64"; fi; }
len() { if [[ $FAMILY == 4 ]]; then echo 24; else echo 64; fi; }
all() { if [[ $FAMILY == 4 ]]; then echo 32; else echo 128; fi; }

# ips NAMESPACE COMMAND...: run these commands of ip, in one process
ips() {
	local ns=$1

	shift
	printf '%s\n' "$@" | ip "-$FAMILY" -n "$ns" -batch - || fail "ip -$FAMILY -n $ns: $*"
}

# arr_namespace NAME: make a namespace that answers ARP for an address only by the interface that has it, and does not
# detect duplicate addresses, which would take time.
arr_namespace() {
	ip netns add "$1"
	ip netns exec "$1" bash -c 'echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
		cd /proc/sys/net/ipv4/conf/all && echo 1 >arp_ignore && echo 2 >arp_announce
		echo 5000 >/proc/sys/net/iw_mpa/connect_timeout_ms'
	ips "$1" 'link set lo up'
}

# arr_begin WIRES: make the namespaces host and peer, and this number of wires between them, without
# addresses. Arrangements may change the variables that are set here.
arr_begin() {
	local number

	HOST=host		# the namespace whose devices are tested
	SOURCE_IP=-		# source address of the peer's connections; -: chosen by the routes
	PEER_AT=		# address at which the peer listens; empty: the wildcard
	TIMES=1			# how often each role is tested
	EXCLUSIVE=		# yes: a namespace only shows its own devices
	COUNTED=		# expression of nft for the packets to count as they leave; empty: all of TCP
	LINK_FAILURE=		# error message of rdma link add; empty: none
	arr_namespace host
	arr_namespace peer
	for ((number = 0; number < $1; number++)); do
		ip -n host link add "eth$number" type veth peer name "eth$number" netns peer
		ips host "link set eth$number up"
		ips peer "link set eth$number up"
	done
}

# arr_address NUMBER [HOST-INTERFACE [PEER-INTERFACE]]: give a wire its addresses. The test uses those of the last call.
arr_address() {
	HOST_IP=$(at "$1" 1)
	PEER_IP=$(at "$1" 2)
	ips host "address add $HOST_IP/$(len) dev ${2:-eth$1}"
	ips peer "address add $PEER_IP/$(len) dev ${3:-eth$1}"
}

# arr_link r|p NAMESPACE INTERFACE...: add RDMA devices on these interfaces, in this order, with
# names that begin with r- or p-; if one is refused, set LINK_FAILURE, and add no more
arr_link() {
	local prefix=$1 ns=$2 netdev

	shift 2
	for netdev; do
		LINK_FAILURE=$(ip netns exec "$ns" rdma link add "$prefix-$netdev" type "$(link_type)" \
			netdev "$netdev" 2>&1) || return 0
		poll 10 ns_is_up "$prefix-$netdev" || fail "$prefix-$netdev does not come up"
	done
}

arr_end() {
	local ns

	bg_stop_all
	for ns in $(ip netns list | cut -d ' ' -f 1); do
		ip netns del "$ns"
	done
	poll 20 arr_is_gone || fail "devices stay: $(rdma link)"
	[[ -z ${EXCLUSIVE:-} ]] || rdma system set netns shared
}

arr_is_gone() { ! rdma link show | grep -q '^link [rp]-'; }

arrange_plain() {
	arr_begin 1
	arr_address 0
	arr_link r host eth0
	arr_link p peer eth0
}

# In the RDMA core's mode "exclusive" each network namespace has its own devices. The mode can only be changed while no
# other namespace exists.
arrange_exclusive() {
	rdma system set netns exclusive
	arrange_plain
	EXCLUSIVE=yes
	rdma dev set r-eth0 netns host
	rdma dev set p-eth0 netns peer
}

# arr_upper INTERFACE COMMAND...: make INTERFACE in the host by these commands of ip. INTERFACE, in
# place of eth0, gets the host's address on wire 0.
arr_upper() {
	arr_begin 1
	ips host "${@:2}" "link set $1 up"
	arr_address 0 "$1"
	arr_link p peer eth0
}

arr_bond() {
	arr_upper bond0 'link add bond0 type bond mode active-backup miimon 100' 'link set eth0 down' \
		'link set eth0 master bond0' 'link set eth0 up'
	arr_link r host "$@"
}

arrange_bond() { arr_bond bond0; }
arrange_bond-port() { arr_bond eth0; }

arr_bridge() {
	arr_upper br0 'link add br0 type bridge' 'link set eth0 master br0'
	arr_link r host "$@"
}

arrange_bridge() { arr_bridge br0; }
arrange_bridge-port() { arr_bridge eth0; }
arrange_bridge-and-port() { arr_bridge eth0 br0; }

arr_macvlan() {
	arr_upper macvlan0 "link add link eth0 name macvlan0 type macvlan mode $1"
	arr_link r host "${@:2}"
}

arrange_macvlan() { arr_macvlan bridge macvlan0; }
arrange_passthru() { arr_macvlan passthru eth0 macvlan0; }

# Link-local addresses of the second of two wires: the scope of an address has to say which interface is meant.
arrange_link-local() {
	arr_begin 2
	arr_address 0
	HOST_IP=fe80::1%eth1
	PEER_IP=fe80::2%eth1
	ips host 'address add fe80::1/64 dev eth1'
	ips peer 'address add fe80::2/64 dev eth1'
	arr_link r host eth0 eth1
	arr_link p peer eth1
}

# Both interfaces of the host have the same address. When a connection arrives, rdma_cm has the
# address without its scope, and takes the first interface.
arrange_link-local-twice() {
	arrange_link-local
	ips host 'address add fe80::1/64 dev eth0'
}

# The host has two interfaces in one network; the test uses the address of the second one.
arrange_two-nics() {
	arr_begin 2
	ips peer 'link add br0 type bridge' 'link set eth0 master br0' 'link set eth1 master br0' \
		'link set br0 up'
	arr_address 0 eth0 br0
	HOST_IP=$(at 0 3)
	ips host "address add $HOST_IP/$(len) dev eth1"
	arr_link r host eth0 eth1
	arr_link p peer br0
}

# Two wires with addresses of one network; only the second wire leads to the peer.
arrange_two-wires() {
	arr_begin 2
	arr_address 0
	HOST_IP=$(at 0 3)
	PEER_IP=$(at 0 4)
	ips host "address add $HOST_IP/$(len) dev eth1"
	ips peer "address add $PEER_IP/$(len) dev eth1"
	arr_link r host eth0 eth1
	arr_link p peer eth1
}

# The peer sends packets for the second interface's address to the first one's hardware address. When the SYN-ACK
# arrives, connect() has not returned, and the socket is still bound to the second interface: so the host answers the
# SYN-ACK by a reset, which uses the host's routes. When TCP sends the SYN again, connect() has returned, and the socket
# accepts packets of any interface.
arrange_two-nics-arp() {
	arrange_two-nics
	COUNTED='tcp flags & rst == 0'
	ips peer "neighbour replace $HOST_IP dev br0 nud permanent \
		lladdr $(ip netns exec host cat /sys/class/net/eth0/address)"
}

# The routes by the two interfaces have different metrics, as some network managers configure them.
arrange_two-nics-metric() {
	arrange_two-nics
	ips host "route del $(net 0) dev eth0" "route del $(net 0) dev eth1" \
		"route add $(net 0) dev eth0 metric 100" "route add $(net 0) dev eth1 metric 101"
}

# A routing rule for the source address selects the second interface, and the wire of the first one leads nowhere.
arrange_two-nics-rule() {
	arrange_two-nics
	ips host "rule add from $HOST_IP lookup 100" "route add $(net 0) dev eth1 table 100"
	ip netns exec peer bridge link set dev eth0 state 0
}

# arr_vlan INTERFACE...: these interfaces of the host get RDMA devices; the test uses addresses of a VLAN on wire 0.
arr_vlan() {
	local ns

	arr_begin 1
	arr_address 0
	for ns in host peer; do
		ips "$ns" 'link add link eth0 name eth0.5 type vlan id 5' 'link set eth0.5 up'
	done
	arr_address 5 eth0.5 eth0.5
	arr_link r host "$@"
	arr_link p peer eth0.5
}

arrange_vlan-last() { arr_vlan eth0 eth0.5; }
arrange_vlan-first() { arr_vlan eth0.5 eth0; }
arrange_vlan-alone() { arr_vlan eth0; }

arrange_vlan-parent() {
	arr_vlan eth0.5 eth0
	HOST_IP=$(at 0 1)
	PEER_IP=$(at 0 2)
	arr_link p peer eth0
}

# arr_service INTERFACE HARDWARE-ADDRESS|- TYPE...: make INTERFACE in the host by "ip link add" with
# this TYPE, and, unless -, with this HARDWARE-ADDRESS and on eth0. INTERFACE gets an IP address
# outside the networks of the wires; eth0 and INTERFACE get RDMA devices.
arr_service() {
	local address=''

	arr_begin 1
	arr_address 0
	[[ $2 == - ]] || address="address $2 link eth0"
	HOST_IP=$(at 9 1)
	ips host "link add name $1 $address type ${*:3}" "link set $1 up" \
		"address add $HOST_IP/$(all) dev $1"
	arr_link r host eth0 "$1"
	arr_link p peer eth0
}

arrange_service() {
	arr_service dummy0 - dummy
	ips peer "route add $HOST_IP/$(all) via $(at 0 1)"
}

# As with VRRP, the interface with the service's address has its own hardware address, which is not eth0's.
arrange_vrrp() {
	arr_service vrrp0 00:00:5e:00:01:07 macvlan mode bridge
	ips peer "route add $HOST_IP/$(all) dev eth0"
}

arrange_vrf() {
	arr_begin 1
	ips host 'link add vrf0 type vrf table 100' 'link set vrf0 up' 'link set eth0 master vrf0'
	arr_address 0
	arr_link r host eth0
	arr_link p peer eth0
}

arrange_vrf-accept() {
	arrange_vrf
	ip netns exec host bash -c 'echo 1 >/proc/sys/net/ipv4/tcp_l3mdev_accept'
}

# Two VRFs have the same address. rdma_cm only finds that of vrf0, and the peer connects to that of vrf1.
arrange_vrf-twice() {
	arr_begin 2
	ips host 'link add vrf0 type vrf table 100' 'link set vrf0 up' 'link set eth0 master vrf0' \
		'link add vrf1 type vrf table 101' 'link set vrf1 up' 'link set eth1 master vrf1'
	arr_address 0 eth1 eth1
	ips host "address add $HOST_IP/$(len) dev eth0"
	arr_link r host eth0 eth1
	arr_link p peer eth1
}

# arr_two_ways COMMAND...: two wires lead to an address of the peer; these commands of ip set the host's routes to it.
# The peer's packets return by the second wire, to whose network the host's address belongs.
arr_two_ways() {
	local ns

	arr_begin 2
	arr_address 0
	arr_address 1
	PEER_IP=$(at 9 2)
	PEER_AT=$PEER_IP
	SOURCE_IP=$PEER_IP
	ips peer "address add $PEER_IP/$(all) dev eth0"
	ips host "$@"
	# rdma_cm sends ARP requests by the wire of the source address, so an interface has to
	# answer for addresses of the other interfaces of its namespace.
	for ns in host peer; do
		ip netns exec "$ns" bash -c 'echo 0 >/proc/sys/net/ipv4/conf/all/arp_ignore'
	done
	arr_link r host eth0 eth1
	arr_link p peer eth0
}

arrange_asymmetric() { arr_two_ways "route add $(at 9 2)/$(all) via $(at 0 2)"; }

arrange_two-defaults() {
	arr_two_ways "route append default via $(at 0 2) dev eth0 metric 7" \
		"route append default via $(at 1 2) dev eth1 metric 7"
}

arrange_multipath() {
	arr_two_ways "route add $(at 9 2)/$(all) \
		nexthop via $(at 0 2) dev eth0 nexthop via $(at 1 2) dev eth1"
	ip netns exec host bash -c "echo 1 | tee /proc/sys/net/ipv[46]/fib_multipath_hash_policy"
	TIMES=6
}

# Make a WireGuard tunnel, wg0 at both ends, over wire 0.
arr_wireguard() {
	local ns number=0

	modprobe wireguard
	for ns in host peer; do
		number=$((number + 1))
		wg genkey | tee "/run/$ns.key" | wg pubkey >"/run/$ns.pub"
		ip -n "$ns" address add "10.40.7.$number/24" dev eth0
		ip -n "$ns" link add wg0 type wireguard
	done
	ip netns exec host wg set wg0 listen-port 51820 private-key /run/host.key \
		peer "$(</run/peer.pub)" allowed-ips 0.0.0.0/0,::/0 endpoint 10.40.7.2:51820
	ip netns exec peer wg set wg0 listen-port 51820 private-key /run/peer.key \
		peer "$(</run/host.pub)" allowed-ips 0.0.0.0/0,::/0 endpoint 10.40.7.1:51820
	ips host 'link set wg0 up'
	ips peer 'link set wg0 up'
}

arrange_wireguard() {
	arr_begin 1
	arr_wireguard
	arr_address 6 wg0 wg0
	arr_link p peer wg0
	arr_link r host wg0
}

# arr_tunnel COMMAND...: with these commands of ip, packets from the host's eth0 to PEER_IP go into the tunnel, although
# another route leads to PEER_IP by eth0.
arr_tunnel() {
	arr_begin 1
	arr_address 0
	arr_wireguard
	PEER_IP=$(at 9 2)
	PEER_AT=$PEER_IP
	SOURCE_IP=$PEER_IP
	ips peer "address add $PEER_IP/$(all) dev eth0" "route add $HOST_IP/$(all) dev wg0"
	ips host "$@"
	arr_link r host eth0
	arr_link p peer eth0
}

arrange_tunnel-by-prefix() {
	arr_tunnel "route add default via $(at 0 2)" "route add $(at 9 2)/$(all) dev wg0"
}

arrange_tunnel-by-rule() {
	arr_tunnel "route add default via $(at 0 2)" 'route add default dev wg0 table 100' \
		"rule add to $(at 9 2) lookup 100"
}

arrange_tunnel-by-metric() {
	arr_tunnel "route add default via $(at 0 2) metric 100" 'route add default dev wg0 metric 50'
}

# arr_ipvlan child|host child|host: make a namespace "child", like a container's, whose IPVLAN interface has the
# hardware address of eth0, its parent in the host. The arguments say in which order the two interfaces get RDMA
# devices.
arr_ipvlan() {
	local ns

	arr_begin 1
	arr_address 0
	arr_namespace child
	ip -n host link add link eth0 name ipvlan0 type ipvlan mode l2
	ip -n host link set ipvlan0 netns child
	ips child "address add $(at 0 3)/$(len) dev ipvlan0" 'link set ipvlan0 up'
	for ns; do
		arr_link r "$ns" "$([[ $ns == host ]] && echo eth0 || echo ipvlan0)"
	done
	arr_link p peer eth0
}

arrange_ipvlan-last() {
	arr_ipvlan host child
	HOST=child
	HOST_IP=$(at 0 3)
}

arrange_ipvlan-first() {
	arr_ipvlan child host
	HOST=child
	HOST_IP=$(at 0 3)
}

arrange_ipvlan-parent() { arr_ipvlan child host; }

# A program passes packets between tun0 at both ends, as that of a VPN does. bg_stop_all leaves it alone until arr_end.
arrange_tun() {
	arr_begin 0
	modprobe tun
	[[ -c /dev/net/tun ]] || { mkdir -p /dev/net && mknod /dev/net/tun c 10 200; }
	bg_start tun "exec python3 ${KIT_FILE%/*}/tun.py host peer"
	poll 20 tun_is_there || fail "no tun0: $(</run/bg/tun/output)"
	ips host 'link set tun0 up'
	ips peer 'link set tun0 up'
	arr_address 6 tun0 tun0
	arr_link p peer tun0
	arr_link r host tun0
}

tun_is_there() { ip -n host link show tun0 && ip -n peer link show tun0; } >/dev/null 2>&1

arrange_lo() {
	arr_begin 0
	HOST_IP=$(at 9 1)
	ips host "address add $HOST_IP/$(all) dev lo"
	arr_link r host lo
}

# wire_shows PORT: is what the programs send visible on wire 0? They send blocks of 16,384 equal letters.
wire_shows() {
	bg_start capture "exec ip netns exec host dumpcap -q -i eth0 -w /run/capture.pcapng"
	poll 60 capture_runs || fail "dumpcap does not start: $(</run/bg/capture/output)"
	try CA "$1"
	[[ $GOT != '- '* ]] || fail "$GOT"
	capture_stop "wire-$1.pcapng"
	bg_stop_all
	grep -qaE '(a{64}|p{64})' /run/capture.pcapng
}

# WireGuard hides data from the wire, as srnic.rst promises; without WireGuard the wire shows it.
after_wireguard() {
	[[ -z $LINK_FAILURE ]] || return 0
	! wire_shows "$1" || fail 'the wire shows what goes by WireGuard'
	arr_address 0
	arr_link r host eth0
	arr_link p peer eth0
	wire_shows $(($1 + 1)) || fail 'the wire does not show what goes by the card'
}

# --- test --------------------------------------------------------------------------------------

# expected ARRANGEMENT ROLE: set WANT to what EXPECTED has for them, the last three columns, or to nothing
expected() {
	local arrangement role finds family rest

	WANT=
	while read -r arrangement role finds family rest; do
		# shellcheck disable=SC2053 # patterns
		if [[ -n $arrangement && $1 == $arrangement && $2 == $role && $FINDS == $finds &&
			$FAMILY == $family ]]; then
			WANT=$rest
			return
		fi
	done <<<"$EXPECTED"
}

# count_start PORT: from now on two nft sets of the host record which of the 40 ports from PORT on
# are used, with the interfaces by which TCP's packets leave and arrive. A program that captures
# packets would take long to start on an emulated processor.
count_start() {
	ip netns exec "$HOST" nft -f - <<-END
		table inet way {
			set out { type inet_service . ifname; size 999; flags dynamic; }
			set in { type inet_service . ifname; size 999; flags dynamic; }
			chain o {
				type filter hook output priority 0
				$COUNTED tcp dport $1-$(($1 + 39)) add @out { tcp dport . oifname }
				$COUNTED tcp sport $1-$(($1 + 39)) add @out { tcp sport . oifname }
			}
			chain i {
				type filter hook input priority 0
				tcp dport $1-$(($1 + 39)) add @in { tcp dport . iifname }
				tcp sport $1-$(($1 + 39)) add @in { tcp sport . iifname }
			}
		}
	END
}

# counted PORT: set OUT and IN to the interfaces by which packets of PORT left and arrived, with "+" between several
counted() {
	local rest lines words set

	OUT=''
	IN=''
	lines=$(ip netns exec "$HOST" nft list table inet way)
	while read -r -a words; do
		[[ ${words[0]:-} != set ]] || set=${words[1]}
		rest="${words[*]}, "
		while [[ $rest =~ ([0-9]+)\ \.\ \"([^\"]+)\"(.*) ]]; do
			rest=${BASH_REMATCH[3]}
			[[ ${BASH_REMATCH[1]} == "$1" ]] || continue
			if [[ $set == out ]]; then OUT+="+${BASH_REMATCH[2]}"; else IN+="+${BASH_REMATCH[2]}"; fi
		done
	done <<<"$lines"
	OUT=${OUT#+} IN=${IN#+}
}

# use_devices DEVICE DEVICE: fail unless these two devices, and no others, have the connections of the two programs
use_devices() {
	local what line ns lines want

	for what in qp cm_id; do
		want=("$@")
		for ns in "$HOST" ${EXCLUSIVE:+peer}; do
			lines=$(ip netns exec "$ns" rdma resource show "$what")
			while IFS= read -r line; do
				[[ $line == *' comm place '* && $line =~ ^link\ ([^/]+)/.*state\ (RTS|CONNECT)\  ]] ||
					continue
				case ${BASH_REMATCH[1]} in
				"${want[0]:-}") want=("${want[@]:1}") ;;
				"${want[1]:-}") want=("${want[0]}") ;;
				*) fail "rdma resource: $line" || return ;;
				esac
			done <<<"$lines"
		done
		[[ ${#want[@]} -eq 0 ]] || fail "rdma resource show $what does not show ${want[*]}" || return
	done
}

# said PROGRAM up|failed:|listens: find a line of the program's output that begins with this word, and set SAID to the
# rest of the line
said() {
	local line

	SAID=
	while read -r line; do
		[[ $line == "$2"* ]] || continue
		SAID=${line#"$2"}
		SAID=${SAID# }
		return 0
	done 2>/dev/null <"/run/bg/$1/output"
	return 1
}

# has_said PROGRAM WORD: has the program printed WORD, or that it failed?
has_said() { said "$1" "$2" || said "$1" failed:; }

# try ROLE PORT: connect in this role, and set GOT to what happened, in the form of the last three columns of EXPECTED
try() {
	local role=$1 port=$2 any=0.0.0.0 server=$HOST client=$HOST at=$HOST_IP from=- to=$HOST_IP

	[[ $FAMILY == 4 ]] || any=::
	[[ $role != ?W ]] || at=$any
	case $role in
	C?) server=peer at=${PEER_AT:-$any} to=$PEER_IP ;;
	L?) client=peer from=$SOURCE_IP ;;
	esac
	[[ $role != [CO]A ]] || from=$HOST_IP
	GOT="- $LINK_FAILURE"
	[[ -z $LINK_FAILURE ]] || return 0
	bg_start server "exec ip netns exec $server /share/place listen $at $port"
	poll 20 has_said server listens || fail 'the server does not listen'
	GOT="- $SAID"
	! said server failed: || return 0
	bg_start client "exec ip netns exec $client /share/place connect $from $to $port"
	poll 40 has_said client up || fail "the client says nothing; the server: $(</run/bg/server/output)"
	GOT="- $SAID"
	! said client failed: || return 0
	poll 10 has_said server up
	said server up || fail "the server says: $(</run/bg/server/output)"
	try_what_is_up "$role" "$port"
}

# try_what_is_up ROLE PORT: the end of try when the connection is up, and both programs have printed their devices
try_what_is_up() {
	local client server host

	said client up
	client=$SAID
	said server up
	server=$SAID
	use_devices "$client" "$server"
	case $1 in
	C?) host=$client ;;
	L?) host=$server ;;
	O?) host=$client && [[ $client == "$server" ]] || host=$client/$server ;;
	esac
	counted "$2"
	GOT="${host//r-/} ${OUT:-none} ${IN:-none}"
}

# as_expected: does GOT match WANT?
as_expected() {
	local device out in got

	read -r device out in <<<"$WANT"
	if [[ $device == - ]]; then
		[[ $GOT == "- "*"$out${in:+ $in}"* ]]
		return
	fi
	read -r got _ <<<"$GOT"
	[[ $out != = ]] || out=$got
	[[ $in != = ]] || in=$got
	# shellcheck disable=SC2053 # patterns
	[[ $GOT == $device' '$out' '$in ]]
}

# arr_try ARRANGEMENT PORT ROLE...: test these roles, each TIMES times, with ports from PORT on
arr_try() {
	local arrangement=$1 port=$2 role status=0 i

	shift 2
	for role; do
		expected "$arrangement" "$role"
		for ((i = 0; i < TIMES; i++)); do
			try "$role" "$port"
			port=$((port + 1))
			bg_stop_all tun
			as_expected || break
		done
		if as_expected; then
			echo "result: $arrangement $role $(uname -r) IPv$FAMILY: $GOT"
		else
			echo "FAILED: $arrangement $role $(uname -r) IPv$FAMILY: $GOT, expected: $WANT"
			cat /run/bg/{client,server}/output
			status=1
		fi
	done
	return "$status"
}

# log_start: mark the place in the kernel's log where the lines of this arrangement begin
log_start() {
	LOG_MARK="arrangement $RANDOM$RANDOM"
	echo "$LOG_MARK" >/dev/kmsg
}

# logged ARRANGEMENT ROLE...: does the log have the expected lines, and no others of this kind?
logged() {
	local arrangement roles finds text awaited='' have line role

	while read -r arrangement roles finds text; do
		for role in "${@:2}"; do
			# shellcheck disable=SC2053 # patterns
			[[ $1 == $arrangement && $role == $roles && $FINDS == $finds ]] || continue
			awaited+=$text$'\n'
			break
		done
	done <<<"$LOGGED"
	have=$(dmesg |
		sed -n "1,/$LOG_MARK/d; s/.*\(iw_mpa: [rp]-.*\(rdma_cm takes\|is used\|is a port\|is in the VRF\)\)/\1/p
		s/.*\(srnic: .* has no hardware address\)/\1/p")
	while IFS= read -r line; do
		[[ $awaited == *"$line"* ]] || fail "the log has: $line"
	done <<<"$have"
	while IFS= read -r line; do
		[[ $have == *"$line"* ]] || fail "the log does not have: $line"
	done <<<"$awaited"
}

# arr_sample FIRST STEP PORT ARRANGEMENT[/FAMILY]...: of these arrangements test every STEP-th, from number FIRST on,
# each in one role and with one address family, which alternate
arr_sample() {
	local number=$1 step=$2 port=$3 family
	local -a all

	all=("${@:4}")
	for ((; number < ${#all[@]}; number += step)); do
		family=$((number / step % 2 ? 6 : 4))
		[[ ${all[number]} != */* ]] || family=${all[number]#*/}
		arr_run "${all[number]%/*}" "$family" "$((port + 40 * number))" "$number"
	done
}

# arr_run ARRANGEMENT FAMILY PORT all|NUMBER: test an arrangement in all roles that EXPECTED has for it, or only in one
# of them, which NUMBER selects
arr_run() {
	local role
	local -a roles=()

	FAMILY=$2
	FINDS=ifi
	[[ $(uname -r) != 6.[0-4].* ]] || FINDS=mac
	for role in CA CW LA LW OA OW; do
		expected "$1" "$role"
		[[ -z $WANT ]] || roles+=("$role")
	done
	[[ ${#roles[@]} -gt 0 ]] || fail "nothing is expected of $1"
	[[ $4 == all ]] || roles=("${roles[$4 % ${#roles[@]}]}")
	at_clean_up ". $KIT_FILE; EXCLUSIVE=yes arr_end"
	log_start
	"arrange_$1"
	count_start "$3"
	arr_try "$1" "$3" "${roles[@]}"
	logged "$1" "${roles[@]}"
	! declare -F "after_$1" >/dev/null || "after_$1" "$(($3 + 30))"
	arr_end
}
