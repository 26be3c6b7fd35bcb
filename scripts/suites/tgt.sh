# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="iSER's target in user space, Debian's tgt; the kernel is the initiator"
PACKAGES=libaio1
UNPACKED=tgt
SAMPLED=.
KIT=iser

groups() { printf '%s\n' discovery disk again cut; }

# tgtd of this version has no option for another iSER port: iser_param_parser() tests an errno of an earlier call.
ISER_PORT=3260
# The same as in scripts/lib/guest/iser.sh
IQN=iqn.2000-01.test.iw-mpa:disk
DISK=/run/disk

tgtadm() { on "$SERVER" "/host$BUILT/usr/sbin/tgtadm --lld iser --op $*"; }

# A disk for the client. iSCSI over TCP gets another port, since TCP and RDMA share the host's ports.
target() {
	local tgtd="/host$BUILT/usr/sbin/tgtd -f --iscsi portal=127.0.0.1:$PORT"

	on "$SERVER" "truncate -s 16M $DISK"
	guest_serve "$SERVER" server "$ISER_PORT" "$tgtd"
	tgtadm new --mode target --tid 1 --targetname "$IQN"
	tgtadm new --mode logicalunit --tid 1 --lun 1 --backing-store "$DISK"
	# For iSER tgtd needs address and name of the initiator; "ALL" stands for addresses alone.
	tgtadm bind --mode target --tid 1 --initiator-address ALL
	tgtadm bind --mode target --tid 1 --initiator-name "${IQN%:*}:client"
}

# tgtadm cannot remove the target. So check that tgtd still runs, and kill it.
target_ends() {
	tgtadm show --mode target
	guest_stop "$SERVER" server KILL
	on "$SERVER" "rm $DISK"
}

login() { inside "$CLIENT" "iser_login '$SERVER_IP' $ISER_PORT"; }

check() {
	local want before

	target
	inside "$CLIENT" "iser_start"
	if [[ $VARIANT == discovery ]]; then
		expect_text "$(inside "$CLIENT" "iser_discover '$SERVER_IP' $ISER_PORT")" "$IQN"
	else
		before=$(established "$(our_end)")
		login
		[[ $(established "$(our_end)") -gt $before ]] || fail 'not by a connection of iw_mpa'
		disk_write_and_compare "at first"
		if [[ $VARIANT == again ]]; then
			inside "$CLIENT" "iser_logout"
			login
			disk_has "$want" "with another connection"
		elif [[ $VARIANT == cut ]]; then
			before=$(established "$(our_end)")
			inside "$CLIENT" "tcp_cut $ISER_PORT; doze 1; poll 60 iser_is_logged_in" 90
			disk_write_and_compare "over the next connection"
			[[ $(established "$(our_end)") -gt $before ]] || fail 'it did not connect again'
		fi
		inside "$CLIENT" "iser_logout; rm /run/data"
	fi
	inside "$CLIENT" "iser_end"
	target_ends
	on "$CLIENT" "poll 10 only_pool && driver_clear"
}
