# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions in the guest with the device twin0: see scripts/test/takeover.sh.

# twin_load [PARAMETER...]: add the device on eth0, and the namespace of its hardware
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

# Make the network namespace "hw": its TCP is the hardware of the device twin0. Its interface is h1,
# the other end of h0: h1 has eth0's addresses, and a static neighbour entry for the peer. Packets
# from h1 leave by eth0; twin.py chooses which packets h1 receives.
twin_namespace() {
	local mac peer=$((3 - ${number:?}))

	mac=$(</sys/class/net/eth0/address)
	modprobe -a sch_plug act_mirred cls_flower sch_ingress nf_tables
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

# twin_start NAME ARGUMENT...: start twin.py in the background, and wait until it is ready
twin_start() { job_start "$1" python3 -u /share/takeover/twin.py "${@:2}"; }

# job_start NAME COMMAND...: start a background job, and wait until it prints "ready"
job_start() {
	local name=$1

	shift
	bg_start "$name" "${*@Q}"
	poll 40 job_is_ready "$name" || { cat "/run/bg/$name/output"; return 1; }
}

job_is_ready() { grep -q '^ready' "/run/bg/$1/output"; }

# rping_left REMOTE PORT: run a client that asks for 1000 rounds; its server ends the connection after 3
rping_left() {
	rping -c -a "$1" -p "$2" -C 1000 -v -V >/run/rping.out || true
	cat /run/rping.out
	[[ $(grep -c '^ping data' /run/rping.out) == 3 ]]
}

# stamps_us 1|0: have the next connections use TCP time stamps in microseconds (1), or not (0)
stamps_us() { /share/takeover/route_feature.py $(($1 * 16)) "10.0.0.${number:?}"; }

# stamps_of_the_clock 1 | 0: 1: TCP's time stamps have no offset, so a new connection's are not below those of the
# previous one, which peer.py has restored. 0: each pair of addresses has its own offset.
stamps_of_the_clock() { echo $(($1 + 1)) >/proc/sys/net/ipv4/tcp_timestamps; }

# --- the window of this host --------------------------------------------------------------

# Sockets that listen from now on have buffers for only a few packets.
memory_scarce() {
	cat /proc/sys/net/ipv4/tcp_rmem >/run/tcp_rmem
	echo 4096 8192 8192 >/proc/sys/net/ipv4/tcp_rmem
}

memory_restore() { cat /run/tcp_rmem >/proc/sys/net/ipv4/tcp_rmem; }

# --- the window of the peer ---------------------------------------------------------------

REQUEST_OCTETS=24

# windows_shut PORT: change the windows that the server at PORT announces: in its SYN-ACK to the
# size of the Request, later to 0, until the datagram "open" arrives. So the window's right edge
# never moves back, which would be a fault of the peer.
windows_shut() {
	local match="protocol ip flower ip_proto tcp src_port $1" change='action pedit munge offset 34 u16 set'

	modprobe -a act_pedit act_csum cls_flower sch_ingress
	tc qdisc add dev eth0 clsact
	# shellcheck disable=SC2086 # words
	tc filter add dev eth0 egress pref 7 $match tcp_flags 0x12/0x12 \
		$change $REQUEST_OCTETS pipe action csum tcp
	# shellcheck disable=SC2086
	tc filter add dev eth0 egress pref 8 $match $change 0 pipe action csum tcp
	job_start told python3 -u /share/takeover/peer.py until open 'tc qdisc del dev eth0 clsact'
}

windows_open() {
	bg_stop told >/dev/null
	tc qdisc del dev eth0 clsact 2>/dev/null || true
}

# --- the link-layer address of the peer ---------------------------------------------------

address_notify() {
	echo "$1" >/proc/sys/net/ipv4/conf/eth0/arp_notify
	echo "$1" >/proc/sys/net/ipv6/conf/eth0/ndisc_notify
}

# When the datagram "move" arrives, eth0 gets another address, and announces it to all hosts.
address_will_change() {
	cat /sys/class/net/eth0/address >/run/lladdr
	address_notify 1
	job_start told python3 -u /share/takeover/peer.py until move \
		"ip link set eth0 address 52:54:00:00:01:0${number:?}"
}

address_restore() {
	bg_stop told >/dev/null
	ip link set eth0 address "$(</run/lladdr)"
	address_notify 0
}
