# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="rsockets: rstream blocking, non-blocking, with rdma_getaddrinfo, riostream, rcopy of a file"
WIRES=clean

# See 055-rstream.sh.
applies() { is_ours "$SERVER_DRIVER"; }

# stream PROGRAM OPTION...: the server verifies the data
stream() {
	local options=$* output

	options="${options#* } -p $PORT -C 50 -S 4096"
	serve "$1 -b $SERVER_IP $options"
	client "$1 -s $SERVER_IP $options"
	output=$(server_ends)
	# columns: name, bytes per transfer, transfers, iterations, total ...
	expect_text "$output" '^custom +4k +50 +1 +400k '
}

copy() {
	local want got

	want=$(on "$CLIENT" "head -c 1M /dev/urandom >/run/copy-me; sha256sum </run/copy-me")
	serve "rcopy -p $PORT"
	client "rcopy /run/copy-me $SERVER_IP:/run/copied -p $PORT"
	got=$(on "$SERVER" "sha256sum </run/copied; rm /run/copied")
	[[ $got == "$want" ]] || fail "the copy is not the same"
	guest_stop "$SERVER" server >/dev/null
	on "$CLIENT" "rm /run/copy-me"
}

check() {
	local mode

	for mode in b n r; do
		stream rstream -T v -T $mode
	done
	stream riostream -T v
	# rcopy cannot use IPv6: it takes what follows the first colon for a file name, and its server listens with
	# IPv4.
	[[ $FAMILY == 6 ]] || copy
	echo "result: 4 ways"
}
