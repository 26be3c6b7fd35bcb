#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The Debian package at work, for each kernel: apt installs it on a fresh Debian, DKMS builds the modules, a guest with
# systemd boots and brings up a link, and rping uses the link; then the package is upgraded, removed and purged.
#
#   scripts/test/package.sh [KERNEL...]     names of scripts/kernels; all those for amd64, without any
#   scripts/test/package.sh --readme [KERNEL...]
#                                      in place of that, the commands of README.md, word for word, on a fresh Debian,
#                                      up to a mounted disk and NFS. The commands and their times are printed, their
#                                      output is in $CACHE/package/readme-KERNEL
#   scripts/test/package.sh --ci [KERNEL...]
#                                      scripts/ci-setup, on the same Debian
#   scripts/test/package.sh --containers [KERNEL...]
#                                      the administrator's guide for containers, on the same Debian
#
# Steps that compile run in a chroot of the guest's disk while the guest is off: an emulated processor takes half an
# hour. With --readme, the only option for arm64, all runs in the guest, and downloads go over the host's network.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"
# shellcheck source=scripts/lib/guest/guest.sh
. "$TOP/scripts/lib/guest/guest.sh"
# shellcheck source=scripts/e2e/lib.sh
. "$TOP/scripts/e2e/lib.sh"

WORK=$CACHE/package
NEXT=0.3		# version of the first upgrade, while a disk is mounted over RDMA
LAST=0.4		# version of the second upgrade

# --- roots -------------------------------------------------------------------------------------

# make_debs KREL: fetch the headers of a kernel, and make a package that stands for the kernel that QEMU boots
make_debs() {
	local dir=$1 image=linux-image-$KREL version packages compilers index

	version=$(kernel_version)
	mkdir -p "$dir/$image/DEBIAN"
	cd "$dir" || return
	archive_refresh "$KSUITE"
	mapfile -t packages < <(depends "$KSUITE" "linux-headers-$KREL" 'linux-(headers|kbuild|compiler|base)-.*')
	# Some packages serve all kernels of a release of Debian, and have a version of their own. Of the
	# others take the kernel's: apt would prefer an older one to that of a security update.
	for index in "${!packages[@]}"; do
		! archive "$KSUITE" apt-cache show "${packages[index]}=$version" >/dev/null 2>&1 ||
			packages[index]+="=$version"
	done
	# These packages give the release's compiler the names that headers use
	mapfile -t compilers < <(depends "$KSUITE" "linux-headers-$KREL" 'gcc-.*-for-host')
	[[ ${#compilers[@]} -eq 0 ]] ||
		mapfile -t -O 1 compilers < <(depends "$KSUITE" "${compilers[0]}" 'cpp-.*-for-host')
	download "$KSUITE" "${packages[@]}" "linux-headers-$KREL=$version" "${compilers[@]}"
	printf '%s\n' "Package: $image" "Version: $version" "Architecture: $KARCH" \
		'Maintainer: nobody <nobody@localhost>' 'Description: the kernel that QEMU boots' \
		>"$image/DEBIAN/control"
	dpkg-deb -b "$image" .
	rm -r "$image"
}

debs_of() {
	local dir=$WORK/debs-$KREL

	if [[ ! -e $dir/complete ]]; then
		rm -rf "$dir"
		quietly "fetching the packages of the headers of $KREL" make_debs "$dir"
		touch "$dir/complete"
	fi
	echo "$dir"
}

# make_guest_root BASE FOLDER DEBS: make FOLDER a copy of the root folder BASE, by hard links, and
# install the packages in the folder DEBS in it. BASE stays as it is, since dpkg replaces files, and
# does not write into them.
make_guest_root() {
	local base=$1 dir=$2 debs=$3

	rm -rf "$dir.new"
	cp -al "$base" "$dir.new"
	mkdir -p "$dir.new/debs"
	cp "$debs"/*.deb "$dir.new/debs/"
	chroot "$dir.new" sh -c 'DEBIAN_FRONTEND=noninteractive dpkg -i --force-depends /debs/*.deb'
	rm -r "$dir.new/debs"
	mv -T "$dir.new" "$dir"
}

# make_fresh_root: a root without headers, but with the package of the kernel that QEMU boots
make_fresh_root() {
	local base=$1 dir=$2 debs=$3

	rm -rf "$dir.new"
	cp -al "$base" "$dir.new"
	mkdir -p "$dir.new/usr/lib/modules"
	cp "$debs/linux-image-${KREL}_"*.deb "$dir.new/tmp/"
	# Hold the kernel's package: apt would replace it by the archive's of the same version, and make an initramfs
	# for it.
	chroot "$dir.new" sh -c "dpkg -i /tmp/*.deb && apt-mark hold linux-image-$KREL"
	rm "$dir.new"/tmp/*.deb
	mv -T "$dir.new" "$dir"
}

# make_root_once guest|fresh BASE FOLDER: make FOLDER, unless it exists and is newer than BASE
make_root_once() {
	local debs

	[[ ! -d $3 || $CACHE/root/$2/packages -nt $3 ]] || return 0
	rm -rf "$3"
	debs=$(debs_of)
	quietly "making a root folder for $KREL" "make_$1_root" "$CACHE/root/$2" "$3" "$debs"
	touch "$3"
}

# guest_root guest|fresh: make a root folder of this kind with the kernel $KREL, if it is missing,
# and print its name. Tests that run at the same time share it, and only read it.
guest_root() {
	local base=${KSUITE%-backports}-$1 dir=$WORK/root-$KREL

	[[ $1 == guest ]] || dir=$WORK/$1-$KREL
	"$TOP/scripts/lib/root.sh" --make "$base"
	locked package-root make_root_once "$1" "$base" "$dir"
	echo "$dir"
}

# make_disk FILE SIZE: make FILE an empty disk with ext4
make_disk() {
	rm -f "$1"
	truncate -s "$2" "$1"
	mke2fs -q -t ext4 -b 4096 -O ^orphan_file "$1" 2>/dev/null || mke2fs -q -t ext4 -b 4096 "$1"
}

# Delete most of the kernel's drivers: depmod reads each of them, which takes an emulated processor minutes.
prune_modules() {
	inside "cd /usr/lib/modules/$KREL/kernel/drivers; rm -rf ../sound
		ls | grep -vxE 'infiniband|net|virtio|block|char|scsi|target|nvme' | xargs rm -rf
		find net -mindepth 1 -type d -prune -exec rm -rf {} +
		depmod $KREL; [[ -e infiniband ]]"
}

boot() {
	say "booting a guest with $KREL and systemd"
	GUEST_KERNEL=([A]=$KERNEL)
	GUEST_BOOT_LIMIT=900
	BOOTED=$SECONDS
	guest_boot A
	RUNS=yes
}

power_off() {
	RUNS=no
	[[ -z $ENDS ]] || GUEST_TIME=$(guest_time)
	guest_down
}

GUEST_TIME=0	# seconds for which earlier guests have run, as guest_time counts them
BOOTED=0	# value of SECONDS at the last boot

# guest_time: print for how many seconds guests have run, as they would have on an idle machine: from the time of each,
# the part is left out that QEMU's threads had to wait for a processor.
guest_time() {
	awk -v "before=$GUEST_TIME" -v "time=$((SECONDS - BOOTED))" '{ ran += $1; waited += $2 }
		END { printf "%.0f\n", before + time * ran / (ran + waited) }' "/proc/${GUEST_PID[A]}"/task/*/schedstat
}

# Minutes that README.md's commands, with the two boots, may take for one kernel. A user has an hour; a processor that
# is much slower than a user's needs more minutes here. In the end guest_time has to be less. A busy machine may need
# three times as long, but no longer: a part of check-all may take 240 minutes (PART_LIMIT_MIN).
README_MINUTES=${README_MINUTES:-60}
ENDS=	# value of SECONDS when three times these minutes are over; empty: no limit

has_time() {
	[[ -z $ENDS || $SECONDS -lt $ENDS ]] ||
		{ echo "this system takes more than $((3 * README_MINUTES)) minutes" && return 1; }
}

# in_time COMMAND...: end the command at $ENDS. Commands in a guest have their own limits.
in_time() {
	local status=0

	[[ -n $ENDS ]] || { "$@"; return; }
	setpriv --pdeathsig TERM timeout -k 60 $((ENDS > SECONDS ? ENDS - SECONDS : 1)) "$@" || status=$?
	has_time || status=1
	return $status
}

# on_disk SHELL-COMMAND: run SHELL-COMMAND on the host, in a mount namespace and a chroot, with the
# guest's root folder and disk mounted as guest/init mounts them in the guest
on_disk() {
	DISK=${GUEST_DISK[A]} ROOT=${GUEST_ROOT[A]} IMAGE=$("$TOP/scripts/lib/guest/image.sh" "$KERNEL") \
		in_time unshare -m "$0" --on-disk "$1"
}

mount_disk() {
	local dir=$HERE/mnt lower

	: "${DISK:?}" "${ROOT:?}" "${IMAGE:?}"
	mkdir -p "$dir"
	mount -t tmpfs -o mode=755 package "$dir"
	mkdir "$dir"/{disk,root}
	mount -o loop "$DISK" "$dir/disk"
	mkdir -p "$dir/disk"/{data,work,modules,modules-work}
	mount -t overlay -o "lowerdir=$ROOT,upperdir=$dir/disk/data,workdir=$dir/disk/work" \
		root "$dir/root"
	lower=$IMAGE/lib/modules:$ROOT/usr/lib/modules
	mount -t overlay -o "lowerdir=$lower,upperdir=$dir/disk/modules,workdir=$dir/disk/modules-work" \
		modules "$dir/root/usr/lib/modules"
	mkdir -p "$dir/root/share"
	mount --bind "$HERE/share" "$dir/root/share"
	mount -t proc proc "$dir/root/proc"
	mount --rbind /dev "$dir/root/dev"
}

# --- where the package is ----------------------------------------------------------------------

# fails COMMAND...: for commands that inside() runs: if COMMAND succeeds, the shell ends. "set -e"
# alone would ignore the status of "! COMMAND". A test has to compare the message of COMMAND, too:
# a missing program also fails.
FAILS='fails() { ! "$@"; }'

# inside COMMAND [SECONDS]: run COMMAND in the guest if the guest runs, else in a chroot of the
# guest's disk
inside() {
	if [[ $RUNS == yes ]]; then
		guest_run A "$FAILS; set -e; $1" "${2:-60}"
	else
		on_disk "$FAILS; set -e; $1"
	fi
}

# List the files in folders of packages and dkms: after the purge they have to be those from before
# the installation. Left out are dkms's key, files that the first boot writes, and kernel headers.
list_files() {
	inside "cd /; find etc usr/lib/modules/*/updates usr/lib/modules-load.d usr/lib/systemd \
		usr/libexec usr/sbin usr/share usr/src var/lib/dkms \( -type f -o -type l \) \
		! -name 'mok.*' ! -path 'etc/systemd/system/*agent.service' ! -path etc/machine-id \
		! -path etc/hostname ! -path etc/resolv.conf ! -path etc/.updated ! -path '*/mime*' \
		! -path 'usr/src/linux-*' ! -path 'usr/share/*/linux-*' ! -path 'usr/lib/linux-*' \
		! -path 'usr/share/doc/*-for-host' \
		2>/dev/null | sort" 180
}

install_package() { inside "DEBIAN_FRONTEND=noninteractive apt-get -q -y install /share/${1##*/} 2>&1" 1200; }

# expect_modules VERSION: modules of this version are built, signed and found for the guest's kernel
expect_modules() {
	inside "dkms status iw_mpa/$1 -k $KREL | grep installed" 300
	inside "for module in ${MODULES[*]}; do
		modinfo -k $KREL -n \$module | grep '/updates/dkms/'
		modinfo -k $KREL -F version \$module | grep -x $1
	done" 300
}

# The package is installed in a chroot, where uname prints the host's kernel: if the host's kernel
# is not the guest's, the package has to say that the headers of the host's kernel are missing.
test_install() {
	local output

	output=$(install_package "$OLD")
	echo "$output"
	[[ $(uname -r) == "$KREL" ]] ||
		expect_text "$output" "^iw-mpa: the headers of the kernel that runs are missing, .* linux-headers-$(uname -r | sed "s|[.+]|\\\\&|g")"
	expect_modules "$(version_of "$OLD")"
	inside 'man -w iw-mpa && man -w iw-mpa-links && /usr/sbin/iw-mpa -h'
	inside '! find /lib/modules/ /usr/src/iw_mpa-* -name "siw_mpa*" | grep .'
}

# Configure three links and a setting before the first boot.
test_configure() {
	inside "printf '%s\n' 'rnic-0 eth0' 'rnic-lo lo' 'rnic-spare spare0' >>/etc/iw-mpa/links
		sed 's/^#\(net.iw_mpa.reply_timeout_ms\) .*/\1 = 12345/' \
			/usr/share/doc/iw-mpa-dkms/examples/iw-mpa.sysctl.conf >/etc/sysctl.d/iw-mpa.conf
		grep -x 'net.iw_mpa.reply_timeout_ms = 12345' /etc/sysctl.d/iw-mpa.conf"
}

# "link up" reports lines of /etc/iw-mpa/links that have mistakes, and links on missing interfaces.
test_bad_links() {
	local output

	output=$(inside "cp /etc/iw-mpa/links /run/links
		printf '%s\n' 'a' 'b nosuch0' 'c eth0 nosuchtype' 'e/f eth0' 'g eth0 rxe' 'rnic-spare eth0' \
			>/etc/iw-mpa/links; echo blacklist rdma_rxe >/etc/modprobe.d/rxe.conf
		/usr/libexec/iw-mpa/link up 2>&1 && exit 1; /usr/libexec/iw-mpa/link up d 2>&1 && exit 1
		cp /run/links /etc/iw-mpa/links; rm /etc/modprobe.d/rxe.conf")
	echo "$output"
	expect_text "$output" 'iw-mpa: /etc/iw-mpa/links: a line is a name, a network device.*: a'
	expect_text "$output" 'iw-mpa: b: there is no network device nosuch0'
	expect_text "$output" "iw-mpa: c: kernel $KREL_RE has no driver for links of type nosuchtype: install"
	expect_text "$output" 'iw-mpa: g: the driver for links of type rxe is blacklisted in /etc/modprobe.d'
	expect_text "$output" 'iw-mpa: rnic-spare is a link on spare0: rdma link delete rnic-spare first'
	expect_text "$output" 'iw-mpa: /etc/iw-mpa/links has no link d'
	expect_text "$output" 'iw-mpa: /etc/iw-mpa/links: a name has letters, digits.*: e/f'
}

link_works() {
	inside "poll 60 systemctl is-active iw-mpa-link@rnic-0 && rdma link show rnic-0/1 | grep 'netdev eth0'"
	inside "poll 20 grep -q 4: /sys/class/infiniband/rnic-0/ports/1/state
		rping -s -a 10.0.0.1 -C 10 & poll 60 eval 'iw-mpa listeners | grep 10.0.0.1:7174' >/run/listens
		rping -c -a 10.0.0.1 -C 10 -v >/run/pings; wait
		[[ \$(grep -c 'ping data' /run/pings) -eq 10 ]]"
}

# Before Linux 6.5 rdma_cm finds no device on lo, so there the kernel refuses the link, and logs the reason.
lo_has_link() { [[ $KREL != 6.[0-4].* ]]; }

test_lo() {
	if ! lo_has_link; then
		inside 'poll 60 systemctl is-failed iw-mpa-link@rnic-lo
			dmesg | grep "srnic: lo has no hardware address"
			systemctl reset-failed iw-mpa-link@rnic-lo'
	else
		inside 'poll 60 systemctl is-active iw-mpa-link@rnic-lo
			rdma link show rnic-lo/1 | grep "netdev lo"'
	fi
}

# After a boot the configured links exist. An interface that appears later gets its link, too.
test_boot() {
	link_works
	inside 'grep -x 12345 /proc/sys/net/iw_mpa/reply_timeout_ms'
	test_lo
	inside 'ip link add spare0 type veth peer name spare1
		poll 60 systemctl is-active iw-mpa-link@rnic-spare
		rdma link show rnic-spare/1 | grep "netdev spare0"'
	inside '/usr/sbin/iw-mpa counters | grep established'
	inside '! systemctl --failed --no-legend | grep iw-mpa'
}

# An administrator changes links with systemctl, as the manual page says.
test_restart() {
	inside "sed -i '/^rnic-0 /d' /etc/iw-mpa/links
		systemctl stop iw-mpa-link@rnic-0
		[[ ! -e /sys/class/infiniband/rnic-0 ]]; systemctl daemon-reload"
	# A changed line gives the link another interface. The last line of the file may lack its newline.
	inside "printf 'rnic-0 spare0' >>/etc/iw-mpa/links; rdma link delete rnic-spare
		systemctl daemon-reload && systemctl restart iw-mpa-link@rnic-0
		rdma link show rnic-0/1 | grep 'netdev spare0'"
	inside "sed -i 's/^rnic-0 spare0/rnic-0 eth0/' /etc/iw-mpa/links
		systemctl daemon-reload && systemctl restart iw-mpa-link@rnic-0"
	link_works
}

# rdma-core's port mapper, iwpmd, starts only by the package's example of a udev rule, when the
# first link is made. It ends when the last link is removed, and rping works after that as before.
test_port_mapper() {
	local rule=76-srnic-iwpmd.rules links=iw-mpa-link@rnic-0

	! lo_has_link || links+=' iw-mpa-link@rnic-lo'
	inside '! systemctl is-active iwpmd'
	inside 'systemctl start iwpmd; poll 20 eval "! systemctl is-active iwpmd"'
	inside "cp /usr/share/doc/iw-mpa-dkms/examples/$rule /etc/udev/rules.d; udevadm control --reload
		systemctl restart iw-mpa-link@rnic-0; poll 60 systemctl is-active iwpmd
		poll 20 eval '[[ -n \$(ss -Huln sport = :3935) ]]'" 120
	link_works
	inside "systemctl stop $links; poll 60 eval '! systemctl is-active iwpmd'" 120
	inside "rm /etc/udev/rules.d/$rule; udevadm control --reload
		systemctl start $links; sleep 2; ! systemctl is-active iwpmd" 120
	link_works
}

# The example rule restricts RDMA to the users of a group.
test_group() {
	local rule=91-rdma-group.rules files='/dev/infiniband/uverbs* /dev/infiniband/rdma_cm'

	inside "[[ \$(stat -c %a $files | sort -u) == 666 ]]
		echo 'g rdma -' | systemd-sysusers -; cp /usr/share/doc/iw-mpa-dkms/examples/$rule /etc/udev/rules.d
		udevadm control --reload; udevadm trigger --subsystem-match=infiniband_verbs --subsystem-match=misc
		udevadm settle; [[ \$(stat -c '%G %a' $files | sort -u) == 'rdma 660' ]]
		[[ -z \$(setpriv --reuid nobody --regid nogroup --clear-groups cat $files 2>&1 |
			grep -v 'Permission denied') ]]
		systemctl restart iw-mpa-link@rnic-0; udevadm settle
		[[ \$(stat -c '%G %a' $files | sort -u) == 'rdma 660' ]]" 120
	link_works
	inside "rm /etc/udev/rules.d/$rule; sed -i /^rdma:/d /etc/group /etc/gshadow; udevadm control --reload
		chmod 666 $files; chgrp root $files"
}

# "iw-mpa doctor" reports no fault on a host whose link works; an interface that does not exist is a
# fault. It warns if the kernel's headers or DKMS's files are not there.
test_doctor() {
	local output

	output=$(inside 'iw-mpa doctor eth0')
	echo "$output"
	expect_text "$output" "^ok       kernel $KREL_RE$"
	expect_text "$output" '^ok       srnic [0-9.]+ is installed for this kernel$'
	expect_text "$output" '^ok       DKMS builds it again for each new kernel$'
	expect_text "$output" \
		'^warning  linux-headers-[-a-z0-9.]+ is not installed, which brings the headers of each new kernel$'
	expect_text "$output" '^ok       srnic [0-9.]+ is loaded$'
	expect_text "$output" '^ok       libsiw,'
	expect_text "$output" '^ok       link rnic-0 on eth0: 10\.0\.0\.1,'
	output=$(inside 'iw-mpa doctor nosuch0 || echo "status $?"')
	expect_text "$output" '^fault    there is no interface nosuch0$'
	expect_text "$output" '^status 1$'

	output=$(inside \
		"mv /usr/lib/modules/$KREL/build /root; iw-mpa doctor eth0; mv /root/build /usr/lib/modules/$KREL
		mv /var/lib/dkms/iw_mpa /root; iw-mpa doctor eth0; mv /root/iw_mpa /var/lib/dkms" 120)
	echo "$output"
	expect_text "$output" '^warning  the headers of this kernel are missing, .*, and reboot$'
	expect_text "$output" "^ +apt-get update && apt-get install linux-headers-$KREL_RE linux-headers-[-a-z0-9. ]+$"
	expect_text "$output" '^warning  DKMS does not know it: '
}

# iw-mpa-netdev@eth0 makes a link on eth0, but not if eth0 has a line in /etc/iw-mpa/links. The
# interface may appear after the unit is enabled.
test_netdev() {
	local unit=iw-mpa-netdev@ output

	# Remove the line of lo: on kernels where lo can have no link, "link up" would fail because of it.
	inside "iw-mpa link down rnic-lo; sed -i '/^rnic-lo /d' /etc/iw-mpa/links; systemctl daemon-reload"
	inside "ip link add plain0 type veth peer name plain1; systemctl enable --now ${unit}plain0
		rdma link show srnic_plain0/1 | grep 'netdev plain0'
		systemctl enable --now ${unit}eth0; [[ ! -e /sys/class/infiniband/srnic_eth0 ]]
		journalctl -u ${unit}eth0 | grep 'eth0 has a line in /etc/iw-mpa/links, which holds'" 120
	# "link down" and "link up", for all links or one; the state of the units follows.
	output=$(inside "iw-mpa link down srnic_plain0; fails iw-mpa doctor plain0; fails iw-mpa doctor plain1" 120)
	echo "$output"
	expect_text "$output" '^ +iw-mpa link up$'
	expect_text "$output" "^ +systemctl enable --now ${unit}plain1$"
	inside "[[ ! -e /sys/class/infiniband/srnic_plain0 ]]
		[[ \$(systemctl is-active ${unit}plain0) == inactive ]]
		iw-mpa link down; [[ ! -e /sys/class/infiniband/rnic-0 ]]
		[[ \$(systemctl is-active iw-mpa-link@rnic-0) == inactive ]]
		iw-mpa link up; rdma link show srnic_plain0/1; rdma link show rnic-0/1
		systemctl is-active ${unit}plain0 iw-mpa-link@rnic-0" 180
	# When an interface is renamed, systemd stops its unit, as if the interface was removed. The link has to stay.
	inside "ip link set plain0 name plain9; poll 60 eval '! systemctl is-active ${unit}plain0'; sleep 1
		journalctl -u ${unit}plain0 | grep 'srnic_plain0 stays'
		rdma link show srnic_plain0/1 | grep 'netdev plain9'
		ip link set plain9 name plain0; poll 60 systemctl is-active ${unit}plain0" 180
	inside "ip link delete plain0; poll 60 eval '! systemctl is-active ${unit}plain0'
		ip link add plain0 type veth peer name plain1; poll 60 systemctl is-active ${unit}plain0
		systemctl disable --now ${unit}plain0 ${unit}eth0; [[ ! -e /sys/class/infiniband/srnic_plain0 ]]" 120
	# What requires the link's unit, as a mount does, stays when "link down" stops that. "link up" does not make a
	# link of a unit that another one only names.
	inside "printf '%s\n' '[Unit]' Requires=${unit}plain0.service After=${unit}plain0.service '[Service]' \
			'ExecStart=sleep infinity' >/run/systemd/system/needs.service
		systemctl daemon-reload; systemctl start needs; rdma link show srnic_plain0/1
		iw-mpa link down srnic_plain0; [[ ! -e /sys/class/infiniband/srnic_plain0 ]]; systemctl is-active needs
		[[ \$(systemctl is-active ${unit}plain0) == inactive ]]
		iw-mpa link up; [[ ! -e /sys/class/infiniband/srnic_plain0 ]]
		systemctl stop needs; rm /run/systemd/system/needs.service; systemctl daemon-reload" 120
	inside "systemctl enable ${unit}later0
		ip link delete plain0; rdma link show rnic-0/1" 120
}

# A kernel without the modules, such as one whose headers are missing, boots without a failed unit,
# and the journal reports that the modules are missing. When they are there, "iw-mpa link up" loads
# them, and they get the settings of sysctl.d.
test_no_module() {
	inside "iw-mpa link down; rmmod srnic iw_mpa; mv /usr/lib/modules/$KREL/updates /root
		status=0; systemctl restart iw-mpa-modules systemd-modules-load systemd-sysctl || status=\$?
		mv /root/updates /usr/lib/modules/$KREL; [[ \$status -eq 0 ]]
		[[ ! -e /proc/sys/net/iw_mpa && -z \$(systemctl --failed --no-legend |
			grep -E 'iw-mpa|modules|sysctl') ]]
		journalctl -b -u iw-mpa-modules | grep 'modprobe.*iw_mpa'" 180
	inside 'iw-mpa link up; grep -x 12345 /proc/sys/net/iw_mpa/reply_timeout_ms' 120
	link_works
}

attach_disk() {
	inside ". /share/guest/nvme.sh; modprobe nvme-rdma; echo \"transport=rdma,traddr=10.0.0.1,trsvcid=4420,\\
nqn=\$NVME_NQN,hostnqn=nqn.2014-08.org.nvmexpress:uuid:\$NVME_UUID,hostid=\$NVME_UUID\" >/dev/nvme-fabrics
		poll 20 nvme_block && nvme_read 4096 | wc -c | grep -x 4096" 90
}

detach_disk() {
	# shellcheck disable=SC2016 # expands on the guest
	inside '. /share/guest/nvme.sh; echo 1 >"$(nvme_controller)/delete_controller"; poll 30 nvme_is_gone' 120
}

# shellcheck disable=SC2016 # expands on the guest
# iw-mpa removes a link that the kernel uses, here for NVMe, only with --force: "link down" without
# it, systemd's stop of the link's unit and the removal of the package leave the link. A target that
# listens at all addresses listens again when the link exists again.
test_users() {
	local output user='nvme_rdma with 10\.0\.0\.1:4420'

	inside '. /share/guest/nvme.sh; nvme_serve 4 0.0.0.0 4420 0' 90
	attach_disk
	output=$(inside 'refused() { ! "$@" 2>&1; }
		refused iw-mpa link down rnic-0; refused iw-mpa link restart; refused iw-mpa link restart rnic-0
		systemctl restart iw-mpa-link@rnic-0; systemctl is-active iw-mpa-link@rnic-0
		systemctl stop iw-mpa-link@rnic-0; iw-mpa link up rnic-0; journalctl -q -o cat -u iw-mpa-link@rnic-0
		refused env DEBIAN_FRONTEND=noninteractive apt-get -q -y remove iw-mpa-dkms; dpkg -s iw-mpa-dkms' 300)
	echo "$output"
	# Three commands refuse, and the link's unit does so twice, in the journal.
	[[ $(grep -cE "^iw-mpa: rnic-0 stays, for the kernel uses it: .*$user" <<<"$output") -eq 5 ]] ||
		fail 'it does not say why a link stays'
	expect_text "$output" '^active$'
	expect_text "$output" "^rnic-0: $user"
	expect_text "$output" '^Status: [a-z]+ ok installed$'
	inside '. /share/guest/nvme.sh; nvme_read 4096 | wc -c | grep -x 4096'
	inside '. /share/guest/nvme.sh; iw-mpa link down --force rnic-0; poll 30 nvme_is_gone
		[[ ! -e /sys/class/infiniband/rnic-0 && $(systemctl is-active iw-mpa-link@rnic-0) == inactive ]]
		iw-mpa link up rnic-0; systemctl is-active iw-mpa-link@rnic-0' 120
	attach_disk
	detach_disk
	inside '. /share/guest/nvme.sh; nvme_serve_end; : >/run/at_clean_up' 60
	link_works
}

# While the guest is off, build the modules of a later version, and put them where DKMS finds them ready made.
test_prebuild() {
	make_disk "$HERE/share/disk" 16M
	inside "dpkg-deb --fsys-tarfile /share/${NEW##*/} | tar -x -C / ./usr/src
		dkms add iw_mpa/$NEXT; dkms build iw_mpa/$NEXT -k $KREL; mkdir -p /usr/share/iw_mpa-dkms
		dkms mktarball iw_mpa/$NEXT -k $KREL --archive /usr/share/iw_mpa-dkms/iw_mpa-$NEXT.dkms.tar.gz
		dkms remove iw_mpa/$NEXT --all; rm -r /usr/src/iw_mpa-$NEXT"
}

# expect_loaded VERSION
expect_loaded() { inside "for module in ${MODULES[*]}; do grep -x $1 /sys/module/\$module/version; done"; }

# start_writer: start a job that writes numbered lines to the mounted disk, each when the one before is on the target's
# disk
# shellcheck disable=SC2016 # expands on the guest
start_writer() {
	inside '. /share/guest/nvme.sh; mount "$(nvme_block)" /mnt
		bg_start writer "set -o pipefail; number=0; until [[ -e /run/written ]]; do
			number=\$((number + 1))
			echo \$number | dd of=/mnt/file oflag=append conv=notrunc,fsync status=none || exit; done"
		poll 60 test -s /mnt/file'
}

# shellcheck disable=SC2016 # expands on the guest
writer_goes_on() {
	inside 'lines=$(wc -l </mnt/file); goes_on() { (($(wc -l </mnt/file) > lines + 3)); }
		poll 60 goes_on || { echo "$lines lines, and no more"; bg_wait writer 1; false; }' 90
}

# shellcheck disable=SC2016 # expands on the guest
written() { inside '[[ $(</mnt/file) == "$(seq "$(wc -l </mnt/file)")" ]]'; }

connections() { inside "iw-mpa endpoints | awk '/OFFLOADED/ { print \$1 }' | sort"; }

# shellcheck disable=SC2016 # expands on the guest
test_upgrade_mounted() {
	local output old before

	old=$(version_of "$OLD")
	cp "$NEW" "$HERE/share/disk" "$GUEST_RUN/share/"
	inside '. /share/guest/nvme.sh; cp /share/disk "$NVME_DISK"; nvme_serve 4 0.0.0.0 4420 0' 90
	attach_disk
	start_writer
	before=$(connections)
	output=$(install_package "$NEW")
	echo "$output"
	expect_text "$output" \
		"^iw-mpa: srnic $old stays in use; $NEXT comes with the next boot, or by: iw-mpa link restart"
	expect_modules "$NEXT"
	expect_loaded "$old"
	writer_goes_on
	[[ $before == *$'\n'* && $(connections) == "$before" ]] || fail 'other connections are there'

	# "link restart" and the removal of the package are refused: they would remove the link, and break the mounted
	# disk.
	output=$(inside 'refused() { ! "$@" 2>&1; }
		refused iw-mpa link restart; iw-mpa doctor eth0
		refused env DEBIAN_FRONTEND=noninteractive apt-get -q -y remove iw-mpa-dkms; dpkg -s iw-mpa-dkms' \
			300) ||
		{ echo "$output"; return 1; }
	echo "$output"
	expect_text "$output" '^iw-mpa: rnic-0 stays, for the kernel uses it: .*nvme_rdma with 10\.0\.0\.1:4420'
	expect_text "$output" "^warning  srnic $old is loaded, and another one is on the disk"
	expect_text "$output" '^rnic-0: nvme_rdma with 10\.0\.0\.1:4420'
	expect_text "$output" '^Status: [a-z]+ ok installed$'
	expect_loaded "$old"
	writer_goes_on
	[[ $(connections) == "$before" ]] || fail 'other connections are there'

	inside ': >/run/written; bg_wait writer 60' 90
	written
	inside 'umount /mnt'
	detach_disk
	inside '. /share/guest/nvme.sh; nvme_serve_end; : >/run/at_clean_up; rm -r /usr/share/iw_mpa-dkms' 60
	link_works
}

# The package's examples of systemd units for NVMe over RDMA, with target and host on one machine.
# The target's file is on a separate file system, /srv, since the guest's root, an overlay, cannot
# tell where a file's blocks are. The target listens at eth0's IP address. The RDMA link on eth0 is
# removed, by "iw-mpa link restart --force" and by "rdma link delete", and made again; each time the
# target has to listen again, and the host to reconnect. The file "last" is written right before the
# shutdown, and compared in test_storage_boot.
# shellcheck disable=SC2016 # expands on the guest
test_storage() {
	local way

	make_disk "$GUEST_RUN/share/srv" 64M
	make_disk "$GUEST_RUN/share/srnic" 16M
	tune2fs -L srnic "$GUEST_RUN/share/srnic"
	inside 'cp /etc/fstab /root; cp /share/srv /var/srv; modprobe loop
		printf "%s\n" "/var/srv /srv ext4 loop" \
			"LABEL=srnic /mnt ext4 _netdev,nofail,x-systemd.device-timeout=10min 0 0" >>/etc/fstab
		mount /srv; cp /share/srnic /srv/disk; cd /usr/share/doc/iw-mpa-dkms/examples
		sed "s/0\.0\.0\.0/10.0.0.1/" nvmet.conf >/etc/iw-mpa/nvmet.conf
		for unit in nvmet.service nvmet-port@.service nvme@.service; do
			sed "s/srnic_%i/rnic\\\\x2d0/; s/iw-mpa-netdev@%i/iw-mpa-link@rnic-0/; s/10\.0\.0\.2/10.0.0.1/" $unit \
				>/etc/systemd/system/$unit
		done
		systemctl daemon-reload; systemctl enable nvmet-port@eth0; systemctl enable --now nvmet nvme@eth0
		poll 120 systemctl start mnt.mount; head -c 1000000 /dev/urandom >/root/wanted
		cp /root/wanted /mnt/file' 180
	for way in 'iw-mpa link restart --force rnic-0' 'rdma link delete rnic-0; iw-mpa link up rnic-0'; do
		inside "umount /mnt; $way; poll 120 systemctl start mnt.mount; cmp /root/wanted /mnt/file" 180
	done
	inside 'cp /root/wanted /mnt/last'
}

# After a boot the disk of test_storage, NVMe over RDMA, is mounted, by systemd units alone.
# shellcheck disable=SC2016 # expands on the guest
test_storage_boot() {
	inside 'poll 300 mountpoint -q /mnt; findmnt -n -o SOURCE /mnt | grep -x "/dev/nvme[0-9]*n1"
		cmp /root/wanted /mnt/file; cmp /root/wanted /mnt/last' 330
	inside 'umount /mnt; systemctl disable --now nvmet-port@eth0 nvme@eth0 nvmet
		[[ -z $(/usr/libexec/iw-mpa/link users) ]]
		umount /srv; cp /root/fstab /etc/fstab
		rm /etc/systemd/system/nvme*.service /etc/iw-mpa/nvmet.conf /var/srv
		systemctl daemon-reload' 120
}

# Upgrade while the guest is off; the modules are built in its disk.
test_upgrade() {
	install_package "$NEWEST"
	expect_modules "$LAST"
	inside "[[ ! -e /usr/src/iw_mpa-$NEXT ]]"
	inside 'grep rnic-0 /etc/iw-mpa/links'
}

test_boot_upgraded() {
	link_works
	expect_loaded "$LAST"
}

# If a kernel's headers are installed later, DKMS builds for it, even if that kernel does not run. modinfo gets the
# module's file, since newer dkms leaves depmod to the package of the kernel, which is not installed here.
test_second_kernel() {
	local release

	release=$(need_kernel "$1" && echo "$KREL")
	mkdir -p "$HERE/share/second"
	(need_kernel "$1" && cp "$(locked package-root debs_of)"/*.deb "$HERE/share/second/")
	inside 'dpkg -i --force-depends /share/second/*.deb'
	# apt must find no broken packages: as long as there are any, it installs nothing.
	inside 'apt-get -q check'
	inside "dkms status iw_mpa -k $release | grep installed"
	inside "modinfo -F vermagic /usr/lib/modules/$release/updates/dkms/iw_mpa.ko* | grep -F $release"
}

test_remove() {
	inside 'DEBIAN_FRONTEND=noninteractive apt-get -q -y remove iw-mpa-dkms' 1200
	inside '! grep -E "^(iw_mpa|srnic) " /proc/modules'
	# shellcheck disable=SC2016 # expands on the guest
	inside 'left=$(dkms status); [[ ! -e /sys/class/infiniband/rnic-0 && -z $left ]]'
	inside '[[ -e /etc/iw-mpa/links && ! -e /usr/sbin/iw-mpa && ! -d /usr/src/iw_mpa-'$LAST' ]]'
	inside '! find /usr/lib/modules -name "iw_mpa*" | grep .'
}

test_purge() {
	inside 'rm /etc/sysctl.d/iw-mpa.conf; DEBIAN_FRONTEND=noninteractive apt-get -q -y purge iw-mpa-dkms' 600
	list_files >"$HERE/after"
	diff "$HERE/before" "$HERE/after"
	inside '[[ ! -e /etc/iw-mpa ]]'
}

# --- README.md ---------------------------------------------------------------------------------

# readme BLOCK: print the commands of the block
readme() {
	awk -v mark="<!-- run: $1 -->" '$0 == mark { on = 1; next }
		on && sub(/^    /, "") { print; next }
		on { exit }' "$TOP/README.md" | grep .
}

# as_typed SECONDS COMMANDS: run COMMANDS of README.md, for at most SECONDS, in a new shell with
# ADDRESS and NETDEV as the last call has set them. A user would continue after a failed command;
# as_typed fails.
as_typed() {
	local output status=0 start=$SECONDS commands

	output=$(inside "cd /root; [[ ! -e /root/variables ]] || . /root/variables
		$2
		wait; declare -p ADDRESS NETDEV >/root/variables 2>/dev/null || :" "$1" 2>&1) || status=$?
	mapfile -t commands <<<"${2//$'\t'/}"
	{ printf '# %s\n' "${commands[@]}" && printf '%s\n' "$output" "(after $((SECONDS - start)) s)"; } |
		tee -a "$WORK/readme-$KERNEL"
	return "$status"
}

# QEMU's arguments for an interface by which the guest reaches the host's network, but no servers on the host's loopback
# device. As the first interface it is eth0, and gets the guest's address.
WAY_OUT=(-netdev 'user,id=out,ipv6=off,net=10.0.0.0/24,host=10.0.0.254,dns=10.0.0.253'
	-device 'virtio-net-pci,netdev=out,romfile=,mac=52:54:00:00:01:01')

# Put /srv on a file system that can tell where a file's blocks are, as most hosts have it. The guest's root, an
# overlay, cannot.
test_readme_fresh() {
	inside "cp /share/${OLD##*/} /root; ! type -P dkms rping make | grep ."
	inside 'mke2fs -q -t ext4 /var/layer 2G; echo "/var/layer /srv ext4 loop" >>/etc/fstab'
}

# Interfaces of most hosts have other names than the guest's, also with a hyphen, which systemd escapes in the names of
# units.
name_interface() {
	inside 'echo 1 >/proc/sys/net/ipv6/conf/eth0/keep_addr_on_down
		ip link set eth0 down; ip link set eth0 name lan-0; ip link set lan-0 up'
}

test_readme_install() {
	local limit=$((3 * README_MINUTES * 60))

	name_interface
	inside 'ip route add default via 10.0.0.254; echo nameserver 10.0.0.253 >/etc/resolv.conf'
	as_typed "$limit" "export DEBIAN_FRONTEND=noninteractive
		$(readme install)"
	as_typed "$limit" "export DEBIAN_FRONTEND=noninteractive
		$(readme nfs | head -n 1)"
	expect_modules "$(version_of "$OLD")"
}

test_readme_link() {
	as_typed 120 "$(readme link)"
	inside "rdma link show srnic_lan-0/1 | grep 'state ACTIVE .*netdev lan-0'"
}

test_readme_try() {
	local output

	output=$(as_typed 120 "$(readme try)")
	echo "$output"
	[[ $(grep -c '^ping data: ' <<<"$output") -eq 10 ]]
}

# README.md's commands mount a disk by NVMe over RDMA. What is written to it is read again after a
# disconnect and a new connect.
# shellcheck disable=SC2016 # expands on the guest
test_readme_disk() {
	local block

	block=$(readme disk)
	as_typed 300 "$block"
	inside 'findmnt -n -o SOURCE /mnt | grep -x "/dev/nvme[0-9]*n1"; iw-mpa endpoints | grep OFFLOADED
		head -c 1000000 /dev/urandom >/root/wanted; cp /root/wanted /mnt/file; umount /mnt
		nvme disconnect -n disk; . /root/variables
		'"$(sed -n '/^nvme connect /,$p' <<<"$block")"'; cmp /root/wanted /mnt/file' 120
}

# A mount by NFS 4 begins at the server's root folder, whose file system has to be one that can be
# exported. The guest's root, an overlay, cannot be exported, so mount.nfs uses NFS 3.
# shellcheck disable=SC2016 # expands on the guest
test_readme_nfs() {
	[[ $(readme nfs | head -n 1) == apt-get* ]]
	inside 'poll 60 systemctl is-active nfs-server' 90
	as_typed 300 "$(readme nfs | tail -n +2)"
	inside 'findmnt -n -o FSTYPE,OPTIONS /media | grep -E "^nfs4? .*proto=rdma"; cmp /root/wanted /media/file
		umount /media; systemctl stop nfs-server' 180
}

# The link comes when its interface appears. The guest was shut down while it had mounted its own disk by NVMe over
# RDMA: the last write has to be in /srv/disk, the target's file.
# shellcheck disable=SC2016 # expands on the guest
test_readme_boot() {
	name_interface
	inside 'poll 60 eval "rdma link show srnic_lan-0/1 | grep \"netdev lan-0\""' 90
	inside 'modprobe loop; mount -o loop,ro /srv/disk /mnt; cmp /root/wanted /mnt/last; umount /mnt' 60
}

# shellcheck disable=SC2016 # words of README.md
# README.md may need at most 14 commands to mount a disk by NVMe over RDMA. Newlines, ;, &&, || and
# pipes separate commands.
test_readme_count() {
	local commands

	commands=$( (readme install && readme link && readme disk) | sed 's/\$([^)|]*)/x/g' |
		grep -oE '(\|\||&&|[|;&]|^)[^|;&]+')
	echo "$commands"
	[[ $(wc -l <<<"$commands") -gt 5 && $(wc -l <<<"$commands") -lt 15 ]]
}

test_readme_time() {
	echo "$(($(guest_time) / 60)) minutes"
	[[ $(guest_time) -lt $((README_MINUTES * 60)) ]]
	has_time
}

test_readme() {
	test_begin "$1" fresh
	ENDS=$((SECONDS + 3 * README_MINUTES * 60))
	GUEST_TIME=0
	: >"$WORK/readme-$1"
	step 'README.md: the way to a disk has less than 15 commands' test_readme_count
	step 'README.md: the host has just been installed' test_readme_fresh
	GUEST_ARGS=("${WAY_OUT[@]}")
	boot
	step 'README.md: it installs' test_readme_install
	step 'README.md: there is a link' test_readme_link
	step 'README.md: rping answers' test_readme_try
	step 'README.md: a disk is mounted' test_readme_disk
	step 'README.md: NFS has it, too' test_readme_nfs
	inside 'cp /root/wanted /mnt/last' || :
	tap_run "$KERNEL: the guest ends well" power_off
	[[ $KEEP == yes ]] || guest_forget_logs
	boot
	step 'README.md: the link comes with the next boot, and the disk has what was written' test_readme_boot
	step "README.md: that has taken less than $README_MINUTES minutes" test_readme_time
	test_finish
	echo "# README.md on $KREL, $((GUEST_TIME / 60)) minutes:"
	grep -E '^# |^\(after [0-9]+ s\)$' "$WORK/readme-$1" | sed 's/^/#   /'
}

# --- ci-setup ----------------------------------------------------------------------------------

# ci_setup RELEASE ARGUMENT...: run ci-setup in a chroot, while the guest is off. "uname -r" would
# print the host's kernel: a shell function replaces uname, and prints RELEASE.
ci_setup() {
	inside "uname() { if [[ \$* == -r ]]; then echo $1; else command uname \"\$@\"; fi; }; export -f uname
		/root/ci-setup ${*:2} /root/${OLD##*/} 2>&1"
}

# ci-setup derives the names of packages from the running kernel's release. Debian has no package
# for the kernel of a hosted CI runner, "azure", which ci-setup reports.
test_ci_install() {
	local output cloud=6.14.0-1017-azure

	inside "cp /share/${OLD##*/} /share/ci-setup /root; ! type -P dkms rping make | grep ."
	! output=$(ci_setup $cloud) || fail "it goes on with $cloud"
	echo "$output"
	expect_text "$output" "^ci-setup: there is no package linux-headers-$cloud: upgrade the kernel, and reboot; .* linux-headers-azure$"
	inside '! type -P dkms'
	ci_setup "$KREL" --install
	expect_modules "$(version_of "$OLD")"
}

# ci-setup prints only the link's RDMA_DEVICE, RDMA_NETDEV and RDMA_ADDRESS to stdout, so that a job
# can use the output as it is. A second run installs nothing, and prints the same.
# shellcheck disable=SC2016 # expands on the guest
test_ci_link() {
	local output

	output=$(inside 'cd /root; ./ci-setup 2>log || { cat log; exit 1; }' 300)
	[[ $output == $'RDMA_DEVICE=srnic_eth0\nRDMA_NETDEV=eth0\nRDMA_ADDRESS=10.0.0.1' ]] || fail "it says $output"
	inside 'eval "$(/root/ci-setup)"; rdma link show $RDMA_DEVICE/1 | grep "state ACTIVE .*netdev $RDMA_NETDEV"
		rping -s -a $RDMA_ADDRESS -C 3 & sleep 2; rping -c -a $RDMA_ADDRESS -C 3 -v' 300
	inside 'ip link add plain0 type veth peer name plain1; ip address add 10.9.0.1/24 dev plain0
		ip link set plain0 up; ip link set plain1 up
		NETDEV=plain0 /root/ci-setup | grep -x RDMA_DEVICE=srnic_plain0
		ip link delete plain0' 300
}

# If no data passes, ci-setup reports that, with the output of doctor.
test_ci_fault() {
	local output

	output=$(inside 'iw-mpa link down srnic_eth0; echo "blacklist srnic" >/etc/modprobe.d/ci.conf; rmmod srnic
		fails /root/ci-setup 2>&1; rm /etc/modprobe.d/ci.conf; fails env NETDEV=nosuch0 /root/ci-setup 2>&1' \
			300)
	echo "$output"
	expect_text "$output" '^fault    '
	expect_text "$output" '^ci-setup: no data passes over eth0: see above$'
	expect_text "$output" '^ci-setup: there is no interface nosuch0$'
	! grep '^RDMA_' <<<"$output"
}

test_ci() {
	test_begin "$1" fresh
	cp "$TOP/scripts/ci-setup" "$HERE/share/"
	step 'ci-setup installs what the kernel that runs needs' test_ci_install
	boot
	step 'ci-setup makes a link, over which data passes' test_ci_link
	step 'ci-setup says that no data passes' test_ci_fault
	test_finish
}

# --- containers --------------------------------------------------------------------------------

# guide HOST [NUMBER]: run the commands that the administrator's guide marks by "run: HOST", or only
# the NUMBER-th. Each runs in a new shell with the variable GIVEN of the one before, and must print
# what the guide shows. After "rping -s" wait until it listens.
guide() {
	local steps name command expected output number=0

	steps=$("$TOP/scripts/e2e/guide.py" "$TOP/Documentation/infiniband/iw_mpa_admin.rst")
	while read -r -u 5 name command expected; do
		[[ $name == "$1" ]] || continue
		number=$((number + 1))
		[[ ${2:-$number} -eq $number ]] || continue
		command=$(base64 -d <<<"$command")
		output=$(inside "[[ ! -e /root/variables ]] || . /root/variables; $command
			declare -p GIVEN >/root/variables 2>/dev/null || :" 300 2>&1) || fail "$command: $output"
		printf '%s\n' "# $command" "$output"
		"$TOP/scripts/e2e/guide.py" --match "$expected" <<<"$output" || fail "this is not as the page has it"
		[[ $command != *' rping -s '* ]] || inside 'poll 60 eval "iw-mpa listeners | grep :7174"' 90
	done 5<<<"$steps"
	[[ $number -gt 0 ]]
}

test_containers_install() {
	inside "cp /share/${OLD##*/} /share/ci-setup /root"
	ci_setup "$KREL" --install
	inside 'DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends podman systemd-container
		mkdir /srv/image'
	tar -c -C "$CACHE/root/${KSUITE%-backports}-image" . | on_disk 'tar -x -C /srv/image'
	inside 'cp /usr/sbin/iw-mpa /srv/image/usr/sbin'
}

# podman's layers are on a tmpfs, since they cannot be on the guest's root, an overlay. iw-mpa in a
# container without /dev/infiniband and debugfs reports that these are missing.
# shellcheck disable=SC2016 # expands on the guest
test_containers_host() {
	local output run='podman run --rm --network host --rootfs /srv/image'

	inside 'mkdir -p /var/lib/containers; mount -t tmpfs containers /var/lib/containers; cd /root
		poll 300 systemctl is-active sys-subsystem-net-devices-eth0.device
		./ci-setup 2>log || { cat log; exit 1; }' 600
	guide containers_host
	inside 'podman rm -f -t 0 -a' 120
	output=$(inside "${run/--rm/--rm --device /dev/infiniband --ulimit memlock=-1} iw-mpa doctor" 120)
	echo "$output"
	expect_text "$output" '^ok       any amount of memory may be registered'
	expect_text "$output" '^ok       link srnic_eth0 on eth0: 10\.0\.0\.1'
	output=$(inside "fails $run iw-mpa doctor; fails $run iw-mpa endpoints 2>&1" 120)
	echo "$output"
	expect_text "$output" '^fault    /dev/infiniband/rdma_cm: No such file or directory$'
	expect_text "$output" \
		'^iw-mpa: .*/endpoints: No such file or directory \(in a container: this is for its host\)$'
}

# make_box: make a network namespace "box" with the interface eth0. In the initial namespace is the
# other end of the veth pair, box0, with a link of srnic, and a server of rping that listens on it
# shellcheck disable=SC2016 # expands on the guest
make_box() {
	inside 'ip netns add box; ip link add box0 type veth peer name eth0 netns box
		ip address add 10.8.0.1/24 dev box0; ip link set box0 up
		ip -n box address add 10.8.0.2/24 dev eth0; ip -n box link set eth0 up; ip -n box link set lo up
		rdma link add srnic_box0 type srnic netdev box0
		poll 20 grep -q 4: /sys/class/infiniband/srnic_box0/ports/1/state
		bg_start server "rping -s -P -a 10.8.0.1"; poll 60 eval "iw-mpa listeners | grep 10.8.0.1:7174"' 120
}

# shellcheck disable=SC2016 # expands on the guest
test_containers_shared() {
	local output

	make_box
	output=$(inside '! ip netns exec box iw-mpa doctor' 120)
	echo "$output"
	expect_text "$output" '^fault    there is no link in this network namespace$'
	guide containers_box
	inside 'ip netns exec box iw-mpa doctor; bg_stop server; ip netns delete box
		poll 30 eval "[[ ! -e /sys/class/infiniband/srnic_box && ! -e /sys/class/infiniband/srnic_box0 ]]"' 120
}

# The RDMA core's mode "exclusive" can be set only while there is no network namespace but the
# initial one; systemd may have made another to isolate a service.
# shellcheck disable=SC2016 # expands on the guest
test_containers_exclusive() {
	local output

	inside 'poll 120 eval "rdma system set netns exclusive"' 180
	make_box
	output=$(inside '! ip netns exec box iw-mpa doctor' 120)
	echo "$output"
	expect_text "$output" '^fault    there is no link in this network namespace$'
	expect_text "$output" '"rdma dev set srnic0 netns NAME" has to follow: rdma link add'
	guide containers_box 1
	guide containers_move
	guide containers_box 2
	output=$(inside 'podman run --rm --network ns:/run/netns/box --device /dev/infiniband \
		--rootfs /srv/image ibv_devices' 120)
	[[ $(grep srnic <<<"$output") =~ ^[[:space:]]*srnic_box[[:space:]]+[0-9a-f]+$ ]] || fail "there is $output"
}

test_containers() {
	test_begin "$1" fresh
	cp "$TOP/scripts/ci-setup" "$HERE/share/"
	"$TOP/scripts/lib/root.sh" --make "${KSUITE%-backports}-image"
	step 'containers: what they need is installed' test_containers_install
	boot
	step 'containers: the network of the host' test_containers_host
	step 'containers: a network of their own' test_containers_shared
	step 'containers: RDMA devices of their own' test_containers_exclusive
	test_finish
}

# --- emulation of other processors --------------------------------------------------------------

MISC=/proc/sys/fs/binfmt_misc
FOREIGN=/run/iw_mpa-foreign	# file with the emulators that this test has registered there

# emulators_of KERNEL...: print the names of the emulators for the kernels' processors
emulators_of() {
	local name

	for name in "$@"; do
		[[ $(arch_of "$name") == "$(host_arch)" ]] || echo "qemu-$(gnu_of "$(arch_of "$name")" | cut -d - -f 1)"
	done | sort -u
}

# emulated NAMES COMMAND...: run COMMAND, which may call root.sh: that makes the kernel run programs
# of other processors by the emulators NAMES, with entries in binfmt_misc. If several such tests run
# at the same time, the last to end removes the entries that were not there before the first began.
emulated() {
	local name

	exec 8>>"$FOREIGN"
	if flock -n -x 8; then
		for name in $1; do
			[[ -e $MISC/$name ]] || echo "$name" >&8
		done
	fi
	flock -s 8
	trap emulators_go EXIT
	setpriv --pdeathsig TERM "${@:2}" 8>&-
}

emulators_go() {
	local name

	flock -n -x 8 || return 0
	while read -r name; do
		[[ ! -e $MISC/$name ]] || echo -1 >"$MISC/$name"
	done <"$FOREIGN"
	: >"$FOREIGN"
}

# --- all of it ---------------------------------------------------------------------------------

version_of() { dpkg-deb -f "$1" Version | sed 's/-[^-]*$//'; }

# step NAME FUNCTION [ARGUMENT]: run FUNCTION as a test, with errexit, which would be off behind "if" or before "||"
step() {
	local name="$KERNEL: $1" status

	say "package: $name"
	shift
	set +e
	(set -e; "$@") >"$HERE/log" 2>&1 </dev/null
	status=$?
	set -e
	if [[ $status -eq 0 ]]; then
		tap ok "$name"
		return
	fi
	tap 'not ok' "$name"
	tail -n 60 "$HERE/log" | sed 's/^/# /'
	echo "# logs: $GUEST_RUN"
	KEEP=yes
}

# Print the newest other kernel of the same Debian whose headers were fetched.
second_kernel() {
	local name suite=${KSUITE%-backports} kernel=$KERNEL

	for name in $(names_for amd64 | tac); do
		kernel_row "$name"
		[[ $name == "$kernel" || ${KSUITE%-backports} != "$suite" || -z $(find_krel "$name") ]] ||
			{ echo "$name"; return; }
	done
}

# test_begin KERNEL guest|fresh: prepare a root of that kind, and an empty disk over it, for a guest
test_begin() {
	local root

	need_kernel "$1"
	KREL_RE=${KREL//+/\\+}
	export HERE=$WORK/${TEST#test_}-$KREL
	KEEP=no
	root=$(guest_root "$2")
	GUEST_ROOT=([A]=$root)
	GUEST_DISK=([A]=$HERE.disk)
	make_disk "${GUEST_DISK[A]}" 6G
	RUNS=no
	rm -rf "$HERE"
	mkdir -p "$HERE/share"
	cp "$OLD" "$HERE/share/"
	tap_run "$KERNEL: a guest without drivers of hardware" prune_modules
}

test_finish() {
	tap_run "$KERNEL: the guest ends well again" power_off
	rm -f "${GUEST_DISK[A]}"
	[[ $KEEP == yes ]] || guest_forget_logs
}

# boot is not called by step: the guest would end with the subshell in which step runs a test.
test_kernel() {
	local second

	test_begin "$1" guest
	second=$(second_kernel)
	cp "$NEW" "$NEWEST" "$HERE/share/"
	# Disable units of nvme-cli, which take an emulated processor a minute at each boot.
	inside 'systemctl -q disable nvmf-autoconnect nvmefc-boot-connections'
	list_files >"$HERE/before"
	step 'apt installs the package, DKMS builds the modules' test_install
	step 'DKMS has the modules of a later version' test_prebuild
	step 'links and settings are configured' test_configure
	boot
	step 'the boot brings a link up, with the settings; rping uses it' test_boot
	step 'links that are wrong are told' test_bad_links
	step 'a link goes and comes by hand' test_restart
	step 'a rule of udev starts the port mapper, if asked for' test_port_mapper
	step 'RDMA for a group, if asked for' test_group
	step 'iw-mpa doctor finds nothing wrong' test_doctor
	step 'a unit makes a link of an interface' test_netdev
	step 'a kernel without the modules is no failure' test_no_module
	step 'what the kernel uses is not taken away' test_users
	step 'an upgrade beside a mounted disk leaves the modules that are in use' test_upgrade_mounted
	step 'units export a disk and connect to it, also when the link has been removed and is back' test_storage
	tap_run "$KERNEL: the guest ends well" power_off
	[[ $KEEP == yes ]] || guest_forget_logs
	step 'an upgrade builds the new version' test_upgrade
	[[ -z $second ]] || step "DKMS builds for $second when its headers come" test_second_kernel "$second"
	boot
	step 'after the upgrade, a boot brings the link up' test_boot_upgraded
	step 'the boot mounts the disk of the units, with what was written last' test_storage_boot
	step 'removed: nothing is loaded, nothing is built' test_remove
	step 'purged: nothing is left' test_purge
	test_finish
}

# A step needs those before it: what can be run alone is one kernel.
alone() {
	local what=${TEST#test_}

	echo "scripts/test/package.sh ${what/#/--} $KERNEL" | sed 's/--kernel //'
}

main() {
	local name words='build guest deb root' all=("$@") debs names

	if [[ ${1:-} == --on-disk ]]; then
		mount_disk
		exec chroot "$HERE/mnt/root" /usr/bin/env -i HOME=/root LC_ALL=C \
			"QEMU_CPU=$ARM64_CPU" PATH=/usr/sbin:/usr/bin:/sbin:/bin bash -c "$2"
	fi
	TEST=test_kernel
	case ${1:-} in
	--readme | --ci | --containers)
		TEST=test_${1#--}
		shift
		;;
	esac
	KERNELS=("$@")
	[[ $# -gt 0 ]] || mapfile -t KERNELS < <(names_for amd64)
	need_root 'this makes root folders of Debian'
	names=$(emulators_of "${KERNELS[@]}")
	if [[ -n $names && -z ${EMULATED:-} ]]; then
		EMULATED=y emulated "$names" "$0" "${all[@]}"
		return
	fi
	[[ $TEST != test_readme ]] || words+=' foreign'
	# shellcheck disable=SC2086 # a list of words is what it is
	"$TOP/scripts/lib/setup.sh" $words "${KERNELS[@]}"
	mkdir -p "$WORK"
	MODULES=()
	for name in "${PACKAGED[@]}"; do
		[[ ! -d $TOP/drivers/infiniband/sw/$name ]] || MODULES+=("$name")
	done
	debs=$WORK/deb-$(IFS=+; echo "${TEST#test_}-${KERNELS[*]}")
	OLD=$("$TOP/scripts/lib/deb.sh" --into "$debs")
	NEW=$("$TOP/scripts/lib/deb.sh" --into "$debs" "$NEXT")
	NEWEST=$("$TOP/scripts/lib/deb.sh" --into "$debs" "$LAST")
	for name in "${KERNELS[@]}"; do
		"$TEST" "$name"
	done
	tap_end package
}

main "$@"
