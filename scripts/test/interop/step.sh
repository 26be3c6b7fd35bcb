# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# One step of scripts/test/interop.sh, in the form of an end-to-end test: run PROGRAM over IPv4 and IPv6 at the same
# time. The step also uses PORT, STEP and SETTINGS. It prints "outcome: STEP FAMILY connected|refused". With any other
# result the step fails, and prints "failed: FAMILY stuck" if the client neither ends nor prints anything, else "failed:
# FAMILY otherwise".

PINGS=3
SIZE=65000	# bytes of data, enough for many FPDUs

# command_of client|server IP PORT
command_of() {
	case $PROGRAM-$1 in
	rping-client) echo "set -o pipefail; rping -c -a $2 -p $3 -C $PINGS -S $SIZE -V -v | cut -b -40" ;;
	rping-server) echo "rping -s -a $2 -p $3 -C $PINGS -S $SIZE -V" ;;
	rdma_client-client) echo "rdma_client -s $2 -p $3" ;;
	rdma_client-server) echo "rdma_server -s $2 -p $3" ;;
	esac
}

# serve_both PORT COMMAND COMMAND: runs in a guest
serve_both() { serve server4 "$1" "$2" && serve server6 $(($1 + 1)) "$3"; }

# connect_both COMMAND COMMAND: runs in a guest
connect_both() {
	local family status

	bg_start client4 "$1"
	bg_start client6 "$2"
	for family in 4 6; do
		status=0
		bg_wait "client$family" 40 >"/run/client$family" 2>&1 || status=$?
		sed "s/^/$family: /" "/run/client$family"
		echo "$family: status $status"
	done
}

# call GUEST FUNCTION ARGUMENT...: run FUNCTION of this file in the guest
call() {
	local guest=$1 function=$2

	shift 2
	on "$guest" "$(declare -f "$function"); $(printf '%q ' "$function" "$@")" 100
}

# outcome FAMILY TEXT: judge the client's output TEXT of one family. This is called before "||", where errexit is off,
# so each failure has to be tested.
outcome() {
	local family=$1 text pings how=otherwise

	text=$(grep "^$family: " <<<"$2")
	pings=$({ grep -o 'ping data: rdma-ping-[0-9]*:' <<<"$text" || true; } | sort -u | wc -l)
	[[ $PROGRAM == rping ]] || pings=$PINGS
	if [[ $text == *"$family: status 0" && $pings -eq $PINGS ]]; then
		if on "$SERVER" "bg_wait server$family 40"; then
			echo "outcome: $STEP $family connected"
			return
		fi
	elif [[ $text == *RDMA_CM_EVENT_REJECTED* ]]; then
		echo "outcome: $STEP $family refused"
		return
	elif [[ $text == *"$family: status 124" ]]; then
		how=stuck
	fi
	echo "failed: $family $how"
	fail "IPv$family: neither verified data nor a refusal"
}

check() {
	local ip4 ip6 next=$((PORT + 1)) text status=0

	ip4=$(address_of "$SERVER" 4)
	ip6=$(address_of "$SERVER" 6)
	# shellcheck disable=SC2153 # from who runs the step
	on A "sysctl -q -w $SETTINGS"
	call "$SERVER" serve_both "$PORT" \
		"$(command_of server "$ip4" "$PORT")" "$(command_of server "$ip6" "$next")"
	text=$(call "$CLIENT" connect_both \
		"$(command_of client "$ip4" "$PORT")" "$(command_of client "$ip6" "$next")")
	echo "$text"
	outcome 4 "$text" || status=1
	outcome 6 "$text" || status=1
	return "$status"
}
