# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions for wire.sh --remote, which tests an RDMA device in another host. The test's peer runs
# on this host, and exchanges TCP segments with the device over the network. cm_probe and
# verbs_probe, the ULPs, are copied to the other host, and get commands over ssh; libibverbs and
# librdmacm, with the device's provider, have to be installed there. Each of several runs at the
# same time has its own copy of the programs, and its own ports, which run.py chooses.

REMOTE=		# the host's name for ssh
REMOTE_HERE=	# temporary folder on this host
REMOTE_THERE=	# temporary folder on the other host
REMOTE_PROGRAMS=	# folder on this host with the tests and the built programs
REMOTE_SSH=()	# ssh and its arguments
REMOTE_SAID=()	# output of "cm_probe device", which describes the device
REMOTE_ADDRESS=	# address of the device
REMOTE_PEER=	# address of this host to which the device connects
REMOTE_LINK=	# network interface of this host from which the device is reached
REMOTE_CAPTURE=	# pid of dumpcap

# remote_open HOST: open the ssh connection that all later commands share. Its control socket is in
# a folder with a short path, since that of a Unix socket must not exceed 107 bytes.
remote_open() {
	REMOTE=$1
	REMOTE_HERE=$(mktemp -d /tmp/iw_mpa-wire.XXXXXX)
	trap remote_close EXIT
	REMOTE_SSH=(ssh -o BatchMode=yes -o ConnectTimeout=30 -o "ControlPath=$REMOTE_HERE/ssh" "$REMOTE")
	"${REMOTE_SSH[@]}" -MNf </dev/null >/dev/null 2>"$REMOTE_HERE/said" ||
		die "no ssh to $REMOTE without a password: $(tail -n 1 "$REMOTE_HERE/said")"
}

remote_close() {
	[[ -z $REMOTE_CAPTURE ]] || kill "$REMOTE_CAPTURE" 2>/dev/null || true
	[[ -z $REMOTE_THERE ]] || "${REMOTE_SSH[@]}" rm -r "$REMOTE_THERE" || true
	[[ ! -e $REMOTE_HERE/ssh ]] || "${REMOTE_SSH[@]}" -O exit 2>/dev/null || true
	rm -rf "${REMOTE_HERE:?}"
}

# Build the programs in a folder of the cache that is named by the checksum of their sources, unless
# that folder exists. Copy them to REMOTE_PROGRAMS, as a run in another source tree may delete the
# folder of the cache at any time.
remote_build() {
	REMOTE_PROGRAMS=$REMOTE_HERE/programs
	locked probes remote_build_locked
}

remote_build_locked() {
	local dir

	dir=$CACHE/probes/$(cat "$TOP"/scripts/wire/*.{py,c,h} | sha256sum | cut -c 1-16)
	if [[ ! -d $dir ]]; then
		rm -rf "$CACHE/probes"
		mkdir -p "$dir.new"
		quietly 'building the programs under test' probes_build "$dir.new"
		env -u PYTHONPYCACHEPREFIX python3 -m compileall -q "$dir.new"
		mv "$dir.new" "$dir"
	fi
	cp -a "$dir" "$REMOTE_PROGRAMS"
}

# shellcheck disable=SC2016 # expands on the other host
remote_copy() {
	REMOTE_THERE=$(tar -C "$REMOTE_PROGRAMS" -c cm_probe verbs_probe | "${REMOTE_SSH[@]}" \
		'd=$(mktemp -d /tmp/iw_mpa-wire.XXXXXX) && tar -C "$d" -x && echo "$d"') ||
		die "$REMOTE does not take our programs"
}

# remote_find NAME: find the address of the device NAME, and this host's interface from which it is
# reached. If REMOTE, the host's name for ssh, is an IPv6 address, take an IPv6 one of the device.
remote_find() {
	local name=$1 said route family=''

	[[ ${REMOTE##*@} != *:* ]] || family='.*:'

	said=$("${REMOTE_SSH[@]}" "$REMOTE_THERE/cm_probe" device "$name" 2>&1) || true
	mapfile -t REMOTE_SAID <<<"$said"
	case $said in
	NONE*) die "$REMOTE has no RDMA device $name of which libibverbs knows;" \
		"scripts/wire.sh --module in the tree of iw_mpa tests a driver on iw_mpa without a provider" ;;
	FOUND*) ;;
	*) die "cm_probe does not run in $REMOTE: ${REMOTE_SAID[-1]}" ;;
	esac
	[[ $said == *'TRANSPORT iWARP'* ]] || die "$name of $REMOTE is no iWARP device"
	REMOTE_ADDRESS=$(sed -n "/^ADDRESS $family/s/^ADDRESS //p" <<<"$said" | grep -v '^fe80:' | head -n 1) ||
		die "$name of $REMOTE has no ${family:+global }IP${family:+v6} address: is its interface up?"
	route=$(ip -o route get "$REMOTE_ADDRESS" 2>&1) || die "no way to $REMOTE_ADDRESS of $name: $route"
	[[ $route =~ \ dev\ ([^ ]+).*\ src\ ([^ ]+) ]] || die "no way to $REMOTE_ADDRESS of $name: $route"
	REMOTE_LINK=${BASH_REMATCH[1]}
	REMOTE_PEER=${BASH_REMATCH[2]}
	[[ $REMOTE_LINK != lo ]] || die "$name is in this host: its peer has to be in another"
	said=$("${REMOTE_SSH[@]}" "$REMOTE_THERE/verbs_probe" "$REMOTE_ADDRESS" </dev/null 2>&1) || true
	[[ $said == READY ]] || die "verbs_probe does not run in $REMOTE: ${said##*$'\n'}"
}

# remote_arguments NAME: print the options by which run.py uses the device NAME of the other host
remote_arguments() {
	printf '%s\n' --device other --ib-device "$1" --over "${REMOTE_SSH[*]}" --peer "$REMOTE_PEER"
}

# remote_capture FILE: start to capture the packets of the tests' ports between both hosts, if
# tshark is installed and this user may capture
remote_capture() {
	local said=$1.said end=$((SECONDS + 60))

	[[ -x $(command -v tshark) ]] || return 0
	dumpcap -q -B 32 -i "$REMOTE_LINK" -f "tcp portrange 20000-32000 and host $REMOTE_ADDRESS" -w "$1" \
		</dev/null 2>"$said" &
	REMOTE_CAPTURE=$!
	until grep -q '^File: ' "$said"; do
		((SECONDS < end)) || kill "$REMOTE_CAPTURE" 2>/dev/null || true
		kill -0 "$REMOTE_CAPTURE" 2>/dev/null ||
			{ say "not captured: $(tail -n 1 "$said")" && REMOTE_CAPTURE= && return; }
		sleep 0.1
	done
}

remote_looks() { sed -n 's/^voluntary_ctxt_switches:[[:space:]]*//p' "/proc/$REMOTE_CAPTURE/status"; }

# remote_captured FILE: end the capture when all packets so far are in FILE. dumpcap sleeps between
# two polls of its capture buffer, and exits at SIGINT without another poll: so wait until it has
# slept three times before the signal.
remote_captured() {
	local looks end=$((SECONDS + 60))

	looks=$(remote_looks) || return
	while [[ -e /proc/$REMOTE_CAPTURE && $(remote_looks) -lt $((looks + 3)) ]] && ((SECONDS < end)); do
		sleep 0.1
	done
	kill -INT "$REMOTE_CAPTURE"
	wait "$REMOTE_CAPTURE" || true
	REMOTE_CAPTURE=
	grep -q '^Packets received/dropped on .*: [0-9]*/0 ' "$1.said"
}
