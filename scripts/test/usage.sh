#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Short tests of options of make and of the scripts that no other suite uses. scripts/test/static/offered.py reports an
# option that nothing uses.
#
#   scripts/test/usage.sh [TEST...]    (no argument: all of them)
#   scripts/test/usage.sh -l           print the names of the tests

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"

WORK=${USAGE_FOLDER:-}	# folder of this run; the environment names it if this script has started itself

# ends COMMAND...: the command has to succeed; its stdout is in $WORK/said
ends() { "$@" >"$WORK/said" || { cat "$WORK/said"; return 1; }; }

# said REGEX...: each REGEX matches a line of $WORK/said, the output of the last command
said() {
	local regex

	for regex in "$@"; do
		grep -qE -- "$regex" "$WORK/said" || { echo "not said: $regex" && cat "$WORK/said" && return 1; }
	done
}

# --- targets -----------------------------------------------------------------------------------

# "make" without a target prints a line about each target.
test_help() {
	local target
	local -a targets

	read -ra targets < <(sed -n 's/^\.PHONY: //p' "$TOP/Makefile" | paste -sd ' ')
	[[ ${#targets[@]} -gt 20 ]] || { echo "the Makefile has ${targets[*]}" && return 1; }
	ends make -s -C "$TOP" || return
	for target in "${targets[@]}"; do
		[[ $target == help ]] || said "^make $target +[^ ]" || return
	done
}

# wire.sh --device siw: the results of siw are ignored, but tests that are left out have to be reported.
test_wire_device() {
	KERNELS=$KERNEL "$TOP/scripts/wire.sh" --device siw \
		-k 'request_v1|rtr_offer_1|connect_to_where|segments_of_a_message' \
		initiator responder hazards data_ddp >"$WORK/said" || true
	said '^# wire: [0-9]+ passed' '^# report: ' 'ok .* responder_rtr_offer' 'ok .* data_ddp_D_4_1_1_segments' \
		'initiator_request_v1 .*# SKIP needs the sysctls of iw_mpa' '# SKIP needs --hazards' \
		'^ok .* initiator tshark: 0 connections' || return
	grep -qE '^[0-9]+ rules: ' "$(sed -n 's/^# report: //p' "$WORK/said")/report.txt"
}

# wire.sh --module tests any driver, given by the file of its module: here srnic.ko, which wire.sh
# then treats like a driver of another tree.
test_wire_module() {
	need_krel
	"$TOP/scripts/lib/build.sh" || return
	KERNELS=$KERNEL "$TOP/scripts/wire.sh" --module "$(find "$CACHE/build/$KREL" -name srnic.ko)" \
		-k 'rtr_offer_1|too_short_for_its_opcode_opcode|rtr_of_the_reply_by_default|connect_to_where' \
		initiator responder hazards >"$WORK/said" || { cat "$WORK/said" && return 1; }
	said '^# wire: [0-9]+ passed, 0 failed' '^ok .* responder_rtr_offer_1' '# SKIP needs --hazards' \
		'^ok .*_first_fpdu_is_too_short_for_its_opcode_opcode_8 \[[^]]*\]$' \
		'^ok .*_rtr_of_the_reply_by_default \[[^]]*\]$' || return
	grep -q '^repeats it: yes$' "$(sed -n 's/^# report: //p' "$WORK/said")/report.txt"
}

# wire.sh --module: a driver without a provider in rdma-core is tested by a kernel ULP: startup, and
# data in both directions. A test that needs verbs in user space is reported as skipped.
test_wire_kernel() {
	need_krel
	rm -rf "$WORK/acme"
	"$TOP/scripts/new-driver" acme "$WORK/acme" || return
	KERNELS=$KERNEL "$TOP/scripts/wire.sh" --module "$WORK/acme/acme.ko" \
		-k 'rtr_offer_[1-3]|own_depths|local_error_of_the_responder|F_4_1_1_|D_5_2_3|R_5_4_1_' \
		responder initiator data_mpa data_ddp data_term >"$WORK/said" || { cat "$WORK/said" && return 1; }
	said '^# wire: [0-9]+ passed, 0 failed' '^ok .* responder_rtr_offer_1 \[[^]]*\]$' \
		'^ok .* responder_local_error_of_the_responder.* # SKIP needs user space verbs, .*: a second request' \
		'^ok .* data_mpa_F_4_1_1_[^ ]*responder \[[^]]*\]$' \
		'^ok .* data_term_R_5_4_1_[^ ]*initiator \[[^]]*\]$' || return
	grep -q '^without: user space verbs' "$(sed -n 's/^# report: //p' "$WORK/said")/report.txt"
}

# If the guest dies, wire.sh stops, and it and its report say in which test: acme panics in the test whose peer offers
# to send the RTR message as Read alone.
test_wire_panic() {
	local name=responder_rtr_offer_4

	need_krel
	rm -rf "$WORK/acme"
	"$TOP/scripts/new-driver" acme "$WORK/acme" || return
	sed -i '/^static int acme_prepare/,/^}/s/^\tint err = -EINVAL;$/&\n\n\
\tif (!ho->params->initiator \&\& ho->params->rtr == IW_MPA_RTR_READ)\n\t\tpanic("acme panics on purpose");/' \
		"$WORK/acme/handoff.c"
	ends make -C "$WORK/acme" || return
	! KERNELS=$KERNEL "$TOP/scripts/wire.sh" --module "$WORK/acme/acme.ko" -k 'rtr_offer_[2346]|own_depths' \
		responder initiator data_mpa >"$WORK/said" || { cat "$WORK/said" && return 1; }
	said "^ok .* responder_rtr_offer_2 \[" "^not ok .* ${name} \[" '^# wire: [0-9]+ passed, 1 failed$' \
		'^# the guest died while this test ran: Kernel panic .*: acme panics on purpose$' \
		'^# the whole log: .*console$' "^# alone: .*${name} '" || return
	grep -A 1 "^ *$name: it began and did not end" "$(sed -n 's/^# report: //p' "$WORK/said")/report.txt"
}

test_setup() { ends make -s -C "$TOP" setup; }

test_modules() {
	local module

	ends make -s -C "$TOP" modules || return
	need_krel
	for module in iw_mpa srnic; do
		[[ $(modinfo -F vermagic "$CACHE/build/$KREL/src/drivers/infiniband/sw/$module/$module.ko") == \
			"$KREL "* ]] ||
			{ echo "no $module.ko for $KREL" && return 1; }
	done
}

# No kernel is refused for its release: build for a kernel with the release of another
# distribution's kernel, whose headers are really those of $KREL.
# shellcheck disable=SC2016 # expands in the inner shell
test_any_kernel() {
	local krel=6.14.0-1017-azure headers

	need_krel
	headers=$(realpath "$KDIR")
	ends env -u KREL -u KERNEL unshare -m bash -c 'mount -t tmpfs any /lib/modules && mkdir "/lib/modules/$1" &&
		ln -s "$2" "/lib/modules/$1/build" && make -s -C "$3" modules KREL="$1" 2>&1' \
		- "$krel" "$headers" "$TOP" || return
	said "kernel ${krel//./\\.}: not tested on this one$" || return
	[[ -e $CACHE/build/$krel/src/drivers/infiniband/sw/srnic/srnic.ko ]] ||
		{ echo "no srnic.ko for $krel" && return 1; }
	rm -r "${CACHE:?}/build/$krel"
}

# Targets of make that need no kernel work on hosts for which scripts/kernels has none: of another
# distribution, or with another processor. Replaced files /etc/os-release and dpkg simulate these.
# shellcheck disable=SC2016 # expands in the inner shell
test_any_host() {
	local host=$WORK/ubuntu root=$WORK/root version

	version=$(our_version)
	rm -rf "$host" "$root"
	mkdir -p "$host" "$root/lib/modules/6.14.0-1017-azure/updates" "$root/usr/local/sbin"
	touch "$root/lib/modules/6.14.0-1017-azure/updates/srnic.ko" "$root/usr/local/sbin/iw-mpa"
	printf '%s\n' 'ID=ubuntu' 'ID_LIKE=debian' 'VERSION_ID="24.04"' >"$host/os-release"
	printf '%s\n' '#!/bin/sh' '[ "$1" = --print-architecture ] && echo arm64 || exec /usr/bin/dpkg "$@"' \
		>"$host/dpkg"
	chmod +x "$host/dpkg"
	ends env -u KERNEL KREL=6.14.0-1017-azure unshare -m bash -ec 'mount --bind "$1/os-release" /etc/os-release
		make -s -C "$2" deb
		make -s -C "$2" release
		make -s -C "$2" uninstall INSTALL_MOD_PATH="$3"
		for group in deb release; do
			PATH="$1:$PATH" "$2/scripts/lib/setup.sh" $group
		done' - "$host" "$TOP" "$root" || return
	said "/iw-mpa-dkms_${version//./\\.}-[0-9]+_all\.deb$" "/release/${version//./\\.}$" || return
	find "$root" -type f | grep . && return 1
	rm -r "$host" "$root"
}

# cross_built NAME: build for the kernel NAME without a warning, and check the modules' processor
cross_built() (
	build=$WORK/cross
	kernel_row "$1"
	rm -rf "$build"
	export KREL='' KERNEL=$1 IW_MPA_BUILD=$build
	"$TOP/scripts/lib/setup.sh" modules || return
	"$TOP/scripts/lib/build.sh" modules W=1 >"$WORK/said" 2>&1 || { cat "$WORK/said" && return 1; }
	! grep -E 'warning: |WARNING: |ERROR: ' "$WORK/said" || return
	krel=$(find_krel "$1")
	for module in iw_mpa srnic; do
		file=$build/src/drivers/infiniband/sw/$module/$module.ko
		[[ $(modinfo -F vermagic "$file") == "$krel "* ]] || { echo "no $module.ko for $krel" && return 1; }
		LC_ALL=C readelf -h "$file" | grep -qE "Machine: +${MACHINE[$KARCH]}$" ||
			{ readelf -h "$file" && return 1; }
	done
	rm -r "$build"
)

# The kernels of scripts/kernels for other architectures
declare -A MACHINE=([arm64]=AArch64 [s390x]='IBM S/390')
test_cross() {
	local name seen=0

	for name in $(kernel_names); do
		[[ $(arch_of "$name") != amd64 ]] || continue
		cross_built "$name" || return
		seen=$((seen + 1))
	done
	[[ $seen -gt 0 ]]
}

test_deb() {
	local deb

	ends make -s -C "$TOP" deb || return
	deb=$(<"$WORK/said")
	[[ $(wc -l <"$WORK/said") -eq 1 && $(dpkg-deb -f "$deb" Version) == "$(our_version)"-* ]] ||
		{ echo "no package: $deb" && return 1; }
	unshare -m "$0" --deb-goes "$deb"
}

# headers_of RELEASE PACKAGE...: check that scripts/deb/headers names these packages for the kernel RELEASE of Ubuntu
headers_of() {
	OS_RELEASE=$WORK/os-release "$TOP/scripts/deb/headers" "$1" |
		diff - <(printf '%s\n' "linux-headers-$1" "${@:2}")
}

# For a kernel release that matches a row of scripts/kernels, whatever its numbers are,
# scripts/deb/headers names the package of headers in that row. For other kernels it names the
# package of Debian or Ubuntu, if there is one.
test_headers() {
	local name suite

	echo 'VERSION_ID="24.04"' >"$WORK/os-release"
	for name in $(kernel_names); do
		kernel_row "$name"
		suite=
		[[ $KSUITE != *-backports ]] || suite=" -t $KSUITE"
		headers_of "$(sed 's/\[0-9\]+/9/g; s/\\//g' <<<"$KRELEASES")" "$KHEADERS$suite" || return
	done
	headers_of 6.9.7+bpo-cloud-amd64 'linux-headers-cloud-amd64 -t bookworm-backports' || return
	headers_of 6.8.0-45-generic linux-headers-generic || return
	echo 'VERSION_ID="22.04"' >"$WORK/os-release"
	headers_of 6.8.0-45-generic linux-headers-generic-hwe-22.04 || return
	headers_of 5.15.0-125-generic linux-headers-generic || return
	echo 'VERSION_ID="24.04"' >"$WORK/os-release"
	headers_of 6.14.0-29-generic linux-headers-generic-hwe-24.04 || return
	for name in azure aws gcp; do
		headers_of "6.14.0-1017-$name" "linux-headers-$name" || return
	done
	headers_of 7.0.0-mine
}

# installed FOLDER: list the files below FOLDER, except documents, with modes and checksums
installed() {
	(cd "$1" && find . ! -type d ! -path './usr/share/doc/*' ! -path './var/*' ! -path './root/*' -printf '%P %m ' \
		-exec sha256sum {} \; |
		sed 's| [^ ]*$||' | sort)
}

# enabled ROOT: list the units that systemd would start
enabled() { find "$1/etc/systemd" -name 'iw-mpa-*' -printf '%P\n' | sort; }

# make_host: make a copy of this host in $WORK/host/root; the caller has a mount namespace for that
make_host() {
	local tmp=$WORK/host

	mkdir -p "$tmp"
	mount -t tmpfs -o mode=755 usage "$tmp" && mkdir "$tmp"/{upper,work,root} &&
		mount -t overlay -o "lowerdir=/,upperdir=$tmp/upper,workdir=$tmp/work" usage "$tmp/root"
}

# fake PROGRAM [SHELL-COMMAND]: replace PROGRAM on the copy: it writes its arguments to /log, and runs SHELL-COMMAND
fake() {
	local file=$WORK/host/root/usr/local/sbin/$1

	printf '%s\n' '#!/bin/sh' "echo $1 \"\$@\" >>/log" "${2:-}" >"$file"
	chmod +x "$file"
}

# On the copy of the host pretend, by files below /sys and fake programs, that there is a network
# device, eth0, with two links, of srnic and of another driver, and no module of iw_mpa is loaded.
fake_host() {
	local root=$WORK/host/root

	make_host && mount --rbind /dev "$root/dev" && mount -t tmpfs sys "$root/sys" || return
	mkdir -p "$root"/{etc/iw-mpa,run} "$root"/sys/{class/net/eth0,module}
	# shellcheck disable=SC2016 # expands in the fake
	fake rdma 'link=/sys/class/infiniband/${3%/1}
		case "$1 $2" in
		"link add") [ "$7" != full0 ] || exit 1; mkdir -p "$link/iw_mpa" && echo "$7" >"$link/netdev" ;;
		"link delete") rm -r "$link" ;;
		"resource show") [ ! -e /run/rdma_fails ] || { echo "no answer" >&2; exit 1; } ;;
		"link show") echo "link $3 state ACTIVE physical_state LINK_UP netdev $(cat "$link/netdev") " ;;
		esac'
	# shellcheck disable=SC2016 # expands in the fake
	fake modprobe 'case $1 in -R) exit 1 ;; -qa) mkdir -p /sys/module/iw_mpa /sys/module/srnic ;; esac'
	fake rmmod
	# The copy is in a namespace of processes; with /run/first it looks like the host's.
	# shellcheck disable=SC2016 # expands in the fake
	fake readlink 'case $1 in
		/proc/self/ns/pid) if [ -e /run/first ]; then echo "pid:[4026531836]"; else echo "pid:[1]"; fi ;;
		*) exec /bin/readlink "$@" ;;
		esac'
	touch "$root/run/first"
	fake systemctl '[ "$*" != "is-active iwpmd" ] || [ -e /run/iwpmd ]'
	fake dkms
	chroot "$root" rm -f /log /usr/lib/systemd/systemd-sysctl
	chroot "$root" \
		sh -c 'mkdir -p /usr/lib/systemd; ln -s /usr/local/sbin/sysctl-fake /usr/lib/systemd/systemd-sysctl'
	fake sysctl-fake
	make_link srnic0 eth0
	make_link rxe0 eth0
	rmdir "$root/sys/class/infiniband/rxe0/iw_mpa"
}

# make_link NAME NETDEV
make_link() {
	mkdir -p "$WORK/host/root/sys/class/infiniband/$1/iw_mpa"
	echo "$2" >"$WORK/host/root/sys/class/infiniband/$1/netdev"
}

has_link() { [[ -e $WORK/host/root/sys/class/infiniband/$1 ]]; }

# enter COMMAND...: with a PATH in which the fakes are first, and without a network
enter() { env PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin unshare -n "$@"; }

# there COMMAND...: run COMMAND on the copy, in new PID and network namespaces; output in $WORK/said
there() {
	rm -f "$WORK/host/root/log"
	# shellcheck disable=SC2016 # expands in the chroot
	enter -pf chroot "$WORK/host/root" \
		sh -c 'mount -t proc proc /proc; "$@"; status=$?; umount /proc; exit $status' \
		- "$@" >"$WORK/said" 2>&1 </dev/null
}

link() { there /usr/libexec/iw-mpa/link "$@"; }

# logged REGEX: a fake program was called with such arguments
logged() {
	grep -qsE -- "$1" "$WORK/host/root/log" || { echo "not called: $1" && cat "$WORK/host/root/log"; return 1; }
}

links_are() { printf '%s\n' "$@" >"$WORK/host/root/etc/iw-mpa/links"; }

# No program that reads /etc/iw-mpa/links takes a line with a mistake for a link.
file_is_read() {
	local root=$WORK/host/root

	links_are '   #plain0 eth0' '	# plain0 eth0' 'e/f eth0' '  srnic7   eth7  crc=0' 'bad0 eth8 crc:0' 'alone'
	link up --netdev eth0 && has_link srnic_eth0 || return
	link up --netdev eth7 && said '^iw-mpa: eth7 has a line' || return
	! link up || return
	said 'a name has letters.*: e/f$' 'a line is a name.*: alone$' 'a line is a name.*: bad0 eth8 crc:0$' || return
	! grep '#' "$WORK/said" || return
	rm -rf "$root/units"
	there sh -c 'mkdir /units; /usr/lib/systemd/system-generators/iw-mpa-generator /units' || return
	(cd "$root/units" && find . -name 'iw-mpa-link@*.service' | sort) >"$WORK/said"
	diff "$WORK/said" - <<-'END'
	./sys-subsystem-net-devices-eth7.device.wants/iw-mpa-link@srnic7.service
	./sys-subsystem-net-devices-eth8.device.wants/iw-mpa-link@bad0.service
	END
}

# If "link up" loads the module, after the boot, it also applies sysctl.d's settings of net.iw_mpa.
module_comes_late() {
	rm -rf "$WORK"/host/root/sys/module/*
	links_are 'srnic1 eth0'
	link up srnic1 && has_link srnic1 && logged '^sysctl-fake --prefix=/net/iw_mpa$' || return
	link down srnic1 && ! has_link srnic1 && link up srnic1 && has_link srnic1 &&
		! grep sysctl "$WORK/host/root/log"
}

# "link down NAME" removes only links of iw_mpa, and links that /etc/iw-mpa/links names.
down_by_name() {
	links_are 'srnic1 eth0'
	! link --follow down srnic9 && said 'has no link srnic9' || return
	! link --follow down rxe0 && said 'has no link rxe0' && has_link rxe0 || return
	link --follow down srnic0 && ! has_link srnic0 || return
	# systemd calls "link down" without --follow. If the link was already removed, it succeeds.
	link down srnic9
}

# When an interface gets another name, systemd stops the unit of the interface's link, as if the
# interface had been removed. The link has to stay.
rename_keeps_link() {
	local sys=$WORK/host/root/sys name

	links_are 'srnic1 eth0'
	for name in srnic1 srnic_eth0; do
		make_link "$name" lan0
	done
	mv "$sys/class/net/eth0" "$sys/class/net/lan0"
	link down srnic1 && said '^iw-mpa: srnic1 stays' && has_link srnic1 || return
	links_are '# none'
	link down --netdev eth0 && said '^iw-mpa: srnic_eth0 stays' && has_link srnic_eth0 || return
	# An administrator can remove the link; so can systemd if the link's line names another interface.
	links_are 'srnic1 eth0'
	link --follow down srnic1 && ! has_link srnic1 || return
	link --follow down srnic_eth0 && ! has_link srnic_eth0 || return
	mkdir "$sys/class/net/eth0"
	make_link srnic1 lan0
	link down srnic1 && ! has_link srnic1
}

# A link that has no line in the file, and prevents another link or the loading of new modules, is named in the message.
old_link_is_named() {
	local sys=$WORK/host/root/sys

	mkdir -p "$sys"/class/net/full0 "$sys"/module/{iw_mpa,srnic}
	make_link srnic_old full0
	links_are 'srnic1 full0'
	fake modinfo 'echo newer'
	! link restart || return
	said 'the loaded modules stay, for there is still srnic_old$' \
		'full0 has srnic_old: iw-mpa link down srnic_old$' || return
	link --follow down srnic_old && ! has_link srnic_old || return
	# "link restart NAME" does not load other modules, so that another link is no reason to complain.
	make_link srnic_old full0
	links_are 'srnic1 eth0'
	link restart srnic1 && link --follow down srnic_old && link --follow down srnic1
}

# A link of srnic is wanted, and a device of another driver has the name: "link up" complains.
other_driver_has_name() {
	links_are 'rxe0 eth0'
	! link up rxe0 && said '^iw-mpa: rxe0 is a device of another driver: ' && has_link rxe0 || return
	links_are 'rxe0 eth0 rxe'
	link up rxe0
}

# "link up" makes links of units that systemd has started, not of those that another unit only names. "link down", called
# by hand, stops the unit and nothing that needs it: a mount could not be ended without its device.
units_are_followed() {
	local root=$WORK/host/root

	mkdir -p "$root/run/systemd/system"
	# shellcheck disable=SC2016 # expands in the fake
	fake systemctl 'case "$*" in
		list-units*--all*) echo "iw-mpa-netdev@eth0.service loaded inactive dead" ;;
		list-units*) echo "iw-mpa-netdev@lan0.service loaded active exited" ;;
		esac'
	mkdir -p "$root/sys/class/net/lan0"
	links_are '# none'
	link --follow up && has_link srnic_lan0 && ! has_link srnic_eth0 &&
		logged '^systemctl start iw-mpa-netdev@lan0\.service$' || return
	link --follow down srnic_lan0 && ! has_link srnic_lan0 &&
		logged '^systemctl stop --job-mode=ignore-requirements iw-mpa-netdev@lan0\.service$' || return
	fake systemctl '[ "$*" != "is-active iwpmd" ] || [ -e /run/iwpmd ]'
	rm -r "$root/run/systemd" "$root/sys/class/net/lan0"
}

# A name may have blanks, which /etc/iw-mpa/links does not take, but "rdma link add" does.
blanks_in_name() {
	: >"$WORK/host/root/run/rdma_fails"
	make_link 'my link' eth0
	link users && said '^my link: unknown' || return
	rm "$WORK/host/root/run/rdma_fails"
	rm -r "$WORK/host/root/sys/class/infiniband/my link"
}

# In the mode "exclusive" the kernel hides RDMA devices of other network namespaces: only the device files of ib_uverbs
# show them. Modules that these use are not unloaded.
foreign_link_stays() {
	local root=$WORK/host/root

	mkdir -p "$root"/sys/module/{iw_mpa,srnic} "$root"/sys/class/infiniband_verbs/uverbs{0,1}
	echo srnic_box >"$root/sys/class/infiniband_verbs/uverbs0/ibdev"
	echo rxe0 >"$root/sys/class/infiniband_verbs/uverbs1/ibdev"
	links_are 'srnic1 eth0'
	fake modinfo 'echo newer'
	link up && has_link srnic1 || return
	! link restart && has_link srnic1 && said 'another network namespace has srnic_box, ' || return
	! link remove && has_link srnic1 && said '^iw-mpa: not removed, .* namespace has srnic_box: ' || return
	! grep rmmod "$root/log" && link restart --force && logged '^rmmod srnic$' || return
	rm -r "$root/sys/class/infiniband_verbs"
	link restart && logged '^rmmod srnic$' && link down srnic1
}

# idle_is_used LINE WHAT [ALSO]: "link remove", and with ALSO "link down" too, leave srnic1, and LINE names the reason
idle_is_used() {
	link up && ! link remove && has_link srnic1 && said "$1" || return
	[[ -z ${2:-} ]] || { ! link --follow down srnic1 && has_link srnic1 && said "$2"; } || return
	link --follow down --force srnic1 && ! has_link srnic1 && link up
}

# What the kernel has mounted over RDMA may be without a connection: an NVMe disk that reconnects, idle NFS, iSER.
# A failure of "rdma resource" does not mean that there are no connections either.
# shellcheck disable=SC2016 # expands in the fake
idle_storage_stays() {
	local root=$WORK/host/root disk

	disk=$root/sys/class/nvme/nvme1
	mkdir -p "$disk" "$root"/sys/class/{nvme/nvme0,scsi_host/host0}
	echo pcie >"$root/sys/class/nvme/nvme0/transport"
	links_are 'srnic1 eth0'
	echo rdma >"$disk/transport"
	echo connecting >"$disk/state"
	echo 'traddr=10.0.0.2,trsvcid=4420,host_traddr=10.0.0.1' >"$disk/address"
	idle_is_used '^srnic1: nvme_rdma .* with 10\.0\.0\.2:4420$' '^iw-mpa: srnic1 stays, .* 10\.0\.0\.2:4420:' || return
	echo live >"$disk/state"
	: >"$root/run/rdma_fails"
	idle_is_used '^srnic1: .* rdma resource says: no answer$' '^iw-mpa: srnic1 stays, .*: no answer: ' || return
	rm "$root/run/rdma_fails"
	echo iscsi_iser >"$root/sys/class/scsi_host/host0/proc_name"
	idle_is_used '^iscsi_iser: host0$' || return
	rm -r "$root/sys/class/scsi_host"
	printf '%s\n' '40 20 0:50 / /media rw,relatime shared:9 - nfs srv:/mnt rw,vers=3,proto=rdma,port=20049,addr=10.0.0.2' \
		'41 20 0:51 / /data rw - nfs4 srv:/data rw,vers=4.2,proto=tcp' '42 20 8:1 / /rdma rw - ext4 /dev/rdma rw,rdma' \
		'43 20 0:52 / /smb rw - cifs //srv/a rw,vers=3.1.1,rdma,addr=10.0.0.2' >"$root/mountinfo"
	fake cat 'case $* in */mountinfo) exec /bin/cat /mountinfo ;; *) exec /bin/cat "$@" ;; esac'
	link up && ! link remove && grep -E ' at ' "$WORK/said" | diff - <(printf '%s\n' \
		'cifs: //srv/a at /smb' 'nfs: srv:/mnt at /media') || return
	rm "$root/usr/local/sbin/cat"
	link remove && ! has_link srnic1
}

# "link remove", which the removal of the package calls, removes links and modules. In a chroot, or in a container, it
# must not remove those of the host.
removal() {
	local root=$WORK/host/root

	mkdir -p "$root/sys/module/iw_mpa"
	make_link srnic1 eth0
	links_are 'srnic1 eth0'
	rm -f "$root/log"
	enter chroot "$root" /usr/libexec/iw-mpa/link remove || return
	mount -t proc proc "$root/proc" || return
	enter chroot "$root" /usr/libexec/iw-mpa/link remove || return
	umount "$root/proc"
	rm "$root/run/first"
	link remove || return
	! grep -sE '^(rdma|rmmod) ' "$root/log" && has_link srnic1 || return
	touch "$root/run/first"
	link remove && ! has_link srnic1 && logged '^rmmod iw_mpa$'
}

# The package's postinst reports a failed build of dkms. A kernel that dkms skips is no failure.
dkms_fails() {
	local root=$WORK/host/root status=0 build

	build=$root/lib/modules/$(uname -r)/build
	# This may be a symlink to the kernel's headers, into which the test would write.
	rm -rf "${build%/build}"
	cp "$WORK/host/control/postinst" "$root/postinst"
	mkdir -p "$root/usr/lib/dkms" "$build"
	printf '%s\n' '#!/bin/sh' 'exit 10' >"$root/usr/lib/dkms/common.postinst"
	chmod +x "$root/usr/lib/dkms/common.postinst"
	fake modinfo 'exit 1'
	there /postinst configure || status=$?
	[[ $status -eq 10 ]] && said '^iw-mpa: srnic is not built for ' || return
	echo '# CONFIG_INFINIBAND is not set' >"$build/.config"
	echo '#!/bin/sh' >"$root/usr/lib/dkms/common.postinst"
	there /postinst configure && said '^iw-mpa: kernel .* has no RDMA '
}

# finds LEVEL TEXT REMEDY [COMMAND...]: "iw-mpa doctor", as an argument of COMMAND, has this finding with this remedy
finds() {
	there "${@:4}" iw-mpa doctor || true
	grep -A 1 -E "^$1 +$2$" "$WORK/said" | grep -qE "^ {11}$3$" || { echo "not found: $2" && return 1; }
}

# "iw-mpa doctor" says what keeps the kernel from loading srnic, as far as that has to be pretended.
# shellcheck disable=SC2016 # expands in the fakes, or on the copy
doctor_of_modules() {
	local root=$WORK/host/root alone='the kernel takes signed modules alone \(Secure Boot\), and' way
	local lockdown=$root/sys/kernel/security/lockdown enforce=$root/sys/module/module/parameters/sig_enforce

	rm -rf "$root"/sys/module/*
	mkdir -p "${lockdown%/*}" "${enforce%/*}"
	fake modinfo 'case $* in *signer*) cat /signer ;; *) echo 1 ;; esac'
	fake mokutil '[ ! -e /enrolled ] || { echo "$2 is already enrolled"; exit 1; }; echo "$2 is not enrolled"'
	fake modprobe 'case $* in
		"-nv -b srnic") grep -qsx "blacklist srnic" /etc/modprobe.d/srnic.conf || echo insmod ;;
		esac'
	for way in "$lockdown none [integrity] confidentiality" "$lockdown none integrity [confidentiality]" \
		"$enforce Y"; do
		echo '[none] integrity confidentiality' >"$lockdown"
		echo N >"$enforce"
		rm -f "$root/signer" "$root/enrolled"
		there iw-mpa doctor || true
		said '^ok       srnic is not loaded: "rdma link add" does it$' || return
		echo "${way#* }" >"${way%% *}"
		finds fault "$alone srnic is not signed" \
			'let DKMS build and sign it: apt-get install \./iw-mpa-dkms_\*_all\.deb' || return
		echo 'DKMS module signing key' >"$root/signer"
		finds fault "$alone does not know the key of DKMS" \
			'then reboot: mokutil --import /var/lib/dkms/mok\.pub' || return
		touch "$root/enrolled"
		there iw-mpa doctor || true
		said '^ok       srnic is not loaded: ' || return
	done

	echo 'blacklist srnic' >"$root/etc/modprobe.d/srnic.conf"
	finds fault 'srnic is blacklisted' 'grep -r srnic /etc/modprobe\.d' || return
	finds fault 'the kernel takes no modules any more \(kernel\.modules_disabled\)' 'systemctl reboot' \
		sh -c 'mount -t tmpfs doctor /proc/sys/kernel; echo 1 >/proc/sys/kernel/modules_disabled
			"$@"; umount /proc/sys/kernel' - || return
	finds fault 'a container may not load modules' 'on its host: modprobe -a srnic rdma_ucm' \
		setpriv --bounding-set -sys_module || return
	finds fault 'kernel 2\.6\.[^ ]+ is older than 6\.1' 'then reboot: apt-get update && apt-get dist-upgrade' \
		setarch --uname-2.6 || return
	finds fault 'rdma_ucm is not loaded: programs cannot use rdma_cm' 'modprobe rdma_ucm' || return
	mkdir "$root/sys/module/rdma_ucm"
	there iw-mpa doctor || true
	! grep 'rdma_ucm is not loaded' "$WORK/said"
}

# "iw-mpa doctor" reports that rdma-core's port mapper is missing beside an RNIC in hardware, and that it runs where
# there is none.
doctor_of_port_mapper() {
	local root=$WORK/host/root devices

	devices=$root/sys/class/infiniband
	rm -rf "${devices:?}"/*
	# An RNIC in software has no device below it, and an InfiniBand card is no RNIC.
	mkdir -p "$devices"/{srnic0,ib0/device,card0/device}
	echo '1: CA' >"$devices/ib0/node_type"
	echo '4: RNIC' | tee "$devices/srnic0/node_type" >"$devices/card0/node_type"
	finds warning 'card0 is an RNIC in hardware, and the port mapper does not run' 'systemctl start iwpmd' || return
	touch "$root/run/iwpmd"
	there iw-mpa doctor || true
	! grep 'port mapper' "$WORK/said" || return
	rm -r "$devices/card0"
	finds warning 'the port mapper runs: to connect to a host without one takes 10 s' \
		'needed for RNICs in hardware alone, else: systemctl stop iwpmd' || return
	rm "$root/run/iwpmd"
	there iw-mpa doctor || true
	! grep 'port mapper' "$WORK/said"
}

# The remedy of "iw-mpa doctor" for an interface without a link is one that a shell takes as it is printed.
# shellcheck disable=SC2016 # expands on the copy
doctor_of_netdev() {
	mkdir -p "$WORK/host/root/run/systemd/system"
	there sh -c 'ip link add br-lan type veth; iw-mpa doctor br-lan >/told; ip link delete br-lan
		sed -n "/there is no link on br-lan/{n;p}" /told | bash; cat /told' &&
		logged '^systemctl enable --now iw-mpa-netdev@br\\x2dlan$' || return
	rm -r "$WORK/host/root/run/systemd"
}

# deb_goes DEB: test the package's scripts on a copy of this host
deb_goes() {
	local what

	fake_host && dpkg-deb -x "$1" "$WORK/host/root" && dpkg-deb -e "$1" "$WORK/host/control" || return
	for what in file_is_read module_comes_late down_by_name rename_keeps_link old_link_is_named other_driver_has_name \
		units_are_followed blanks_in_name foreign_link_stays idle_storage_stays removal dkms_fails \
		doctor_of_modules doctor_of_port_mapper doctor_of_netdev; do
		"$what" || { echo "$what fails; what was said last:" && cat "$WORK/said" && return 1; }
	done
}

# rpm_goes RPM: install, upgrade and remove the RPM on a copy of this host. After the upgrade the links that are made at
# boot must still exist; after removal no file of the RPM may be left. dkms builds for each kernel with headers.
rpm_goes() {
	local root=$WORK/host/root kernel

	make_host && rpm --root "$root" --nodeps --noscripts -i "$1" || return
	fake dkms
	rm -rf "$root"/lib/modules/*
	for kernel in 6.1.0-1 6.12.0-1; do
		mkdir -p "$root/lib/modules/$kernel/build"
		touch "$root/lib/modules/$kernel/build/Makefile"
	done
	ln -s /nothing "$root/lib/modules/build"
	rpm -qp --qf '%{POSTTRANS}' "$1" | enter chroot "$root" sh -s
	grep -o ' -k .* ' "$root/log" | diff - <(printf ' -k %s -q \n' 6.1.0-1 6.12.0-1) || return
	enabled "$root" >"$WORK/before"
	systemctl --root="$root" -q enable iw-mpa-netdev@eth0 iw-mpa-netdev@enp0s3.100 || return
	enabled "$root" >"$WORK/between"
	[[ $(wc -l <"$WORK/between") -eq $(($(wc -l <"$WORK/before") + 2)) ]] || return
	rpm -qp --qf '%{PREUN}' "$1" | chroot "$root" sh -s 1
	enabled "$root" | diff "$WORK/between" - || return
	# Removal is refused while the kernel uses a link: "link remove" fails then.
	mv "$root/usr/libexec/iw-mpa/link" "$root/link"
	printf '%s\n' '#!/bin/sh' 'exit 1' >"$root/usr/libexec/iw-mpa/link"
	chmod +x "$root/usr/libexec/iw-mpa/link"
	! rpm --root "$root" --nodeps -e iw-mpa-dkms && rpm --root "$root" -q iw-mpa-dkms || return
	enabled "$root" | diff "$WORK/between" - || return
	mv "$root/link" "$root/usr/libexec/iw-mpa/link"
	rpm --root "$root" --nodeps -e iw-mpa-dkms || return
	enabled "$root" | diff "$WORK/before" -
}

# A release that is made from the sources in a release, in another folder and with other settings,
# must have the same bytes as that release. The RPMs must have the files of the Debian packages,
# except documents.
test_release() {
	local dir again=$WORK/again version rpm

	rm -rf "$again"
	version=$(our_version)
	ends make -s -C "$TOP" release || return
	dir=$(<"$WORK/said")
	(cd "$dir" && sha256sum -c SHA256SUMS) || return
	mkdir -p "$again"/{cache,deb,rpm}
	(umask 077 && tar -C "$again" --no-same-permissions -xf "$dir/iw-mpa-$version.tar.xz" &&
		ends env IW_MPA_CACHE="$again/cache" TZ=Pacific/Auckland LC_ALL=C USER=other \
			make -s -C "$again/iw-mpa-$version" release) || return
	diff -r "$dir" "$(<"$WORK/said")" || return
	grep -A 2 '^For drivers' "$dir/NOTES.md" || return

	"$TOP/scripts/lib/setup.sh" deb "=lintian" "=rpmlint" || return
	"$TOP/scripts/lib/deb.sh" --into "$WORK/deb" || return
	lintian --fail-on error --tag-display-limit 0 "$WORK/deb/$version"/*.changes || return
	rpmlint -c "$TOP/scripts/deb/rpm/rpmlint.toml" "$dir"/*.rpm | tee "$WORK/said"
	said '2 packages and 0 specfiles checked; 0 errors, 0 warnings' || return
	ends rpm -qp --scripts "$dir/iw-mpa-dev-$version-1.noarch.rpm" || return
	said "dkms install iw_mpa/$version " '^build_driver\(\) \($' '^installed_as\(\) ' '^build_drivers$' || return
	rpm=$dir/iw-mpa-dkms-$version-1.noarch.rpm
	ends rpm -qp --qf '%{VERSION}-%{RELEASE} %{ARCH} %{LICENSE}\n[%{REQUIRES}\n]' "$rpm" || return
	said "^${version//./\\.}-1 noarch GPL-2.0-only$" '^dkms$' '^python3$' '^iproute$' || return
	ends rpm -qp --scripts "$rpm" || return
	said "^dkms add -m iw_mpa -v $version " "^dkms remove -m iw_mpa -v $version " 'iw-mpa/link remove' \
		'^/usr/libexec/iw-mpa/headers --installed' || return

	rpm --root "$again/rpm" --nodeps --noscripts -i "$dir"/*.noarch.rpm || return
	rpm --root "$again/rpm" -q iw-mpa-dkms iw-mpa-dev &&
		rpm --root "$again/rpm" --nodeps -V iw-mpa-dkms iw-mpa-dev || return
	dpkg-deb -x "$dir"/iw-mpa-dkms_*.deb "$again/deb" && dpkg-deb -x "$dir"/iw-mpa-dev_*.deb "$again/deb" || return
	installed "$again/deb" >"$again/deb.files"
	installed "$again/rpm" >"$again/rpm.files"
	[[ $(wc -l <"$again/deb.files") -gt 100 ]] && diff "$again/deb.files" "$again/rpm.files" || return
	rpm --root "$again/rpm" --nodeps --noscripts -e iw-mpa-dkms iw-mpa-dev || return
	installed "$again/rpm" | grep . && return 1
	unshare -m "$0" --rpm-goes "$rpm" || return
	rm -r "$again"
}

# The demo also makes a page.
test_demo() {
	ends make -s -C "$TOP" demo || return
	said '^[0-9]+ steps, all of them passed data' || return
	grep -qF '<svg' "$(sed -n 's/^The same as a page: //p' "$WORK/said")"
}

# --- scripts -----------------------------------------------------------------------------------

# check.sh with a suite as argument
test_check() {
	ends env T=1 "$TOP/scripts/check.sh" fuzz || return
	said '^# fuzz +[0-9]+ passed, 0 failed' '^[1-9][0-9]* passed, 0 failed$'
}

# A suite from Debian's packages can be listed without its source.
test_suites() {
	ends env SUITES="$WORK" SUITE=librdmacm "$TOP/scripts/test/suites.sh" -l -k '^librdmacm rping' || return
	said '^librdmacm rping/23$' || return
	! grep -v '^librdmacm rping/' "$WORK/said"
}

test_static() {
	ends "$TOP/scripts/static.sh" spdx length || return
	said '^ok 2 length$' '^# static: 2 passed, 0 failed$'
}

test_debug_kernel() {
	ends "$TOP/scripts/lib/debug-kernel.sh" kasan && [[ -e $(<"$WORK/said")/vmlinuz ]] || return
	ends "$TOP/scripts/lib/debug-kernel.sh" kcsan && [[ -e $(<"$WORK/said")/vmlinuz ]]
}

test_stage_siw() { ends "$TOP/scripts/lib/stage-siw.sh" --check; }

test_takeover_list() {
	ends "$TOP/scripts/test/takeover.sh" -l || return
	said '^passive_4 ' '^control_deaf_4 '
}

# gdb stops a guest and reads its registers.
test_gdb() {
	local guest folder status=0

	"$TOP/scripts/lib/setup.sh" build guest "=gdb" || return
	"$TOP/scripts/lib/guest/run.sh" -d none 'sleep 3000' >"$WORK/guest" 2>&1 &
	guest=$!
	until grep -q ' running in ' "$WORK/guest"; do
		kill -0 "$guest" || return
		sleep 1
	done
	folder=$(sed -n 's/^.* running in \(.*\): sleep.*/\1/p' "$WORK/guest")
	ends "$TOP/scripts/lib/guest/gdb.py" "$folder/A" -batch -ex 'info registers rip' -ex detach </dev/null ||
		status=$?
	kill "$guest"
	wait "$guest" || true
	rm -rf "$folder"
	[[ $status -eq 0 ]] && said '^rip +0x[0-9a-f]+' 'detached'
}

# e2e.sh with KERNELS in the opposite order: guest A, the client, has the newer kernel.
test_e2e_kernels() {
	ends env KERNELS='6.12 6.1' PAIRS=srnic/srnic "$TOP/scripts/e2e.sh" -k '^010' || return
	said '^ok [0-9]+ 010-rping srnic 6.12->srnic 6.1 IPv4' '^# e2e: [0-9]+ passed, 0 failed$'
}

test_series_make() {
	ends "$TOP/scripts/series.sh" make || return
	said '^[0-9]+ files against linux-source-.*: .*/patches$'
}

# copy_tree FOLDER: copy this tree for programs that write into it
copy_tree() {
	rm -rf "$1"
	mkdir -p "$1"
	git -c safe.directory='*' -C "$TOP" ls-files -co --exclude-standard --deduplicate |
		(cd "$TOP" && rsync -a --files-from=- --ignore-missing-args . "$1")
}

# interop.sh --write, in a copy of this tree in which the table was changed: it has to be restored
test_interop_write() {
	local page=Documentation/infiniband/iw_mpa_interop.rst copy=$WORK/tree

	copy_tree "$copy"
	sed -i 's/verified/refused /' "$copy/$page"
	! cmp -s "$TOP/$page" "$copy/$page" || { echo 'the table has not been changed' && return 1; }
	ends "$copy/scripts/test/interop.sh" --write || return
	said '^# interop: [1-9][0-9]* passed, 0 failed$' || return
	diff -u "$TOP/$page" "$copy/$page"
}

# --- bench.sh, without change of earlier results -------------------------------------------------

# short VARIABLE=VALUE... COMMAND...: run bench.sh in an empty folder, with few measurements
short() {
	rm -rf "$WORK/bench"
	ends env IW_MPA_BENCH="$WORK/bench" "$@"
}

# One measure of each kind; storage needs the most features of a guest.
test_bench_table() {
	local row numbers=' +- +[0-9,]+ +- +[0-9,]+ '

	short VARIANTS='siw srnic' "$TOP/scripts/bench.sh" -k '^(connect-1|reject|data-send-64|ulp-.*)$' || return
	said '^connect-1: connect +[0-9,]+ +[0-9,]+ +- +[0-9,]+ ' "^data-send-64$numbers" || return
	for row in nvme-{read,write}-{4k,128k} nfs-{read,write}-1m; do
		said "^$row$numbers" || return
	done
	grep -qF '<svg' "$WORK/bench/bench.html"
}

# All rows of two columns, with few I/Os, and the pages of a copy of this tree; then one row on another kernel
test_bench_users() {
	local copy=$WORK/tree file

	copy_tree "$copy"
	short USERS_COLUMNS='tcp srnic' USERS_TIMES='40 20 12 6' "$copy/scripts/bench.sh" --users --write || return
	said $'^nvme-read-128k\t[0-9]+\t-\t-\t-\t[0-9]+\t-\t-\t-$' $'^nfs-write-1m\t[0-9]+\t-\t-\t-\t[0-9]+\t' \
		$'^iser-read-4k\t[0-9]+\t-\t-\t-\t[0-9]+\t' || return
	grep -qF '<svg' "$WORK/bench/users.html" || return
	for file in README.md Documentation/infiniband/iw_mpa_performance.rst; do
		! cmp -s "$TOP/$file" "$copy/$file" || { echo "$file was not written" && return 1; }
	done
	"$copy/scripts/test/static/check-docs.py" || return
	short USERS_COLUMNS=tcp USERS_TIMES='40 20 12 6' "$TOP/scripts/bench.sh" --users --kernel 6.12 \
		-k '^nvme-read-4k$' ||
		return
	grep -qE $'^nvme-read-4k\t[0-9]+\t' "$WORK/bench/users-6.12.tsv"
}

test_bench_rtt() {
	short TRIPS=1000 TRIP_VARIANTS='siw srnic' "$TOP/scripts/bench.sh" --rtt || return
	said '^the initiator has its first answer, 1 ms +[0-9.]+ +- +[0-9.]+ '
}

test_bench_storm() {
	short STORM='50 5 128' STORM_VARIANTS='siw srnic' "$TOP/scripts/bench.sh" --storm || return
	said '^# bench: 1 passed, 0 failed$'
}

test_bench_comeback() {
	short COMEBACK='4 2' COMEBACK_ROUNDS=1 COMEBACK_VARIANTS='siw srnic' "$TOP/scripts/bench.sh" --comeback ||
		return
	said '^all are live, ms +[0-9,]+ +- +[0-9,]+$'
}

test_bench_hops() {
	short HOPS_COUNT=32 HOPS_VARIANTS='siw srnic' "$TOP/scripts/bench.sh" --hops || return
	said '^initiator: instructions, connect +[0-9,]+ +[0-9,]+ ' '^responder: context switches +[0-9.]+ +[0-9.]+ '
}

test_bench_scale() {
	short SCALE_CPUS='1 2' SCALE_PAIRS=100 SPREAD_PAIRS=100 "$TOP/scripts/bench.sh" --scale || return
	said '^srnic +[0-9,]+ +[0-9,]+ ' '^endpoints +[1-9][0-9]+$' '^rdma link delete, ns by the clock +[0-9,]+$'
}

test_bench_growth() {
	short GROWTH_CONTROLLERS='1 64' GROWTH_CPUS=2 GROWTH_ROUNDS=1 GROWTH_SECONDS=1 "$TOP/scripts/bench.sh" --growth ||
		return
	said '^plain, processors: 2 +[0-9,]+ +[0-9,]+ +[0-9.]+$' '^plain, busy +[0-9,]+ ' \
		'^plain to tcp, 128 KiB, controllers: 64 +[0-9.]+ '
}

test_bench_rate() {
	short ROUNDS=1 LOADS='1-1-0 4-1-0' RATE_VARIANTS='siw srnic' "$TOP/scripts/bench.sh" --rate || return
	said '^4, 1, 0 +[0-9,]+ +[0-9,]+ ' '^attempts that failed +0 +0 '
}

test_bench_load() {
	short ROUNDS=1 LOAD_QPS='1 8' LOAD_VARIANTS='siw srnic' "$TOP/scripts/bench.sh" --load || return
	said '^8: srnic to siw +[0-9.]+ '
}

test_bench_pong() {
	short ROUNDS=1 PONG_VARIANTS='siw srnic' "$TOP/scripts/bench.sh" --pong || return
	said '^median: srnic to siw +[0-9.]+ '
}

ALL=(help setup modules any_kernel any_host cross deb headers release demo check static stage_siw takeover_list gdb \
	suites e2e_kernels debug_kernel series_make interop_write
	bench_table bench_users bench_rtt bench_storm bench_comeback bench_hops bench_scale bench_growth bench_rate \
		bench_load bench_pong wire_device wire_module wire_kernel wire_panic)

alone() { echo "scripts/test/usage.sh $1"; }

main() {
	local name

	case ${1:-} in
	--deb-goes)
		deb_goes "$2"
		return
		;;
	--rpm-goes)
		rpm_goes "$2"
		return
		;;
	-l)
		printf '%s\n' "${ALL[@]}"
		return
		;;
	-*) die 'usage: usage.sh [TEST... | -l]' ;;
	esac
	[[ $# -gt 0 ]] || set -- "${ALL[@]}"
	for name in "$@"; do
		[[ $(type -t "test_$name") == function ]] || die "no such test: $name (${ALL[*]})"
	done
	"$TOP/scripts/lib/setup.sh" build guest
	WORK=$(mktemp -d "$CACHE/usage.XXXXXX")
	export USAGE_FOLDER=$WORK
	trap 'rm -rf "$WORK"' EXIT
	for name in "$@"; do
		say "usage: $name"
		tap_run "$name" "test_$name"
	done
	tap_end usage
}

main "$@"
