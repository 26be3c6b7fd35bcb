# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="rdma_server and rdma_client: the synchronous API, a 16-byte message each way"

check() {
	on "$CLIENT" capture_start
	serve "rdma_server -s $SERVER_IP -p $PORT"
	client "rdma_client -s $SERVER_IP -p $PORT"
	server_ends
	on "$CLIENT" "capture_stop wire.pcapng"
	# Neither program checks the status of its completions, so the capture has to prove the messages.
	"$TOP/scripts/lib/guest/startup.py" --check --expect-connections 1 --expect-send-bytes 16 \
		"$GUEST_RUN/share/wire.pcapng"
}
