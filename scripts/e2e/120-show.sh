# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="what is going on can be seen: endpoints, listeners, counters, rdma statistic"

applies() { both_ours; }

show() { on "$1" "/host$TOP/scripts/iw-mpa $2"; }

statistic() { on "$1" "rdma statistic show link siw0/1"; }

# iw-mpa tells a user other than root why it shows nothing. The program's file is read before
# setuid(), since only root may enter its folder.
show_nobody() {
	on "$1" "python3 -c '
import os, sys
code = compile(open(\"/host$TOP/scripts/iw-mpa\").read(), \"iw-mpa\", \"exec\")
sys.argv = [\"iw-mpa\", \"endpoints\"]
os.setuid(65534)
exec(code)' 2>&1" || true
}

# expect_row TEXT WORD...: one line has all of these words
expect_row() {
	local text=$1 word

	shift
	for word in "$@"; do
		text=$(grep -F -- "$word" <<<"$text") || fail "no line with: $*"
	done
}

# The values that the driver adds to "rdma resource show" are right. rping's client is stopped during the check, so that
# they do not change.
shows_its_objects() {
	local guest limit=$((SECONDS + 20 * SLOW)) status=1

	# shellcheck disable=SC2016 # expanded there, as below
	on "$CLIENT" 'kill -STOP -- "-$(</run/bg/client/pid)"'
	until [[ $status -eq 0 ]] || ((SECONDS >= limit)); do
		for guest in "$CLIENT" "$SERVER"; do
			on "$guest" "for what in qp cq mr; do rdma -dd -j resource show \$what; done" \
				>"$GUEST_RUN/shown-$guest"
		done
		# The server may still be busy with the last block: try again.
		status=0
		"$TOP/scripts/e2e/shown.py" "$GUEST_RUN"/shown-{"$CLIENT","$SERVER"} || status=$?
	done
	# shellcheck disable=SC2016
	on "$CLIENT" 'kill -CONT -- "-$(</run/bg/client/pid)"'
	[[ $status -eq 0 ]] || fail "the values of rdma resource show are wrong"
}

# Any user may read the speed of a port. An unknown speed must not add a line to the kernel's log each time.
asks_for_the_speed() {
	local grown

	# shellcheck disable=SC2016
	grown=$(on "$1" 'guesses() { dmesg | grep -c "speed is unknown"; }
		before=$(guesses)
		for ((i = 0; i < 100; i++)); do
			cat /sys/class/infiniband/siw0/ports/1/rate
		done >/dev/null || exit
		echo $(($(guesses) - before))') || fail "the speed cannot be read"
	[[ $grown -le 1 ]] || fail "the kernel's log has $grown lines more"
}

# A speed that ethtool sets is shown, although the kernel sends no notification.
follows_the_speed() {
	local rate

	rate=$(on "$1" 'ethtool -s eth0 speed 25000 duplex full &&
		cat /sys/class/infiniband/siw0/ports/1/rate') || fail "the speed cannot be set"
	[[ $rate == '25 Gb/sec '* ]] || fail "the rate is $rate"
}

# The port counters in sysfs, which every RDMA device has, agree with "rdma statistic"; there is no traffic between the
# two readings.
counts_as_a_port() {
	local counters octets

	octets=$(statistic "$1" | grep -oE ' [rt]x_(fpdus|octets) [0-9]+' | tr '\n' ' ')
	counters=$(on "$1" 'cd /sys/class/infiniband/siw0/ports/1/counters && cat \
		port_{xmit,rcv}_{packets,data} unicast_{xmit,rcv}_packets symbol_error port_rcv_errors' | tr '\n' ' ')
	# shellcheck disable=SC2016 # of awk
	echo "$octets$counters" | awk '{ for (i = 1; i < 9; i += 2) is[$i] = $(i + 1)
		exit !(is["tx_octets"] > 1000 && $9 == is["tx_fpdus"] && $10 == int(is["tx_octets"] / 4) &&
			$11 == is["rx_fpdus"] && $12 == int(is["rx_octets"] / 4) && $13 == $9 && $14 == $11 &&
			$15 == 0 && $16 == 0) }' || fail "port counters: $counters, but $octets"
}

check() {
	local address=$SERVER_IP before after

	asks_for_the_speed "$CLIENT"
	[[ $CLIENT_DRIVER != srnic ]] || follows_the_speed "$CLIENT"

	[[ $FAMILY == 4 ]] || address="[$SERVER_IP]"
	before=$(statistic "$CLIENT")
	serve "rping -s -P -a $SERVER_IP -p $PORT"
	expect_row "$(show "$SERVER" listeners)" siw0 "$address:$PORT"
	guest_bg "$CLIENT" client "rping -c -a $SERVER_IP -p $PORT -C 1000000 -V -v"
	on "$CLIENT" "poll 20 grep -q 'rdma-ping-0:' /run/bg/client/output"

	expect_row "$(show "$CLIENT" endpoints)" siw0 initiator OFFLOADED "$address:$PORT"
	expect_row "$(show "$SERVER" endpoints)" siw0 responder OFFLOADED "$address:$PORT"
	show "$SERVER" 'endpoints -j' | python3 -c '
import json, sys
ep, = [ep for ep in json.load(sys.stdin) if ep["state"] == "OFFLOADED"]
assert (ep["rev"], ep["crc"]) == (2, 1) and "W" in ep["rtr"], ep
assert ep["age_ms"] >= 0 and ep["qpn"] > 0, ep'
	show "$CLIENT" 'endpoints -j -r 1' | python3 -c '
import json, sys
ep, = [ep for ep in json.load(sys.stdin) if ep["state"] == "OFFLOADED"]
assert 0 < ep["sent/s"] and 0 < ep["received/s"], ep'
	expect_row "$(show "$CLIENT" 'endpoints -r 0.5')" received sent/s received/s
	after=$(statistic "$CLIENT")
	expect_text "$after" ' established [1-9]'
	[[ $before != "$after" ]] || fail "rdma statistic does not count"
	expect_row "$(show "$CLIENT" counters)" established
	[[ -z $(on "$CLIENT" "{ /host$TOP/scripts/iw-mpa counters | :; } 2>&1") ]] ||
		fail "it complains when nobody reads on"
	[[ $(show_nobody "$CLIENT") == 'iw-mpa: this is for root' ]] || fail "somebody else is not told why"

	[[ $CLIENT_DRIVER != srnic ]] || shows_its_objects

	guest_stop "$CLIENT" client >/dev/null
	guest_stop "$SERVER" server >/dev/null
	[[ $CLIENT_DRIVER != srnic ]] || counts_as_a_port "$CLIENT"
	after=$(show "$SERVER" listeners)
	[[ $after != *":$PORT "* ]] || fail "the listener is still there"
}
