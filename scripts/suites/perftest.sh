# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034

# 040-perftest.sh has once(), which runs a server and a client of perftest. They connect twice, and
# the server may be late to listen for the second time: then once() returns 2.
# shellcheck source=scripts/e2e/040-perftest.sh
. "$TOP/scripts/e2e/040-perftest.sh"

DESCRIPTION="perftest's matrix: Debian's perftest, connected by rdma_cm"
SAMPLED='/65536-|_(lat|bw)/1$|_bw/8388608$|atomic|/ud$'

# A group is PROGRAM/SIZE; or PROGRAM/SIZE-WAY, with a WAY of options(); or PROGRAM/ud, for UD QPs.
# perftest has no option for events in latency tests of Writes, and its option for an SRQ works only
# with Sends.
groups() {
	printf '%s\n' ib_{send,write,read}_{lat,bw}/{1,4096,65536,1048576,8388608}
	printf '%s\n' ib_{send,read}_{lat,bw}/65536-events ib_write_bw/65536-events
	printf '%s\n' ib_send_{lat,bw}/65536-srq ib_{send,write,read}_bw/65536-both ib_send_bw/ud ib_atomic_{lat,bw}/8
}

# options WAY
options() {
	case $1 in
	events) echo -e ;;
	srq) echo --use-srq ;;
	both) echo -b ;;
	ud) echo '-c UD' ;;
	esac
}

check() {
	local program=${VARIANT%/*} size=${VARIANT#*/} way='' count=100 status output=''

	[[ $size != *-* ]] || way=${size#*-}
	size=${size%-*}
	[[ $size != ud ]] || { way=ud && size=1024; }
	[[ $size -lt 1048576 ]] || count=5	# the least that perftest accepts
	for _ in 1 2 3 4 5; do
		status=0
		once "$program $(options "$way")" "$size" "$count" $((size * count)) || status=$?
		[[ $status -eq 2 ]] || break
	done
	echo "$output"
	[[ $status -eq 0 ]] || fail "$program $VARIANT"
	expect_text "$output" "^ $size +$count "
}
