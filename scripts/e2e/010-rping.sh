# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="rping: $(few 100) verified round trips of RDMA Read, Write and Send, $(few 20) of them of many FPDUs"

# On a rough wire blocks are smaller, since segments have at most 36 bytes.
check() {
	local size=65000

	[[ $WIRE == clean ]] || size=4000
	rping_once "$(few 80)"
	rping_once "$(few 20)" "$size"
}
