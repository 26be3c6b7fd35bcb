# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="a wildcard listener takes connections for addresses of its own device alone"
FAMILIES="4"
WIRES="clean"
KIT=namespaces

applies() { both_ours; }

# A host has two interfaces, each with a device. The clients have a route to the second interface's address by the first
# interface, and Linux accepts such packets.
check() {
	if [[ ${SHORT:-no} == no ]]; then
		in_both check_host
	else
		check_host "$CLIENT"
	fi
}

check_host() {
	inside "$1" "ns_pair host 14 && ns_wire host 15 eth1 && ns_link host eth1" &&
		check_family "$1" 0.0.0.0 10.14.0.1 10.15.0.1/32 &&
		{ [[ ${SHORT:-no} != no ]] || check_family "$1" :: fd00:14::1 fd00:15::1/128; } &&
		inside "$1" "rdma link delete siw-host-eth1 && ns_del host"
}

# check_family GUEST WILDCARD FIRST SECOND/LENGTH: test with these addresses of the host
check_family() {
	local second=${4%/*}

	inside "$1" "ns_serve host $PORT $2
		ns_link host-c eth1
		ns_reach host-c $3 $PORT
		ns_reach host-c $second $PORT
		rdma link delete siw-host-c-eth1

		ip -n host-c route add $4 via $3 dev eth0
		before=\$(ns_count siw-host WRONG_DEVICE)
		ns_refused host-c $second $PORT -111
		# A Reject, so the client does not try revision 1.
		(( \$(ns_count siw-host WRONG_DEVICE) == before + 1 ))
		(( \$(ns_count siw-host-eth1 WRONG_DEVICE) == 0 ))

		# The host itself comes over lo, by which no device listens. Nobody else suffers.
		ns_reach host $3 $PORT
		ns_reach host $second $PORT
		ns_reach host-c $3 $PORT
		bg_stop rping-host >/dev/null" 120
}
