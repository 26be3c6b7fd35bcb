# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="librdmacm's own examples: Debian's rdmacm-utils"
SAMPLED='^(rping/23|rping/q|ucmatose/10|cmtime/100|rstream/sweep|riostream/v|udaddy|xrc)$'

# The part before the slash is the program.
groups() {
	printf '%s\n' rping/{23,64,4096,65535,persistent,q,6} \
		ucmatose/{1,10,100,large,6} cmtime/{100,500} \
		rstream/{sweep,a,b,n,f,r,inline,keepalive,6} riostream/{sweep,a,b,n,v,6} rcopy/{1,10M} \
		client-server client-server/x xrc udaddy udpong mckey
}

# A variant whose name ends with "/6" uses IPv6.
family() { [[ $VARIANT != */6 ]] || set_addresses 6; }

# pings OPTION...
pings() {
	local count=20 output

	serve "rping -s -a $SERVER_IP -p $PORT -C $count $*"
	output=$(client "set -o pipefail; rping -c -a $SERVER_IP -p $PORT -C $count -v $* | cut -b -40")
	expect_pings "$output" "$count"
	server_ends
}

persistent() {
	local n output

	serve "rping -s -P -a $SERVER_IP -p $PORT"
	for n in 1 2 3; do
		output=$(client "rping -c -a $SERVER_IP -p $PORT -C 5 -V -v")
		expect_pings "$output" 5
	done
	guest_stop "$SERVER" server >/dev/null
}

check_rping() {
	case $1 in
	persistent) persistent ;;
	q) pings -V -q ;;
	6) pings -V ;;
	*) pings -V -S "$1" ;;
	esac
}

# both COMMAND: run COMMAND at both ends, each with its option for the server's address
both() {
	serve "$1 -b $SERVER_IP -p $PORT ${*:2}"
	client "$1 -s $SERVER_IP -p $PORT ${*:2}" 240
	server_ends
}

# moves BYTES COMMAND...: COMMAND compares no data, so count the bytes that both interfaces sent
moves() {
	local before

	before=$(bytes_moved)
	"${@:2}"
	[[ $(bytes_moved) -ge $((before + $1)) ]] || fail "fewer than $1 octets went"
}

check_ucmatose() {
	case $1 in
	large) moves 20000000 both ucmatose -c 10 -C 10 -S 100000 ;;
	6) moves 20000 both ucmatose -f ip6 -c 10 -C 10 -S 100 ;;
	*) moves $(($1 * 20000)) both ucmatose -c "$1" -C 10 -S 1000 ;;
	esac
}

# Durations are ignored, but each step must complete. The server never ends by itself.
check_cmtime() {
	local output step

	serve "cmtime -b $SERVER_IP -p $PORT -c $1"
	output=$(client "cmtime -s $SERVER_IP -p $PORT -c $1" 240)
	echo "$output"
	for step in 'resolve addr' connect disconnect destroy; do
		expect_text "$output" "^$step *: +[0-9.]+ "
	done
	guest_stop "$SERVER" server >/dev/null
}

# streams PROGRAM OPTION...
streams() {
	local output

	output=$(both "$@" && echo "$1 ended")
	echo "$output"
	expect_text "$output" "^$1 ended\$"
}

check_rstream() {
	local some='-C 100 -S 4096'

	case $1 in
	sweep) streams rstream -I 20 -C 20 ;;
	a | b | n | f | r) streams rstream "$some" -T "$1" -T v ;;
	inline) streams rstream "$some" -i 64 -T v ;;
	keepalive) streams rstream "$some" -k 1 ;;
	6) streams rstream "$some" -f ipv6 -T v ;;
	esac
}

check_riostream() {
	local some='-C 100 -S 4096'

	case $1 in
	sweep) streams riostream -I 20 -C 20 ;;
	a | b | n | v) streams riostream "$some" -T "$1" ;;
	6) streams riostream "$some" -f ipv6 -T v ;;
	esac
}

check_rcopy() {
	local want

	want=$(on "$CLIENT" "head -c $1 /dev/urandom >/run/copy-me; sha256sum </run/copy-me")
	serve "rcopy -p $PORT"
	client "rcopy /run/copy-me $SERVER_IP:/run/copied -p $PORT" 120
	[[ $(on "$SERVER" "sha256sum </run/copied; rm /run/copied") == "$want" ]] || fail "the copy is not the same"
	guest_stop "$SERVER" server >/dev/null
}

check_client-server() {
	serve "rdma_${1}server -p $PORT"
	client "rdma_${1}client -s $SERVER_IP -p $PORT"
	server_ends
}

check_xrc() {
	serve "rdma_xserver -p $PORT -c x"
	client "rdma_xclient -s $SERVER_IP -p $PORT -c x"
	server_ends
}

# The server may end before a test can see that it listens, so nothing waits for that. udaddy's -p is no port.
check_udaddy() {
	guest_bg "$SERVER" server "udaddy -b $SERVER_IP"
	client "udaddy -s $SERVER_IP -b $CLIENT_IP"
}

check_udpong() {
	guest_bg "$SERVER" server "udpong -b $SERVER_IP -p $PORT"
	client "udpong -s $SERVER_IP -p $PORT"
}

check_mckey() { client "mckey -m 239.1.2.3 -b $CLIENT_IP -s"; }

check() {
	local what=${VARIANT#*/}

	[[ $VARIANT == */* ]] || what=
	family
	"check_${VARIANT%%/*}" "$what"
}
