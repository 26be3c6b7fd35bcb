# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="a server that closes before it has the Request gets revision 2 again, and nothing is lost"
WIRES="clean"

applies() { both_ours; }

# counters GUEST NAME...: print these counters of iw_mpa
counters() { on "$1" "counter $2"; }

# lose TEXT: drop packets to the server's port that match TEXT, an expression of nft. The new rule replaces the old one
# in one step, so that no packet passes in between. find_again: drop nothing any more.
lose() {
	on "$SERVER" "nft -f - <<-END
		add table inet lose
		delete table inet lose
		table inet lose {
			chain input {
				type filter hook input priority 0;
				tcp dport $PORT $1 drop
			}
		}
	END"
}
find_again() { on "$SERVER" 'nft delete table inet lose'; }

# Drop segments with data: the server accepts TCP connections, and never gets a Request.
lose_requests() { lose 'tcp flags & psh == psh'; }

rping_server() { serve "rping -s -P -a $SERVER_IP -p $PORT"; }

# Start a client whose TCP connects, and whose Request does not reach the server; return when both ends wait
client_waits() {
	before=$(counters "$CLIENT" v2_again)
	v1_before=$(counters "$CLIENT" v1_fallback)
	lose_requests
	guest_bg "$CLIENT" client "rping -c -a $SERVER_IP -p $PORT -C 1000000 -V -v"
	on "$SERVER" "poll 20 grep -q 'role=responder state=AWAIT_REQ local=.*:$PORT ' \
		/sys/kernel/debug/iw_mpa/endpoints"
	on "$CLIENT" "poll 20 grep -q 'state=V2_OFFERED .*:$PORT ' /sys/kernel/debug/iw_mpa/endpoints"
}

# tried AGAIN: fail unless the client, after its first Request, has offered MPA revision 2 AGAIN
# times more, by further TCP connections, and revision 1 never
tried() {
	[[ $(($(counters "$CLIENT" v2_again) - before)) -eq $1 ]] ||
		fail "revision 2 was not offered $1 times more"
	[[ $(counters "$CLIENT" v1_fallback) -eq $v1_before ]] || fail "revision 1 was tried"
}

# Check that the client's next connection has the features that its first Request offered: MPA
# revision 2 and an RTR message. rping writes its output 4 KiB at a time, so the first line appears
# only after some 50 blocks.
comes_up_with_all() {
	local line

	on "$CLIENT" "poll 55 grep -q 'state=OFFLOADED .*:$PORT ' /sys/kernel/debug/iw_mpa/endpoints"
	on "$CLIENT" "poll 50 grep -q 'rdma-ping-0:' /run/bg/client/output"
	line=$(on "$CLIENT" "grep ':$PORT ' /sys/kernel/debug/iw_mpa/endpoints")
	[[ $line == *' state=OFFLOADED '*' rev=2 '*' rtr=W '*' lost=none' ]] || fail "$line"
	on "$CLIENT" "! dmesg | grep 'comes up [w]ithout'" || fail "the log says that something was lost"
	guest_stop "$CLIENT" client >/dev/null
}

# The server ends the client's first connection, as the oldest one, when half-open connections reach their limit.
server_is_overloaded() {
	local yielded

	rping_server
	client_waits
	yielded=$(counters "$SERVER" OVERLOAD)
	on "$SERVER" "echo 1 >/proc/sys/net/iw_mpa/half_open_listener_max
		at_clean_up 'echo 1024 >/proc/sys/net/iw_mpa/half_open_listener_max'"
	guest_bg "$CLIENT" other "exec 3<>/dev/tcp/$SERVER_IP/$PORT; sleep 1000"
	on "$SERVER" "poll 20 eval '[[ \$(counter OVERLOAD) -gt $yielded ]]'"
	find_again
	comes_up_with_all
	tried 1
	guest_stop "$CLIENT" other >/dev/null
	on "$SERVER" 'echo 1024 >/proc/sys/net/iw_mpa/half_open_listener_max'
	guest_stop "$SERVER" server >/dev/null
}

# The client's further SYNs are lost until the server listens again.
server_comes_back() {
	rping_server
	client_waits
	lose ''
	guest_stop "$SERVER" server >/dev/null
	on "$CLIENT" "poll 20 grep -q 'state=TCP_RECONNECT .*:$PORT ' /sys/kernel/debug/iw_mpa/endpoints"
	rping_server
	find_again
	comes_up_with_all
	tried 1
	guest_stop "$SERVER" server >/dev/null
}

server_stays_away() {
	local output status=0

	rping_server
	client_waits
	guest_stop "$SERVER" server >/dev/null
	output=$(loudly guest_wait "$CLIENT" client 60) || status=$?
	[[ $status -ne 0 && $status -ne 124 ]] || fail "rping ends with $status"
	expect_text "$output" 'RDMA_CM_EVENT_REJECTED, error -104'
	tried 1
	find_again
}

# The server's device is removed when its application has got the connection request. The client
# must get a Reject: from a mere FIN or RST it would conclude that the server does not support MPA
# revision 2.
server_loses_its_device() {
	local output status=0

	rping_server
	# shellcheck disable=SC2016 # expands on the guest
	on "$SERVER" 'kill -STOP -- "-$(</run/bg/server/pid)"'
	client_waits_for_verdict
	guest_bg "$SERVER" delete 'rdma link delete siw0'
	output=$(loudly guest_wait "$CLIENT" client 60) || status=$?
	[[ $status -ne 0 && $status -ne 124 ]] || fail "rping ends with $status"
	expect_text "$output" 'RDMA_CM_EVENT_REJECTED, error -111'
	tried 0
	# srnic does not wait for the application. siw's verbs do, as they have no disassociate_ucontext.
	[[ $SERVER_DRIVER != srnic ]] || guest_wait "$SERVER" delete 60
	guest_stop "$SERVER" server KILL >/dev/null
	[[ $SERVER_DRIVER == srnic ]] || guest_wait "$SERVER" delete 60
	on "$SERVER" 'rdma_add'
}

client_waits_for_verdict() {
	before=$(counters "$CLIENT" v2_again)
	v1_before=$(counters "$CLIENT" v1_fallback)
	guest_bg "$CLIENT" client "rping -c -a $SERVER_IP -p $PORT -C 10 -V -v"
	on "$SERVER" "poll 20 grep -q 'state=AWAIT_VERDICT local=.*:$PORT ' \
		/sys/kernel/debug/iw_mpa/endpoints"
}

# set_limit GUEST NAME MS: set net.iw_mpa.NAME until the test ends
set_limit() {
	on "$1" "was=\$(</proc/sys/net/iw_mpa/$2); echo $3 >/proc/sys/net/iw_mpa/$2
		at_clean_up \"echo \$was >/proc/sys/net/iw_mpa/$2\""
}

check() {
	local before v1_before

	# Commands between two steps may take long on an emulated processor, so the time limits for
	# the MPA Request, at the server, and for the Reply, at the client, are raised.
	set_limit "$SERVER" request_timeout_ms 300000
	set_limit "$CLIENT" reply_timeout_ms 300000
	on "$SERVER" "at_clean_up 'nft delete table inet lose 2>/dev/null || true'"
	server_is_overloaded
	if [[ ${SHORT:-no} == no ]]; then
		server_comes_back
		server_stays_away
		server_loses_its_device
	fi
	rping_once
}
