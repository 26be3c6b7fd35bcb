# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="uDAPL's dapltest and dtest: Debian's dapl2-utils, by its provider for rdma_cm"
PACKAGES=dapl2-utils
SAMPLED='^(T/sr|T/mixed|P/rw-poll|P/rr-two|dtest/64k|dtest/sizes|dtestcm/listens|dtestsrq/srq)$'

groups() {
	printf '%s\n' T/{sr,sr-1,sr-64k,rw,rr,mixed,threads,seg-sr,seg-rw,seg-rr} P/{rw-block,rw-poll,rr-two,rr-poll} \
		L/{pz,evd,ep,psp,lmr,rpost,size_lmr} dtest/{4k,64k,cno,poll,stream,sizes} \
		dtestcm/{one,wait,listens} dtestsrq/{srq,receives} dtestx
}

CONF=/run/dat.conf
ENTRY='iwarp u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "eth0 0" ""'

prepare_dat() {
	in_both write_conf
	ENV="DAT_OVERRIDE=$CONF"
}

write_conf() { on "$1" "$(printf 'echo %q >%q' "$ENTRY" "$CONF")"; }

# The arguments of each test of dapltest; data are validated where dapltest can do that.
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

# dapl T|P ARGUMENTS: the server runs until it is asked to quit, which is tested, too
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

# small_command GROUP: print GROUP's command, of a program other than dapltest, which both ends run.
# Some of these programs continue after an error; their exit status is always 0, and their last line
# reports the result. dtest writes, reads and sends both ways; but the group dtest/stream only
# writes, with one completion for nine Writes, and dtest/sizes writes in both directions, and
# compares the data that come back. dtestsrq uses its shared receive queue with one connection, as
# dapl_cookie.c assumes that receives complete in the order in which they were posted: with several
# QPs they do not.
small_command() {
	case $1 in
	dtest/4k) echo 'dtest -b 4096 -B 100' ;;
	dtest/64k) echo 'dtest -b 65536 -B 40' ;;
	dtest/cno) echo 'dtest -b 4096 -B 20 -c' ;;
	dtest/poll) echo 'dtest -b 4096 -B 20 -p' ;;
	dtest/stream) echo 'dtest -b 65536 -w -B 100 -S 9' ;;
	dtest/sizes) echo 'dtest -D -a -b 16384 -B 20' ;;
	dtestcm/one) echo "dtestcm -p $PORT -c 100 -b 10" ;;
	dtestcm/wait) echo "dtestcm -p $PORT -c 100 -b 20 -w" ;;
	dtestcm/listens) echo "dtestcm -p $PORT -c 40 -b 4 -w -m" ;;
	dtestsrq/srq) echo "dtestsrq -p $PORT -c 1 -B 32 -t 20 -b 4096" ;;
	dtestsrq/receives) echo "dtestsrq -p $PORT -c 8 -B 8 -t 20 -b 4096 -S 0" ;;
	dtestx) echo dtestx ;;
	esac
}

# A server of dtest or dtestcm sends its address to the client over TCP, at the port TOLD_AT. dtest
# then listens for connections at DTEST_PORT, which none of its options can change.
TOLD_AT=15828 DTEST_PORT=45248

# small_once COMMAND: set output. Return 2 if dtest was late to listen after it had sent its address.
small_once() {
	local status=0

	guest_bg "$SERVER" server "$ENV $1 -P iwarp -s"
	on "$SERVER" "ready() { tcp_listens $TOLD_AT || listens_or_ended server $PORT; }; poll 20 ready"
	[[ $1 != dtest\ * ]] || watch_server
	output=$(client "$ENV $1 -P iwarp -h $SERVER_IP" 120) || status=$?
	if [[ $1 == dtest\ * && $output != *PASSED* ]] && server_was_late "$DTEST_PORT"; then
		guest_stop "$SERVER" server >/dev/null
		retried 'TCP was refused: dtest did not listen yet'
		return 2
	fi
	output+=$'\n'$(server_ends) || status=$?
	return $((status > 0))
}

small() {
	local output='' before=0 status connections=1

	[[ ! $1 =~ ' -c '([0-9]+) ]] || connections=${BASH_REMATCH[1]}
	! is_ours "$SERVER_DRIVER" || before=$(established "$SERVER")
	for _ in 1 2 3 4 5; do
		status=0
		small_once "$1" || status=$?
		[[ $status -eq 2 ]] || break
	done
	echo "$output"
	[[ $status -eq 0 ]] || fail "one end: status $status"
	! grep -qiE '\berr(or)?\b|fail' <<<"$output" || fail 'it says so'
	[[ $(grep -cE 'Test Complete\.( PASSED)?[[:space:]]*$' <<<"$output") -eq 2 ]] ||
		fail 'not both ends came to their end'
	is_ours "$SERVER_DRIVER" || return 0
	[[ $(established "$SERVER") -eq $((before + connections)) ]] || fail "not $connections connections"
}

check() {
	local kind=${VARIANT%/*} what=${VARIANT#*/}

	prepare_dat
	case $kind in
	T) dapl T "$(transaction "$what")" ;;
	P) dapl P "$(performance "$what")" ;;
	L) limit "$what" ;;
	*) small "$(small_command "$VARIANT")" ;;
	esac
}
