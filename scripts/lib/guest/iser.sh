# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions for iSCSI in a guest, over RDMA (iSER) or TCP, with the kernel's target and initiator; commands source this
# file. The target's disk is a file in memory.

STORAGE_OVER=${STORAGE_OVER:-rdma}	# or tcp
case $STORAGE_OVER in
rdma) ISER_DRIVER=ib_iser ISER_INTERFACE=iser ;;
tcp) ISER_DRIVER=iscsi_tcp ISER_INTERFACE=default ;;
esac

ISER_IQN=iqn.2000-01.test.iw-mpa:disk
ISER_DISK=/run/disk
ISER_FILEIO=/sys/kernel/config/target/core/fileio_0
ISER_TARGET=/sys/kernel/config/target/iscsi

# iser_serve ADDRESS PORT
iser_serve() {
	local disk=$ISER_FILEIO/disk group=$ISER_TARGET/$ISER_IQN/tpgt_1

	at_clean_up ". ${BASH_ENV%/*}/iser.sh; iser_serve_end '$1' $2"
	modprobe -a configfs target_core_mod target_core_file iscsi_target_mod
	[[ $STORAGE_OVER == tcp ]] || modprobe ib_isert
	mount -t configfs config /sys/kernel/config
	mkdir -p "$disk"
	echo "fd_dev_name=$ISER_DISK,fd_dev_size=$((16 << 20))" >"$disk/control"
	echo 1 >"$disk/enable"
	mkdir -p "$group/lun/lun_0"
	ln -s "$disk" "$group/lun/lun_0/"
	# Any initiator may log in, and write.
	echo 0 >"$group/attrib/authentication"
	echo 1 >"$group/attrib/generate_node_acls"
	echo 0 >"$group/attrib/demo_mode_write_protect"
	iser_portal "$1:$2"
	echo 1 >"$group/enable"
	poll 20 "${STORAGE_OVER}_listens" "$2"
}

# A portal of the target has to listen with TCP before RDMA can be enabled for it, on the same port. With srnic and siw
# RDMA uses the host's TCP ports, and TCP's socket would occupy the port. So this socket is made in another network
# namespace.
iser_portal() {
	local portal=$ISER_TARGET/$ISER_IQN/tpgt_1/np/$1

	[[ $STORAGE_OVER == rdma ]] || { mkdir -p "$portal" && return; }
	ip netns add portal
	ip netns exec portal sysctl -q net.ipv4.ip_nonlocal_bind=1
	# nsenter, since "ip netns exec" would mount another /sys, without the configfs folders of the target.
	nsenter --net=/run/netns/portal mkdir -p "$portal"
	echo 1 >"$portal/iser"
}

# iser_serve_end ADDRESS PORT
iser_serve_end() {
	local disk=$ISER_FILEIO/disk group=$ISER_TARGET/$ISER_IQN/tpgt_1

	echo 0 >"$group/enable"
	rmdir "$group/np/$1:$2"
	[[ $STORAGE_OVER == tcp ]] || ip netns delete portal
	rm "$group/lun/lun_0/disk"
	rmdir "$group/lun/lun_0" "$group" "${group%/*}" "$ISER_TARGET" "$disk" "$ISER_FILEIO"
	umount /sys/kernel/config
	rm "$ISER_DISK"
	[[ $STORAGE_OVER == tcp ]] || modprobe -r ib_isert
}

# iser_start: start the initiator's daemon
iser_start() {
	at_clean_up ". ${BASH_ENV%/*}/iser.sh; iser_logout; iser_end"
	modprobe -a "$ISER_DRIVER" sd_mod
	mkdir -p /etc/iscsi /run/lock
	echo "InitiatorName=${ISER_IQN%:*}:client" >/etc/iscsi/initiatorname.iscsi
	cat >/etc/iscsi/iscsid.conf <<-END
	node.session.initial_login_retry_max = 1
	node.conn[0].timeo.login_timeout = 30
	END
	bg_start iscsid 'iscsid --foreground'
	poll 20 iscsid_listens
}

iscsid_listens() { grep -q '@ISCSIADM_ABSTRACT_NAMESPACE' /proc/net/unix; }

iser_end() {
	bg_stop iscsid
	modprobe -r "$ISER_DRIVER"
}

# iser_discover ADDRESS PORT: print the targets there
iser_discover() {
	iscsiadm --mode discovery --type sendtargets --portal "$1:$2" --interface "$ISER_INTERFACE" \
		--op nonpersistent
}

# iser_login ADDRESS PORT [NAME=VALUE...]: log in, with these settings of iscsiadm for a connection
iser_login() {
	local setting node=(iscsiadm --mode node --targetname "$ISER_IQN" --portal "$1:$2" \
		--interface "$ISER_INTERFACE")

	"${node[@]}" --op new
	for setting in "${@:3}"; do
		"${node[@]}" --op update --name "node.conn[0].${setting%%=*}" --value "${setting#*=}"
	done
	"${node[@]}" --login
	poll 20 iser_block
}

iser_logout() {
	iscsiadm --mode node --logout
	iscsiadm --mode node --op delete
	poll 20 iser_is_gone
}

iser_is_logged_in() {
	[[ $(cat /sys/class/iscsi_session/session*/state) == LOGGED_IN ]]
}

iser_is_gone() { ! iser_block && ! ls -d /sys/class/iscsi_session/session* 2>/dev/null; }

# Print the disk, as soon as its size is known.
iser_block() {
	local disk

	disk=$(ls -d /sys/class/iscsi_session/session*/device/target*/*/block/* 2>/dev/null) || return 1
	[[ $(<"$disk/size") -gt 0 ]] && echo "/dev/${disk##*/}"
}

# iser_write FILE, iser_read BYTES: without the page cache
iser_write() { dd if="$1" of="$(iser_block)" bs=64k oflag=direct status=none; }
iser_read() { dd if="$(iser_block)" bs=64k iflag=direct,count_bytes count="$1" status=none; }
