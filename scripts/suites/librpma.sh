# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="librpma's own examples, over Debian's librpma: memory of another host, read, written and flushed"
SOURCE="https://github.com/pmem/rpma.git 04315bd809a5d7cefe24ba2f70c73eed11a0339d"	# 1.2.0
PACKAGES="librpma-dev libprotobuf-c-dev"
SAMPLED='^(0[125]|13)-'

# The memory is not persistent here; the examples for persistent memory report that, and continue.
groups() {
	printf '%s\n' 01-connection 02-read-to-volatile 03-read-to-persistent 04-write-to-persistent \
		05-flush-to-persistent 06{,scch}-multiple-connections 07-atomic-write 08-messages-ping-pong \
		08srq-simple-messages-ping-pong-with-srq{,/m,/r} 09{,scch}-flush-to-persistent-GPSPM \
		10-send-with-imm 11-write-with-imm 12{,scch}-receive-completion-queue 13-messages-ping-pong-with-srq
}

build() {
	local program

	cd examples || return
	shopt -s nullglob
	for program in [0-9]*/{client,server}.c; do
		gcc -Icommon -o "${program%.c}" "$program" "${program%/*}"/*-common.c \
			common/common-{conn,epoll,hello,messages-ping-pong,utils}.c common/gpspm/*.c \
			-lrpma -libverbs -lprotobuf-c
	done
}

# example SERVER-ARGUMENTS CLIENT-ARGUMENTS: set said to the output of both
example() {
	serve "$PROGRAM/server $SERVER_IP $PORT ${1:-}"
	said=$(client "$PROGRAM/client $SERVER_IP $PORT ${2:-}")
	said+=$'\n'$(server_ends)
	echo "$said"
}

# says REGEX...: each matches a whole line of said
says() {
	local line

	for line in "$@"; do
		expect_text "$said" "^$line\$"
	done
}

# Three clients at once; each sends three values, and gets them back raised by one.
three() {
	local n

	serve "$PROGRAM/server $SERVER_IP $PORT"
	for n in 100 200 300; do
		guest_bg "$CLIENT" "client$n" "$PROGRAM/client $SERVER_IP $PORT $n 3"
	done
	for n in 100 200 300; do
		said=$(loudly guest_wait "$CLIENT" "client$n" 60)
		says ".* value received: $((n + 3))"
	done
	server_ends
}

# The server reads the name of each client, and ends after 15 seconds without a new client.
names() {
	local n all='' output

	serve "$PROGRAM/server $SERVER_IP $PORT"
	for n in 8 9 11 12; do
		output=$(client "$PROGRAM/client $SERVER_IP $PORT $n")
		expect_text "$output" '^My names is: .'
		all+=" $(sed -n 's/^My names is: //p' <<<"$output")"
	done
	said=$(server_ends)
	echo "$said"
	for n in $all; do
		says "- $n"
	done
}

check() {
	local said PROGRAM=/host$BUILT/examples/${VARIANT%/*}

	case $VARIANT in
	01-*)
		example
		says 'Received a message: Hello client!' 'Received a message: Hello server!'
		;;
	02-*)
		example
		says 'Read a message: .+'
		;;
	03-* | 04-* | 05-* | 09*)
		example
		says 'translating\.\.\.' 'New value: .+'
		;;
	06*) names ;;
	07-*)
		example '' 'one two three'
		says 'used value: [0-9]+'
		;;
	*srq/*)
		example "${VARIANT#*/}" '7 3'
		says 'Value received: 9'
		;;
	08*)
		example '' '7 3'
		says 'Value received: 9'
		;;
	10-*) example '' '1234 word' ;;
	11-*) example '' 1234 ;;
	12*)
		example '' '7 3'
		says 'CLIENT: Value received: 9' 'SERVER: Value sent: 9'
		;;
	13-*) three ;;
	esac
}
