# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="uDAPL's dapltest: Debian's dapl2-utils, by its provider for rdma_cm"
PACKAGES=dapl2-utils
SAMPLED='^(T/sr|T/mixed|P/rw-poll|P/rr-two)$'

groups() {
	printf '%s\n' T/{sr,sr-1,sr-64k,rw,rr,mixed,threads,seg-sr,seg-rw,seg-rr} P/{rw-block,rw-poll,rr-two,rr-poll} \
		L/{pz,evd,ep,psp,lmr,rpost,size_lmr}
}

CONF=/run/dat.conf
ENTRY='iwarp u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "eth0 0" ""'

prepare_dat() {
	in_both write_conf
	ENV="DAT_OVERRIDE=$CONF"
}

write_conf() { on "$1" "$(printf 'echo %q >%q' "$ENTRY" "$CONF")"; }

# The arguments of each test of dapltest. Data are validated where it can do that.
transaction() {
	case $1 in
	sr) echo '-V -i 100 client SR 256 server SR 256' ;;
	sr-1) echo '-V -i 100 client SR 1 server SR 1' ;;
	sr-64k) echo '-V -i 20 client SR 65536 server SR 65536' ;;
	rw) echo '-V -i 100 client RW 4096 server RW 4096' ;;
	rr) echo '-V -i 100 client RR 4096 server RR 4096' ;;
	mixed) echo "-V -i 20 client RW 4096 1 server RW 2048 4 client SR 1024 4 server SR 4096 2" \
		"client SR 1024 3 -f server SR 2048 1 -f" ;;
	threads) echo '-V -t 4 -w 4 -i 20 client SR 1024 server SR 1024 client RR 2048' ;;
	seg-sr) echo '-V -i 20 client SR 1000 4 server SR 1000 4' ;;
	seg-rw) echo '-V -i 20 client RW 1000 4 server RW 1000 4' ;;
	seg-rr) echo '-V -i 20 server RR 1000 1' ;;
	esac
}

performance() {
	case $1 in
	rw-block) echo '-m b -i 100 -p 8 RW 4096 2' ;;
	rw-poll) echo '-m p -i 100 -p 8 RW 65536 1' ;;
	rr-two) echo '-m b -i 100 -p 8 RR 4096 2' ;;
	rr-poll) echo '-m p -i 100 -p 8 RR 65536 1' ;;
	esac
}

# dapl T|P ARGUMENTS: the server goes on until it is asked to quit, which is a test, too
dapl() {
	local common="-D iwarp -n $PORT" output

	serve "$ENV dapltest -T S $common"
	output=$(client "$ENV dapltest -T $1 -s $SERVER_IP $common ${*:2}" 240)
	echo "$output"
	! grep -qiE 'error|fail' <<<"$output" || fail 'it says so'
	client "$ENV dapltest -T Q -s $SERVER_IP $common"
	server_ends
}

limit() {
	local output

	output=$(client "$ENV dapltest -T L -D iwarp -m 50 -w 2 limit_$1" 240)
	echo "$output"
	expect_text "$output" '(attempted|Created|created|posted|size)'
}

check() {
	local kind=${VARIANT%/*} what=${VARIANT#*/}

	prepare_dat
	case $kind in
	T) dapl T "$(transaction "$what")" ;;
	P) dapl P "$(performance "$what")" ;;
	L) limit "$what" ;;
	esac
}
