# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="a wildcard listener listens in its own network namespace, and in no other"
FAMILIES="4"
WIRES="clean"
KIT=namespaces

applies() { both_ours; }

# check_copy GUEST: the namespace "copy" has an interface with the same IP and hardware addresses as
# the device of another namespace, and rdma_cm of Linux 6.1 takes that interface for the device's.
# But sockets are in the program's namespace, "copy", whose interface leads nowhere: its clients
# cannot connect, its server gets no connection, and neither uses a port of the other namespace.
check_copy() {
	inside "$1" "ns_pair five 15 && ns_copy copy five 15
		ns_serve five $PORT 10.15.0.1
		ns_serve five-c $PORT
		if [[ \$(uname -r) == 6.1.* ]]; then
			ns_serve copy $PORT 10.15.0.1
		else
			! timeout 10 ip netns exec copy rping -s -a 10.15.0.1 -p $PORT ||
				fail 'a server listens in a namespace without a device'
		fi
		ns_reach five 10.15.0.2 $PORT
		ns_reach five-c 10.15.0.1 $PORT
		! ns_rping copy 10.15.0.2 $PORT || fail 'a connection came up from another namespace'
		bg_stop_all; ip netns del copy; ns_del five" 120
}

# rdma_cm makes each wildcard listener listen on every device, also on devices that are added later.
check() {
	# Two servers use one port, each in a namespace with its own device, and both can be reached.
	inside "$SERVER" "ns_pair one 11 && ns_pair two 12"
	inside "$SERVER" "ns_serve one $PORT && ns_serve two $PORT"
	inside "$SERVER" "ns_ping one 11 $PORT && ns_ping two 12 $PORT"

	# A third namespace has no device, an RDMA server, and a TCP server on the same port. When a device is added to
	# it, the RDMA server gets no socket on that device, but an RDMA server on another port does.
	inside "$SERVER" "ns_add three 13
		bg_start early 'ip netns exec three rping -s -P -a 0.0.0.0 -p $PORT'
		poll 20 ns_listens three
		bg_start tcp 'ip netns exec three busybox nc -l -p $PORT -e true'
		poll 10 eval '[[ -n \$(ip netns exec three ss -Htln \"sport = :$PORT\") ]]'
		ns_link three && ns_link three-c
		dmesg | grep -F 'siw-three: a wildcard listener has no socket for port $PORT on eth0, errno -98'
		bg_stop early >/dev/null
		ns_serve three $((PORT + 1)) && ns_ping three 13 $((PORT + 1))"

	# A namespace is deleted, with its device, while servers run in the others.
	inside "$SERVER" "bg_stop rping-two >/dev/null; ns_del two"
	inside "$SERVER" "ns_ping one 11 $PORT && ns_ping three 13 $((PORT + 1))"
	inside "$SERVER" "bg_stop_all; ns_del one; ns_del three"

	check_copy "$CLIENT"
	check_copy "$SERVER"
}
