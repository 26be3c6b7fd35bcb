# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
#
# This suite has the same source as blktests.sh, and uses its functions

# shellcheck source=scripts/suites/blktests.sh
. "$TOP/scripts/suites/blktests.sh"

DESCRIPTION="blktests, group srp: target and initiator of SRP in one host, below multipath"
BUILT_OF="scripts/suites/blktests.patch scripts/suites/blktests.sh"
PACKAGES="patch g++ make fio xfsprogs dmsetup lsof psmisc libaio1 libedit2 liburcu8"
UNPACKED="gawk libsigsegv2 udev multipath-tools sg3-utils libsgutils2-1.46-2"
SAMPLED='^srp/001$'

groups() { printf 'srp/%s\n' 001 002 003 004 005 006 007 008 009 010 011 012 013 014 016; }

# In the guest's root bin, sbin and lib may be links into usr, so their files are moved into usr.
build() {
	patch -p1 --no-backup-if-mismatch --fuzz=0 <"$TOP/scripts/suites/blktests.patch"
	make -C src discontiguous-io
	ln -s gawk usr/bin/awk
	cp -r bin sbin lib usr/
	rm -r bin sbin lib usr/share usr/lib/udev/hwdb.d
	mv usr/lib/*/lib*.so.* usr/lib/
}

# multipathd and the tests depend on udev. It gets only the rules for disks, since others rename RDMA devices.
begin_disks() {
	on "$CLIENT" "set -e
		cp -r /host$BUILT/usr/. /usr
		mkdir -p /run/rules
		cp /usr/lib/udev/rules.d/*-{dm,multipath,persistent-storage}* /run/rules
		mount --bind /run/rules /usr/lib/udev/rules.d
		at_clean_up 'umount /usr/lib/udev/rules.d'
		/usr/lib/systemd/systemd-udevd --daemon
		at_clean_up 'killall -q multipathd systemd-udevd; rm -f /etc/multipath.conf'"
}

check() {
	begin
	begin_disks
	run_test TIMEOUT=20
}
