# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="Debian's iwpmd at both ends, at one, at none, ended; and a peer whose ports are mapped"
WIRES="clean"
KIT=port_mapper

# Kernels with detectors lack nftables' NAT.
applies() { both_ours && stock_kernel; }

WAIT=10		# seconds that a connect waits for the port mapper of a peer without one

mapper_on() { local guest; for guest in "$@"; do inside "$guest" mapper_start; done; }
mapper_off() { local guest; for guest in "$@"; do inside "$guest" mapper_end; done; }

# ping_server [ADDRESS [PORT]]: start rping's server, by default at the server's address and the test's port
ping_server() { guest_serve "$SERVER" server "${2:-$PORT}" "rping -s -P -a ${1:-$SERVER_IP} -p ${2:-$PORT}"; }

# Print how often the kernels of both guests together, by their logs, have waited in vain for a port
# mapper. Commands are logged, too, so the pattern is written such that it does not match itself.
waits() {
	local guest sum=0

	for guest in "$CLIENT" "$SERVER"; do
		sum=$((sum + $(on "$guest" "dmesg | grep -c 'iwpm_wait_complete_req: [T]imeout $WAIT sec' || :")))
	done
	echo $sum
}

# pings WHEN: a client sends blocks and verifies them when they return; sets TOOK, in seconds, and WAITED, a count
pings() {
	local output start before

	before=$(waits)
	start=$(date +%s%N)
	output=$(client "rping -c -a $SERVER_IP -p $PORT -C 3 -V -v")
	TOOK=$((($(date +%s%N) - start) / 1000000000))
	WAITED=$(($(waits) - before))
	expect_pings "$output" 3
	echo "result: $1: $TOOK s"
}

# A slow connect is no fault, as long as neither kernel waited for a port mapper.
connects_at_once() {
	pings "$1"
	((WAITED == 0)) || fail "$1: a connect waited, and took $TOOK s"
}

connects_after_a_wait() {
	pings "$1"
	((WAITED == 1 && TOOK >= WAIT)) || fail "$1: a connect waited $WAITED times, and took $TOOK s"
}

at_none() {
	ping_server
	connects_at_once 'no iwpmd'
	guest_stop "$SERVER" server >/dev/null
}

at_both() {
	local any=0.0.0.0 address

	[[ $FAMILY == 4 ]] || any=::
	mapper_on "$SERVER" "$CLIENT"
	for address in "$SERVER_IP" "$any"; do
		ping_server "$address"
		connects_at_once "iwpmd at both, server at $address"
		guest_stop "$SERVER" server >/dev/null
	done
}

# The connection continues without iwpmd, and ends well; later connects do not wait for the ended iwpmd.
ended_while_connected() {
	local line

	ping_server
	guest_bg "$CLIENT" held "rping -c -a $SERVER_IP -p $PORT -C 1000000 -V -v"
	on "$CLIENT" "poll 20 grep -q 'rdma-ping-0:' /run/bg/held/output"
	mapper_off "$SERVER" "$CLIENT"
	on "$CLIENT" "lines=\$(wc -l </run/bg/held/output)
		poll 20 eval '[[ \$(wc -l </run/bg/held/output) -gt \$((lines + 100)) ]]'"
	connects_at_once 'iwpmd has ended at both, with a connection'
	mapper_on "$SERVER" "$CLIENT"
	connects_at_once 'iwpmd is back at both, with a connection'
	on "$CLIENT" '! bg_gone held'
	guest_stop "$CLIENT" held >/dev/null
	guest_stop "$SERVER" server >/dev/null
	mapper_off "$SERVER" "$CLIENT"
}

# The server listens before its iwpmd is started, so this iwpmd has no mapping of the server's port,
# and answers the client's iwpmd accordingly.
listener_is_older() {
	ping_server
	mapper_on "$SERVER" "$CLIENT"
	connects_at_once 'iwpmd at both, younger than the server'
	mapper_off "$CLIENT"
	guest_stop "$SERVER" server >/dev/null
}

at_the_server_alone() {
	ping_server
	connects_at_once 'iwpmd at the server alone'
	guest_stop "$SERVER" server >/dev/null
	mapper_off "$SERVER"
}

at_the_client_alone() {
	mapper_on "$CLIENT"
	ping_server
	connects_after_a_wait 'iwpmd at the client alone'
	guest_stop "$SERVER" server >/dev/null
	mapper_off "$CLIENT"
}

# The server is an application on an RNIC in hardware, which listens on another port than the
# application. rping on srnic, at the port $card, takes the place of this RNIC.
server_is_mapped() {
	local card=$((PORT + 1000)) mapped output status=0

	mapper_on "$SERVER"
	ping_server "$SERVER_IP" "$card"
	mapped=$(inside "$SERVER" "rnic_listens $SERVER_IP $PORT $card")
	output=$(client "rping -c -a $SERVER_IP -p $PORT -C 3 -V -v") || status=$?
	[[ $status -ne 0 && $status -ne 124 ]] || fail "rping ends with $status"
	expect_text "$output" 'RDMA_CM_EVENT_REJECTED, error -104'

	mapper_on "$CLIENT"
	connects_at_once 'the server is an RNIC with a port mapper'
	guest_bg "$CLIENT" held "rping -c -a $SERVER_IP -p $PORT -C 1000000 -V -v"
	on "$CLIENT" "poll 20 grep -q 'rdma-ping-0:' /run/bg/held/output
		grep ' remote=[^ ]*:$mapped ' /sys/kernel/debug/iw_mpa/endpoints
		rdma resource show cm_id | grep 'state CONNECT .*dst-addr [^ ]*:$PORT '"
	guest_stop "$CLIENT" held >/dev/null
	inside "$SERVER" rnic_ends
	guest_stop "$SERVER" server >/dev/null
}

# The client is an application on an RNIC in hardware, which connects from another port than the application. The
# server's application must see the port of the client's application.
client_is_mapped() {
	local port=$((PORT + 2000)) said

	ping_server
	inside "$CLIENT" "rnic_connects $CLIENT_IP $port $SERVER_IP $PORT"
	guest_bg "$CLIENT" held "rping -c -a $SERVER_IP -p $PORT -C 1000000 -V -v"
	on "$CLIENT" "poll 20 grep -q 'rdma-ping-0:' /run/bg/held/output"
	on "$SERVER" "rdma resource show cm_id | grep 'state CONNECT .*dst-addr [^ ]*:$port '"
	guest_stop "$CLIENT" held >/dev/null
	inside "$CLIENT" rnic_ends
	guest_stop "$SERVER" server >/dev/null
	mapper_off "$SERVER" "$CLIENT"
}

check() {
	local TOOK WAITED

	at_none
	at_both
	if [[ ${SHORT:-no} == no ]]; then
		ended_while_connected
		listener_is_older
		at_the_server_alone
		at_the_client_alone
		server_is_mapped
		client_is_mapped
	else
		mapper_off "$SERVER" "$CLIENT"
	fi
	# After the end of both iwpmd the kernel must not wait for a port mapper.
	at_none
}
