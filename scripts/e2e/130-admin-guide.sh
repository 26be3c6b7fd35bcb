# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="the administrator's guide: every command has the output that the page shows"
WIRES=clean
FAMILIES="4"
GUIDE=Documentation/infiniband/iw_mpa_admin.rst

# The commands of the page have addresses of client and server; their output is that of srnic.
applies() { [[ $CLIENT_DRIVER/$SERVER_DRIVER == srnic/srnic ]] && stock_kernel; }

# guide_prepare TREE runs in the guest: install the program iw-mpa of the source tree TREE. Install
# iw_mpa, srnic and the modules that they need, without loading them. Load the modules that nft
# needs.
guide_prepare() {
	local dir

	dir=/run/guide/lib/modules/$(uname -r)
	driver_clear || return 1
	modprobe -a nf_tables nft_reject_inet || return 1
	mkdir -p "$dir/updates" /usr/local/sbin
	ln -sf "$1/scripts/iw-mpa" /usr/local/sbin
	cp /share/modules/{iw_mpa,srnic}.ko "$dir/updates"
	modprobe -a -D rdma_ucm iw_cm libcrc32c | sort -u | while read -r verb module _; do
		[[ $verb != insmod ]] || cp "$module" "$dir"
	done
	depmod -b /run/guide 2>/dev/null
	mount --bind /run/guide/lib/modules /lib/modules
	at_clean_up "[[ ! -e /lib/modules/${dir##*/}/updates/srnic.ko ]] || umount /lib/modules"
}

guests_of() {
	case $1 in
	client) echo "$CLIENT" ;;
	server) echo "$SERVER" ;;
	both) echo "$CLIENT $SERVER" ;;
	*) fail "the page has a command for '$1'" ;;
	esac
}

# Commands that change nothing, and whose output may be complete only later
SHOWS='^(iw-mpa|cat|grep|dmesg|rdma (link|resource|statistic) show) |^sysctl [^=]*$'

# step GUEST NAME COMMAND EXPECTED: run COMMAND of the page $GUIDE; if COMMAND ends with &, run it
# as the background job NAME. A command that only shows something is repeated until its output is
# as EXPECTED. A command that changes something runs once, and must print what is EXPECTED; if the
# page has no output, it must succeed.
step() {
	local output status end=$((SECONDS + 30))

	if [[ $3 =~ ^rping\ -s\ .*\ -p\ ([0-9]+)\ \&$ ]]; then
		guest_serve "$1" "$2" "${BASH_REMATCH[1]}" "${3% &}"
		return
	fi
	if [[ $3 == *' &' ]]; then
		guest_bg "$1" "$2" "${3% &}"
		return
	fi
	while true; do
		status=0
		output=$(guest_run "$1" "$3") || status=$?
		[[ $status -ne 125 ]] || return 1
		"$TOP/scripts/e2e/guide.py" --match "$4" <<<"$output" && break
		[[ $3 =~ $SHOWS ]] && ((SECONDS < end)) ||
			fail "$1: '$3' is not as the page has it: $output" || return 1
		sleep 0.5
	done
	# pkill fails if the program has already ended.
	[[ $status -eq 0 || $4 != - || $3 == pkill* ]] || fail "$1: '$3': exit status $status" || return 1
	echo "result: $1: $3"
}

check() {
	local steps host command expected name number=0

	for name in "$CLIENT" "$SERVER"; do
		on "$name" "$(declare -f guide_prepare); guide_prepare /host$TOP"
	done
	steps=$("$TOP/scripts/e2e/guide.py" "$TOP/$GUIDE")
	while read -r -u 5 host command expected; do
		# scripts/test/package.sh runs the commands for containers.
		[[ $host != containers* ]] || continue
		number=$((number + 1))
		for name in $(guests_of "$host"); do
			step "$name" "guide-$number" "$(base64 -d <<<"$command")" "$expected"
		done
	done 5<<<"$steps"
	[[ $number -gt 30 ]]
	for name in "$CLIENT" "$SERVER"; do
		on "$name" 'umount /lib/modules && ! driver_get | grep .'
	done
}
