# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="iw-mpa doctor: what is wrong is a fault with its remedy, and what is right is not"
WIRES=clean
FAMILIES="4"
LONG=yes

applies() { [[ $CLIENT_DRIVER/$SERVER_DRIVER == srnic/srnic ]] && stock_kernel; }

# mends_all OUTPUT: does a remedy follow each warning and each fault?
mends_all() {
	awk '/^(ok|warning|fault) / { bad += open; open = !/^ok/; next } { open = 0 } END { exit bad + open > 0 }' \
		<<<"$1"
}

# doctor GUEST STATUS [ARGUMENT]: print what iw-mpa doctor prints; it has to exit with STATUS
doctor() {
	local output status=0

	output=$(guest_run "$1" "/host$TOP/scripts/iw-mpa doctor ${3:-} 2>&1") || status=$?
	printf '%s\n' "$output"
	[[ $status -eq $2 ]] || fail "doctor ${3:-} on $1: exit status $status:
$output" || return 1
	mends_all "$output" || fail "doctor ${3:-} on $1 does not say what mends something:
$output"
}

# finds GUEST REGEX [ARGUMENT]: iw-mpa doctor reports this fault, and fails
finds() {
	local output

	output=$(doctor "$1" 1 "${3:-}") && expect_text "$output" "^fault    $2"
}

# doctor finds that there is no driver, and then that siw is loaded in place of srnic.
without_srnic() {
	on "$SERVER" 'driver_clear'
	finds "$SERVER" 'there is no link on eth0$' eth0
	on "$SERVER" 'insmod /share/modules/siw.ko'
	finds "$SERVER" 'siw is loaded, and srnic cannot be beside it'
	on "$SERVER" 'rmmod siw && driver_set srnic'
}

interface() {
	on "$SERVER" 'echo 1 >/proc/sys/net/ipv6/conf/eth0/keep_addr_on_down && ip link set eth0 down'
	finds "$SERVER" 'link siw0: eth0 is down$'
	on "$SERVER" 'ip link set eth0 up && ip link add dummy0 type dummy && ip link set dummy0 up &&
		ip -6 address flush dev dummy0 && rdma link add dummy0 type srnic netdev dummy0'
	finds "$SERVER" 'link dummy0: dummy0 has no address$' dummy0
	on "$SERVER" 'rdma link delete dummy0 && ip link delete dummy0 && poll 10 rdma_is_up'
	on "$SERVER" 'ip link add veth0 type veth peer name veth1 && ip link set veth0 up &&
		rdma link add veth0 type srnic netdev veth0'
	finds "$SERVER" 'link veth0 is DOWN: veth0 has no carrier$' veth0
	on "$SERVER" 'rdma link delete veth0 && ip link delete veth0'
}

libraries() {
	on "$SERVER" 'mount -t tmpfs doctor /usr/lib/*/libibverbs'
	finds "$SERVER" 'libsiw is missing, by which programs use srnic$'
	on "$SERVER" 'umount /usr/lib/*/libibverbs'
}

# rule TEXT POLICY: make the firewall table "doctor" anew, with POLICY and the rule TEXT in its
# chain "input"; its chain "user" accepts packets to $PORT, the port of the test. If TEXT is
# empty, only remove the table.
rule() {
	on "$SERVER" "nft delete table inet doctor 2>/dev/null; [[ -n '$1' ]] || exit 0
		nft add table inet doctor &&
		nft add chain inet doctor input '{ type filter hook input priority 0; policy $2; }' &&
		nft add set inet doctor ports '{ type inet_service; elements = { $PORT }; }' &&
		nft add chain inet doctor user && nft add rule inet doctor user tcp dport @ports accept &&
		nft add rule inet doctor input $1"
}

firewall() {
	local open

	rule "tcp dport { 22, $PORT } drop" accept
	finds "$SERVER" "the firewall drops what comes to port $PORT: inet doctor input$"
	rule "ip saddr 10.0.0.9 tcp dport $PORT reject" accept
	expect_text "$(doctor "$SERVER" 0)" "^warning  the firewall drops some of what comes to port $PORT"
	rule 'ct state established accept' drop
	finds "$SERVER" "the firewall drops what comes to port $PORT: policy of inet doctor input$"
	for open in "tcp dport 1-$PORT accept" 'jump user' 'goto user'; do
		rule "$open" drop
		[[ $(doctor "$SERVER" 0) != *'the firewall'* ]] || fail "it complains of a port that is open: $open" ||
			return 1
	done
	rule '' ''
}

# doctor finds a path that loses large packets, and addresses that no device can reach.
ways() {
	expect_text "$(doctor "$CLIENT" 0 "$SERVER_IP")" "^ok       packets of 1500 bytes get to $SERVER_IP$"
	on "$SERVER" 'nft add table inet doctor &&
		nft add chain inet doctor large "{ type filter hook input priority 0; }" &&
		nft add rule inet doctor large meta length \> 1400 drop'
	finds "$CLIENT" "packets of 1500 bytes do not get to $SERVER_IP, smaller ones do" "$SERVER_IP"
	rule '' ''
	# If TCP knows that only smaller packets pass, as behind a tunnel or by a router's word, nothing is lost.
	on "$CLIENT" "ip route add $SERVER_IP/32 dev eth0 mtu 1400"
	expect_text "$(doctor "$CLIENT" 0 "$SERVER_IP")" "^ok       packets of 1400 bytes get to $SERVER_IP, and no larger"
	on "$CLIENT" "ip route del $SERVER_IP/32"
	finds "$CLIENT" 'rdma_cm has no device for 127.0.0.1' 127.0.0.1
	finds "$CLIENT" 'no route to 192.0.2.1' 192.0.2.1
	finds "$CLIENT" 'there is no interface nosuch0' nosuch0
}

# doctor and endpoints say what a container may lack: a link in its namespace, capabilities, files of /dev.
containers() {
	local program=/host$TOP/scripts/iw-mpa output

	on "$SERVER" 'ip netns add bare'
	output=$(on "$SERVER" "fails_without() { ! ip netns exec bare setpriv --bounding-set -\$1 $program \$2 2>&1; }
		fails_without sys_ptrace endpoints && fails_without sys_admin endpoints &&
		fails_without sys_ptrace doctor && fails_without net_admin doctor && ip netns delete bare")
	echo "$output"
	expect_text "$output" '^iw-mpa: .*/endpoints: .* \(mount -t debugfs debugfs /sys/kernel/debug\)$'
	expect_text "$output" '^iw-mpa: .*/endpoints: .* \(in a container: this is for its host\)$'
	expect_text "$output" '^fault    there is no link in this network namespace$'
	expect_text "$output" '^ +rdma link add srnic0 type srnic netdev NETDEV$'
	expect_text "$output" '^ +on the host, after "nsenter .*: rdma link add srnic0 type srnic netdev NETDEV$'
	on "$SERVER" 'mv /dev/infiniband/rdma_cm /dev/infiniband/away'
	finds "$SERVER" '/dev/infiniband/rdma_cm: No such file or directory$'
	on "$SERVER" 'mv /dev/infiniband/away /dev/infiniband/rdma_cm'
}

check() {
	local output

	without_srnic
	serve "rping -s -P -a $SERVER_IP -p $PORT"
	output=$(doctor "$SERVER" 0)
	echo "$output"
	expect_text "$output" "^ok       kernel $(on "$SERVER" 'uname -r' | sed 's/[.+]/\\&/g')$"
	expect_text "$output" '^ok       srnic [0-9.]+ is loaded$'
	expect_text "$output" "^ok       link siw0 on eth0: $SERVER_IP,.* MTU 1500$"
	expect_text "$output" "^ok       servers listen at $SERVER_IP:$PORT$"
	interface
	libraries
	firewall
	ways
	expect_text "$(on "$CLIENT" "ulimit -l 64; /host$TOP/scripts/iw-mpa doctor")" \
		'^warning  users may register 64 KiB of memory alone'
	# doctor reports these messages of the kernel's log.
	on "$SERVER" 'echo "<4>Lockdown: insmod: unsigned module loading is restricted" >/dev/kmsg
		echo "<5>Loading of unsigned module is rejected" >/dev/kmsg
		echo "<4>RDMA CMA: cma_listen_on_dev, error -98" >/dev/kmsg'
	output=$(doctor "$SERVER" 0)
	expect_text "$output" '^warning  the kernel has refused a module, since it is locked down: '
	expect_text "$output" '^warning  the kernel has refused a module, since its signature is not known: '
	expect_text "$output" '^warning  a server at all addresses could not listen on each RDMA device'
	containers
	guest_stop "$SERVER" server >/dev/null
}
