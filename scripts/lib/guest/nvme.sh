# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions for NVMe in a guest, over RDMA or TCP; commands source this file. The target's disk is a file in memory.

STORAGE_OVER=${STORAGE_OVER:-rdma}	# or tcp

NVME_NQN=nqn.2000-01.test.iw-mpa:disk
NVME_UUID=12345678-1234-4321-8765-123456789abc
NVME_DISK=/run/disk
NVMET=/sys/kernel/config/nvmet

# nvme_serve FAMILY ADDRESS PORT SRQ: start the target. Over RDMA its queues have a shared receive queue if SRQ is 1,
# and none if it is 0.
nvme_serve() {
	local subsystem=$NVMET/subsystems/$NVME_NQN port=$NVMET/ports/1

	at_clean_up ". ${BASH_ENV%/*}/nvme.sh; nvme_serve_end"
	modprobe -a configfs nvmet
	case $STORAGE_OVER in
	rdma) modprobe nvmet-rdma "use_srq=$4" ;;
	tcp) modprobe nvmet-tcp ;;
	esac
	mountpoint -q /sys/kernel/config || mount -t configfs config /sys/kernel/config
	truncate -s 16M "$NVME_DISK"
	mkdir "$subsystem" "$subsystem/namespaces/1" "$port"
	echo 1 >"$subsystem/attr_allow_any_host"
	echo "$NVME_UUID" >"$subsystem/namespaces/1/device_uuid"
	echo "$NVME_DISK" >"$subsystem/namespaces/1/device_path"
	echo 1 >"$subsystem/namespaces/1/buffered_io"
	echo 1 >"$subsystem/namespaces/1/enable"
	echo "$STORAGE_OVER" >"$port/addr_trtype"
	echo "ipv$1" >"$port/addr_adrfam"
	echo "$2" >"$port/addr_traddr"
	echo "$3" >"$port/addr_trsvcid"
	ln -s "$subsystem" "$port/subsystems/"
	poll 20 "${STORAGE_OVER}_listens" "$3"
}

nvme_serve_end() {
	local subsystem=$NVMET/subsystems/$NVME_NQN port=$NVMET/ports/1

	rm "$port/subsystems/$NVME_NQN"
	rmdir "$port"
	echo 0 >"$subsystem/namespaces/1/enable"
	rmdir "$subsystem/namespaces/1" "$subsystem"
	umount /sys/kernel/config
	rm "$NVME_DISK"
	modprobe -r "nvmet-$STORAGE_OVER"
}

# nvme_srqs NUMBER: 1: does the device have shared receive queues? 0: has it none?
nvme_srqs() {
	local number

	number=$(rdma resource show siw0 | grep -o 'srq [0-9]*')
	[[ $((${number#srq } > 0)) -eq $1 ]]
}

# nvme_fabrics discover|connect ADDRESS PORT [OPTION...]
nvme_fabrics() {
	local command=$1 address=$2 port=$3

	shift 3
	[[ $command == discover ]] || set -- --nqn="$NVME_NQN" "$@"
	modprobe "nvme-$STORAGE_OVER"
	nvme "$command" --transport="$STORAGE_OVER" --traddr="$address" --trsvcid="$port" \
		--hostnqn="nqn.2014-08.org.nvmexpress:uuid:$NVME_UUID" --hostid="$NVME_UUID" "$@"
}

# nvme_attach ADDRESS PORT: use several queues, one of them for writing and one polled
nvme_attach() {
	at_clean_up "nvme disconnect --nqn=$NVME_NQN"
	nvme_fabrics connect "$1" "$2" --nr-io-queues=2 --nr-write-queues=1 --nr-poll-queues=1 \
		--reconnect-delay=1
	poll 20 nvme_block
}

nvme_detach() {
	nvme disconnect --nqn="$NVME_NQN"
	poll 20 nvme_is_gone
}

# Succeed if neither a controller nor the disk is left.
nvme_is_gone() { ! nvme_block && ! nvme_controller; }

# Print the disk, as soon as its size is known.
nvme_block() {
	local disk

	disk=$(grep -l "$NVME_UUID" /sys/block/nvme[0-9]n[0-9]/uuid 2>/dev/null) || return 1
	disk=${disk%/uuid}
	[[ $(<"$disk/size") -gt 0 ]] && echo "/dev/${disk##*/}"
}

nvme_controller() {
	local file

	file=$(grep -lx "$NVME_NQN" /sys/class/nvme/*/subsysnqn 2>/dev/null) || return 1
	echo "${file%/subsysnqn}"
}

nvme_is_live() { [[ $(<"$(nvme_controller)/state") == live ]]; }

# nvme_write FILE, nvme_read BYTES: without the page cache
nvme_write() { dd if="$1" of="$(nvme_block)" bs=64k oflag=direct status=none; }
nvme_read() { dd if="$(nvme_block)" bs=64k iflag=direct,count_bytes count="$1" status=none; }

nvme_reset() {
	echo 1 >"$(nvme_controller)/reset_controller"
	poll 20 nvme_is_live
}
