# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="live migration by RDMA: Debian's QEMU in the guests, with a machine that writes while it moves"
SAMPLED=.

# "pages" registers memory when it is first needed, "pin-all" all memory at the beginning.
groups() { printf '%s\n' pages pin-all back nobody; }

BIOS=/run/bios STILL=/run/still QMP=/run/qmp
# Part of the machine's 64 MiB of memory; the rest is zero, for which QEMU sends one word a page.
STILL_AT=$((16 << 20)) STILL_SIZE=$((16 << 20))
COUNTER=0x10000

# The machine's only program adds 1 to a word of each of 16 pages, again and again:
#	cli; mov ax, 1000h; mov ds, ax; xor bx, bx; next: inc word [bx]; add bx, 1000h; jmp next
# and at the address where an x86 processor begins: jmp f000:0000
write_bios() {
	on "$1" "truncate -s 64K $BIOS
		printf '\xfa\xb8\x00\x10\x8e\xd8\x31\xdb\xff\x07\x81\xc3\x00\x10\xeb\xf8' |
			dd of=$BIOS conv=notrunc status=none
		printf '\xea\x00\x00\x00\xf0' | dd of=$BIOS bs=1 seek=$((0xfff0)) conv=notrunc status=none"
}

machine() {
	echo "qemu-system-x86_64 -M pc -accel tcg -m 64 -nodefaults -display none -bios $BIOS \
		-qmp unix:$QMP,server=on,wait=off $*"
}

# qmp GUEST COMMAND [JSON]
qmp() { on "$1" "python3 /host$TOP/scripts/suites/qmp.py $QMP $2 '${3:-}'"; }

starts() {
	on "$1" "head -c $STILL_SIZE /dev/urandom >$STILL"
	guest_bg "$1" machine "$(machine "-device loader,file=$STILL,addr=$STILL_AT,force-raw=on")"
	on "$1" "poll 30 test -S $QMP"
	counts "$1"
}

pin_all() {
	qmp "$1" migrate-set-capabilities '{"capabilities": [{"capability": "rdma-pin-all", "state": true}]}'
}

counter_of() { qmp "$1" human-monitor-command "{\"command-line\": \"xp /1hx $COUNTER\"}"; }

# counts GUEST: does the machine run in this guest?
counts() {
	local before

	before=$(counter_of "$1")
	[[ $before == *0x* ]] || fail "no counter: $before"
	for _ in {1..20}; do
		[[ $(counter_of "$1") == "$before" ]] || return 0
	done
	fail "the machine does not count: $before"
}

# Wait until the migration has ended, and print its state.
ended() {
	local status

	for _ in {1..200}; do
		status=$(qmp "$1" query-migrate)
		case $status in
		*'"status": "completed"'* | *'"status": "failed"'*) echo "$status" && return ;;
		esac
		on "$1" "doze 1"
	done
	fail "it does not end: $status"
}

still() { on "$1" "sha256sum <$2"; }

# moves FROM TO ADDRESS PORT
moves() {
	local before

	guest_bg "$2" machine "$(machine -incoming defer)"
	on "$2" "poll 30 test -S $QMP"
	if [[ $VARIANT == pin-all ]]; then
		pin_all "$1"
		pin_all "$2"
	fi
	qmp "$2" migrate-incoming "{\"uri\": \"rdma:$3:$4\"}"
	before=$(bytes_moved)
	qmp "$1" migrate "{\"uri\": \"rdma:$3:$4\"}"
	expect_text "$(ended "$1")" '"status": "completed"'
	expect_text "$(ended "$2")" '"status": "completed"'
	counts "$2"
	qmp "$2" pmemsave "{\"val\": $STILL_AT, \"size\": $STILL_SIZE, \"filename\": \"$STILL.new\"}"
	[[ $(still "$2" "$STILL.new") == "$WANT" ]] || fail "its memory is not what it was"
	[[ $(bytes_moved) -ge $((before + STILL_SIZE)) ]] || fail "fewer than $STILL_SIZE octets went"
	stops "$1"
}

stops() {
	qmp "$1" quit
	loudly guest_wait "$1" machine 60
	on "$1" "rm -f $QMP $STILL.new"
}

# No server listens, so the machine has to continue where it is.
stays() {
	qmp "$CLIENT" migrate "{\"uri\": \"rdma:$SERVER_IP:$PORT\"}" && fail "it has moved to nobody"
	expect_text "$(qmp "$CLIENT" query-migrate)" '"status": "failed"'
	counts "$CLIENT"
}

check() {
	in_both write_bios
	starts "$CLIENT"
	WANT=$(still "$CLIENT" "$STILL")
	if [[ $VARIANT == nobody ]]; then
		stays
		stops "$CLIENT"
	else
		moves "$CLIENT" "$SERVER" "$SERVER_IP" "$PORT"
		[[ $VARIANT != back ]] || moves "$SERVER" "$CLIENT" "$CLIENT_IP" $((PORT + 1))
		if [[ $VARIANT == back ]]; then stops "$CLIENT"; else stops "$SERVER"; fi
	fi
	in_both clear
}

clear() { on "$1" "rm -f $BIOS $STILL $STILL.new"; }
