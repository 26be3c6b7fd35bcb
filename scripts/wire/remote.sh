# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A device in another host, for wire.sh --remote: the scripted peer runs here, and speaks to it over the network; the
# programs under test are copied there, and told over ssh what to do. There are libibverbs and librdmacm already,
# with the device's provider.

REMOTE=		# the host, as ssh knows it
REMOTE_HERE=	# our folder here
REMOTE_THERE=	# and there
REMOTE_PROGRAMS=	# tests and programs, built here
REMOTE_SSH=()	# ssh and its arguments
REMOTE_SAID=()	# what cm_probe says of the device, a line each
REMOTE_ADDRESS=	# the device's
REMOTE_PEER=	# of this host, as the device sees it
REMOTE_LINK=	# the interface to it

# remote_open HOST: one connection for all that follows; a socket's path is short
remote_open() {
	REMOTE=$1
	REMOTE_HERE=$(mktemp -d /tmp/iw_mpa-wire.XXXXXX)
	trap remote_close EXIT
	REMOTE_SSH=(ssh -o BatchMode=yes -o ConnectTimeout=30 -o "ControlPath=$REMOTE_HERE/ssh" "$REMOTE")
	"${REMOTE_SSH[@]}" -MNf </dev/null >/dev/null 2>"$REMOTE_HERE/said" ||
		die "no ssh to $REMOTE without a password: $(tail -n 1 "$REMOTE_HERE/said")"
}

remote_close() {
	[[ -z $REMOTE_THERE ]] || "${REMOTE_SSH[@]}" rm -r "$REMOTE_THERE" || true
	[[ ! -e $REMOTE_HERE/ssh ]] || "${REMOTE_SSH[@]}" -O exit 2>/dev/null || true
	rm -rf "${REMOTE_HERE:?}"
}

# Into the cache: what they are made of is in the name of their folder.
remote_build() {
	local sum

	sum=$(cat "$TOP"/scripts/wire/*.{py,c,h} | sha256sum | cut -c 1-16)
	REMOTE_PROGRAMS=$CACHE/probes/$sum
	[[ ! -d $REMOTE_PROGRAMS ]] || return 0
	rm -rf "$CACHE/probes"
	mkdir -p "$REMOTE_PROGRAMS.new"
	quietly 'building the programs under test' probes_build "$REMOTE_PROGRAMS.new"
	mv "$REMOTE_PROGRAMS.new" "$REMOTE_PROGRAMS"
}

# shellcheck disable=SC2016 # the shell there
remote_copy() {
	REMOTE_THERE=$(tar -C "$REMOTE_PROGRAMS" -c cm_probe verbs_probe | "${REMOTE_SSH[@]}" \
		'd=$(mktemp -d /tmp/iw_mpa-wire.XXXXXX) && tar -C "$d" -x && echo "$d"') ||
		die "$REMOTE does not take our programs"
}

# remote_find NAME: the device, and the way to it
remote_find() {
	local name=$1 said route

	said=$("${REMOTE_SSH[@]}" "$REMOTE_THERE/cm_probe" device "$name" 2>&1) || true
	mapfile -t REMOTE_SAID <<<"$said"
	case $said in
	NONE*) die "$REMOTE has no RDMA device $name of which libibverbs knows" ;;
	FOUND*) ;;
	*) die "cm_probe does not run in $REMOTE: ${REMOTE_SAID[-1]}" ;;
	esac
	[[ $said == *'TRANSPORT iWARP'* ]] || die "$name of $REMOTE is no iWARP device"
	REMOTE_ADDRESS=$(sed -n 's/^ADDRESS //p' <<<"$said" | head -n 1)
	[[ -n $REMOTE_ADDRESS ]] || die "$name of $REMOTE has no IP address: is its interface up?"
	route=$(ip -o route get "$REMOTE_ADDRESS" 2>&1) || die "no way to $REMOTE_ADDRESS of $name: $route"
	[[ $route =~ \ dev\ ([^ ]+).*\ src\ ([^ ]+) ]] || die "no way to $REMOTE_ADDRESS of $name: $route"
	REMOTE_LINK=${BASH_REMATCH[1]}
	REMOTE_PEER=${BASH_REMATCH[2]}
	[[ $REMOTE_LINK != lo ]] || die "$name is in this host: its peer has to be in another"
	said=$("${REMOTE_SSH[@]}" "$REMOTE_THERE/verbs_probe" "$REMOTE_ADDRESS" </dev/null 2>&1) || true
	[[ $said == READY ]] || die "verbs_probe does not run in $REMOTE: ${said##*$'\n'}"
}

# The arguments of run.py for that
remote_arguments() {
	printf '%s\n' --device other --ib-device "$1" --over "${REMOTE_SSH[*]}" --peer "$REMOTE_PEER"
}
