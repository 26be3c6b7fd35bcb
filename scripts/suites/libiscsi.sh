# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="libiscsi's iSER, an initiator in user space: Debian's libiscsi-bin; the kernel is the target"
PACKAGES="libcunit1 libiscsi7"
UNPACKED=libiscsi-bin
SAMPLED='^(inq|perf)$'
KIT=iser

# These programs write nothing to the disk, and iscsi-perf does not look at what it reads: "perf" shows that as many
# bytes came. Left out are iscsi-test-cu, which crashes at its end over iSER, and iscsi-ls, which takes no URL of iSER.
groups() { printf '%s\n' inq readcapacity16 perf perf-random; }

IQN=iqn.2000-01.test.iw-mpa:disk

run() { client "/host$BUILT/usr/bin/iscsi-$1 iser://$SERVER_IP:$PORT/$IQN/0" 120; }

check() {
	local before moved random=

	inside "$SERVER" "iser_serve '$SERVER_IP' $PORT"
	before=$(established "$(our_end)")
	moved=$(bytes_moved)
	case $VARIANT in
	inq) expect_text "$(run inq)" '^Vendor:LIO-ORG' ;;
	readcapacity16) expect_text "$(run readcapacity16)" '^Total size:16777216$' ;;
	perf*)
		[[ $VARIANT == perf ]] || random=-r
		# 5 seconds of reads of 64 blocks
		expect_text "$(run "perf -t 5 -b 64 $random" | tr '\r' '\n')" ' iops '
		[[ $(bytes_moved) -ge $((moved + (1 << 20))) ]] || fail 'less than 1 MiB went'
		;;
	esac
	[[ $(established "$(our_end)") -gt $before ]] || fail 'not by a connection of iw_mpa'
	inside "$SERVER" "iser_serve_end '$SERVER_IP' $PORT"
	devices_go
}
