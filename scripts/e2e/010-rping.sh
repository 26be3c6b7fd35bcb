# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="rping: $(few 100) verified round trips of RDMA Read, Write and Send"

check() {
	local before count

	before=$(tcp_refusals)
	count=$(listeners)
	rping_once "$(few 100)"
	# What other tests take for a proof: where nothing is refused nothing is counted.
	[[ $WIRE != clean ]] || ! tcp_was_refused "$before" || fail "TCP was refused"
	! is_ours "$SERVER_DRIVER" || [[ $(listeners) -gt $count ]] || fail "no listener was counted"
}
