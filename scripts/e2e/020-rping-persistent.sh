# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="one persistent rping server, five clients close behind one another"

# rping's server has room for one new connection: if another one arrives before a thread has taken the first, the first
# is lost. So each client starts only when all earlier clients have received data, or have ended.
join() {
	guest_bg "$CLIENT" "client$1" "rping -c -a $SERVER_IP -p $PORT -C $2 -V -v"
	# The function all() counts clients that have ended, then connections with data. A client
	# that ends in between is counted once, or not at all, but never twice.
	on "$CLIENT" "ended() { cat /run/bg/client[1-$1]/status | wc -l; }
		answered() { ss -Htni state established 'dport = :$PORT' | grep -c bytes_received; }
		all() { local n=\$(ended); ((n + \$(answered) >= $1)); }
		poll 20 all"
}

check() {
	local i output count

	count=$(few 100)
	serve "rping -s -P -a $SERVER_IP -p $PORT"
	for i in 1 2 3 4 5; do
		join "$i" "$count"
	done
	for i in 1 2 3 4 5; do
		output=$(loudly guest_wait "$CLIENT" "client$i" 60)
		expect_pings "$output" "$count" >/dev/null
	done
	guest_stop "$SERVER" server >/dev/null
	echo "result: 5 x $count blocks of data verified"
}
