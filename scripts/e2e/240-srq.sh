# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="rdma_xserver and rdma_xclient: a 16-byte message into a shared receive queue"
WIRES=clean
# rdma_xserver always listens on the wildcard address of IPv4.
FAMILIES="4"

check() {
	on "$CLIENT" capture_start
	serve "rdma_xserver -p $PORT -c r"
	client "rdma_xclient -s $SERVER_IP -p $PORT -c r"
	server_ends
	on "$CLIENT" "capture_stop wire.pcapng"
	"$TOP/scripts/lib/guest/startup.py" --check --expect-connections 1 --one-way \
		--expect-send-bytes 16 "$GUEST_RUN/share/wire.pcapng"
}
