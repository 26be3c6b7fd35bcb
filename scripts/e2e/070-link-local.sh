# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="rping between link-local addresses"
FAMILIES="6"

check() {
	SERVER_IP=$(on "$SERVER" "ip -6 -oneline address show dev eth0 scope link" | grep -o 'fe80::[0-9a-f:]*')
	SERVER_IP+=%eth0
	rping_once 10
}
