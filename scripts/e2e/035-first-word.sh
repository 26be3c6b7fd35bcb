# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="whoever speaks first, client or server, is heard: one, ten and a hundred connections at once"
FAMILIES=4
WIRES=clean

# WORDS: how many connections each step of the test makes. An earlier fault, which this test has to find again, occurred
# in one of fifteen connections in which the server sends first, and in one of sixty in which the client does.
WORDS=${WORDS:-100}

# talk WHO CONNECTIONS: make CONNECTIONS connections at once, again and again, about $WORDS in all,
# fewer on a slow kernel; WHO, client or server, sends first
talk() {
	local rounds=$(($(few "$WORDS") / $2)) from=$PORT

	[[ $rounds -gt 0 ]] || rounds=1
	loudly guest_serve "$SERVER" "$1-$2" "$((from + ($2 - 1) / 25))" \
		"/share/first_word listen $SERVER_IP $from $1 $2"
	loudly guest_bg_run "$CLIENT" client 300 \
		"/share/first_word talk $SERVER_IP $from $1 $2 $rounds 60"
	guest_stop "$SERVER" "$1-$2"
	PORT=$((PORT + 4))
}

# In the client-server model of RFC 5044 the client sends first. A server on iw_mpa waits for the
# client's first FPDU before it sends, by default without limit; fence_timeout_ms sets a limit.
talk_without_rtr() {
	local output status=0

	talk client 10
	loudly guest_serve "$SERVER" silent "$PORT" "/share/first_word listen $SERVER_IP $PORT server 1"
	output=$(guest_bg_run "$CLIENT" silent 30 \
		"/share/first_word talk $SERVER_IP $PORT server 1 1 10") || status=$?
	echo "$output"
	[[ $status -ne 0 ]] || fail "the server spoke first, and was heard"
	[[ $status -eq 1 ]] || fail "the client died, or the guest is lost: exit status $status"
	expect_text "$output" 'is up, but no word came'
	guest_stop "$SERVER" silent
	PORT=$((PORT + 1))
	on "$SERVER" "fence_ms_set 1000"
	talk server 10
	talk server 100
}

talk_with_rtr() {
	local who number

	for who in server client; do
		for number in 1 10 100; do
			talk "$who" "$number"
		done
	done
}

check() {
	need_program first_word
	if ! is_ours "$CLIENT_DRIVER"; then
		talk_without_rtr
		echo "result: servers that speak first are heard when the fence is lifted"
	else
		talk_with_rtr
		echo "result: $(on "$CLIENT" "counter rtr_repeated") RTR messages were repeated"
	fi
}
