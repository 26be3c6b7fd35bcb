# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="what goes over the wire: MPA v2 Request and Reply, RTR when agreed, good CRCs"

check() {
	local capture=$GUEST_RUN/share/wire.pcapng
	local -a expect=()

	on "$CLIENT" capture_start
	rping_once 10
	on "$CLIENT" "capture_stop wire.pcapng && capture_is_whole"
	# Unmodified siw never asks for the peer-to-peer model; siw_mpa always does.
	! is_ours "$CLIENT_DRIVER" || expect=(--expect-rtr)
	# CRCs are in use if either end asks for them, as every driver but unmodified siw does.
	[[ $CLIENT_DRIVER/$SERVER_DRIVER == siw/siw ]] || expect+=(--expect-crc)
	"$TOP/scripts/lib/guest/startup.py" --check --expect-connections 1 "${expect[@]}" "$capture"
	# On a bad wire tshark does not find the beginning of each FPDU, since TCP has cut segments or sent them twice.
	[[ $WIRE != clean ]] || "$TOP/scripts/wire/judge.py" "$capture"
}
