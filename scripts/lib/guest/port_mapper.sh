# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions for a guest: start iwpmd as an administrator does, and have rnic.py register and remove ports as an RNIC in
# hardware does.

# mapper_start: start iwpmd, and have a program listen, since the kernel registers with a new iwpmd only when a program
# listens or connects. When mapper_start returns, the kernel has registered. iwpmd and the program run on one processor,
# so that they always run in the same order.
mapper_start() {
	bg_start iwpmd 'exec taskset -c 0 iwpmd --systemd'
	poll 20 mapper_is_up || fail "iwpmd does not start: $(</run/bg/iwpmd/output)" || return 1
	find_out 'taskset -c 0'
}

# find_out [PREFIX]: have a program listen, so that the kernel detects a new iwpmd, or the end of iwpmd
find_out() { serve find_out 19999 "${1:-} rping -s -P -p 19999" && bg_stop find_out >/dev/null; }

# mapper_is_up: is iwpmd ready? At the end of its start it opens a netlink socket, to ask the kernel for its ports.
mapper_is_up() { ! bg_ended iwpmd && ss -Hf netlink 2>/dev/null | grep -q 'rdma:iwpmd'; }

# End iwpmd. Until a program listens, the kernel would still wait for answers of the ended iwpmd.
mapper_end() {
	bg_stop iwpmd >/dev/null
	find_out
}

# rnic_says ARGUMENT...: start rnic.py, which keeps running, and print its first output
rnic_says() {
	bg_start rnic "exec ${BASH_ENV%/*}/rnic.py $*"
	poll 20 rnic_has_said || fail "rnic.py says nothing: $(</run/bg/rnic/output)"
	cat /run/bg/rnic/output
}
rnic_has_said() { bg_ended rnic || grep -q ' 0$' /run/bg/rnic/output; }

nat_add() {
	nft add table inet rnic &&
		nft "add chain inet rnic nat { type nat hook $1 priority $2; }" &&
		nft "add rule inet rnic nat $3" && at_clean_up 'nft delete table inet rnic 2>/dev/null || true'
}

# rnic_listens ADDRESS PORT CARD: act as if an application listened on PORT, and its RNIC on another port, which this
# function prints. Connections to the RNIC's port are redirected to the port CARD.
rnic_listens() {
	local said

	said=$(rnic_says listen "$1" "$2") || return 1
	nat_add prerouting -100 "tcp dport ${said% 0} redirect to :$3" && echo "${said% 0}"
}

# rnic_connects ADDRESS PORT PEER-ADDRESS PEER-PORT: act as if an application connected from PORT, and its RNIC from
# another port. PEER-PORT is the port that the application connects to.
rnic_connects() {
	local said

	said=$(rnic_says connect "$@") || return 1
	[[ $said == *" $4 0" ]] || fail "ports: $said" || return 1
	nat_add postrouting 100 "tcp dport $4 snat to :${said%% *}"
}

rnic_ends() { bg_stop rnic >/dev/null && nft delete table inet rnic; }
