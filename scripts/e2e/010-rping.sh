# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="rping: $(few 100) verified round trips of RDMA Read, Write and Send"

check() { rping_once "$(few 100)"; }
