# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="two links of a host differ in CRC, Markers, revision and model, by the file of links and by sysfs"
FAMILIES="4"
WIRES="clean"
KIT=namespaces

applies() { [[ $CLIENT_DRIVER/$SERVER_DRIVER == srnic/srnic ]]; }

check() { in_both two_links; }

# endpoint GUEST DEVICE FIELD=VALUE...: DEVICE has a connection with these values
endpoint() {
	local guest=$1

	shift
	on "$guest" "/host$TOP/scripts/iw-mpa endpoints -j" 60 | python3 -c '
import json, sys
eps = json.load(sys.stdin)
for ep in eps:
    if ep["dev"] == sys.argv[1] and ep["state"] == "OFFLOADED":
        got = [f"{name}={ep[name]}" for name in (word.partition("=")[0] for word in sys.argv[2:])]
        if got == sys.argv[2:]:
            sys.exit()
sys.exit(f"not {sys.argv[1:]}: {eps}")' "$@"
}

# connected GUEST NUMBER: start an application that stays connected over wire NUMBER, and stop it (SIGSTOP), to leave
# the processor to others. Stopping is a separate command: when a shell ends the kernel ends its stopped jobs.
connected() {
	inside "$1" "bg_start client-$2 'ip netns exec host-c rping -c -a 10.$2.0.1 -p $PORT -C 1000000 -V -v'
		poll 20 grep -q 'rdma-ping-0:' /run/bg/client-$2/output" &&
		inside "$1" "kill -STOP \$(ip netns pids host-c)"
}

gone() { inside "$1" "kill -CONT \$(ip netns pids host-c); bg_stop client-$2 >/dev/null"; }

# The host's two links are in /etc/iw-mpa/links, the second one with settings; the client's links get their settings by
# sysfs.
begin() {
	inside "$1" "ns_add host 14 && ns_wire host 15 eth1 && ns_link host-c && ns_link host-c eth1
		mkdir -p /etc/iw-mpa; at_clean_up 'rm -rf /etc/iw-mpa'
		printf '%s\n' 'plain eth0' 'other eth1 crc=0 markers=1' >/etc/iw-mpa/links
		poll 10 ip netns exec host /host$TOP/scripts/deb/link up
		poll 10 ns_is_up plain && poll 10 ns_is_up other
		ns_serve host $PORT
		cd /sys/class/infiniband; [[ \$(cat plain/iw_mpa/crc) == default && \$(cat other/iw_mpa/crc) == 0 ]]
		if echo 3 2>/dev/null >plain/iw_mpa/mpa_rev; then false; fi
		[[ \$(cat plain/iw_mpa/mpa_rev) == default ]]
		echo 0 >siw-host-c-eth1/iw_mpa/crc; echo 1 >siw-host-c/iw_mpa/mpa_rev
		echo 0 >siw-host-c-eth1/iw_mpa/peer_to_peer"
}

# Remove two settings of the client's second link: new connections use those of the network namespace again.
take_back() {
	inside "$1" "cd /sys/class/infiniband/siw-host-c-eth1/iw_mpa; echo default | tee crc peer_to_peer"
}

# "link up" reports lines of the file that have mistakes.
complaints() {
	inside "$1" "printf '%s\n' 'other eth1 speed=9' 'plain eth0 crc=2' 'third eth0 srnic crc= x' >/etc/iw-mpa/links
		if ip netns exec host /host$TOP/scripts/deb/link up 2>/run/complaints; then false; fi
		grep -qx 'iw-mpa: other: its driver has no setting speed' /run/complaints
		grep -qx 'iw-mpa: plain: the kernel refuses crc=2' /run/complaints
		grep -q '^iw-mpa: /etc/iw-mpa/links: a line is a name, .*: third eth0 srnic crc= x$' /run/complaints"
}

two_links() {
	begin "$1" && connected "$1" 14 && connected "$1" 15 &&
		endpoint "$1" plain rev=1 crc=1 tx_markers=0 rx_markers=0 rtr=none &&
		endpoint "$1" siw-host-c rev=1 crc=1 tx_markers=0 rx_markers=0 rtr=none &&
		endpoint "$1" other rev=2 crc=0 tx_markers=0 rx_markers=1 rtr=none &&
		endpoint "$1" siw-host-c-eth1 rev=2 crc=0 tx_markers=1 rx_markers=0 rtr=none &&
		take_back "$1" && gone "$1" 15 && connected "$1" 15 &&
		endpoint "$1" other rev=2 crc=1 tx_markers=0 rx_markers=1 rtr=SWR &&
		gone "$1" 15 && gone "$1" 14 && inside "$1" 'bg_stop rping-host >/dev/null' && complaints "$1" &&
		inside "$1" 'rdma link delete other; rdma link delete plain; rdma link delete siw-host-c-eth1
			ip netns del host && ip netns del host-c'
}
