# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="krping: verbs, connections and regions of a kernel module, between two kernels"
SOURCE="https://github.com/larrystevenwise/krping.git 869124803512167ddb7a1ec02b1ea92b70b25a13"
BUILT_OF=scripts/suites/krping.patch
BUILT_FOR=kernel
PACKAGES="patch"
SAMPLED='^(4096|server_inv|read_inv)$'

# krping's test "fr" is left out: it maps a region anew while up to 31 registrations of that region
# are pending, and polls without ever yielding the processor to srnic's work. On 6.1 a registration
# failed, which ended the stream, and then krping polled for ever for two flushed requests: the write
# to /proc/krping cannot be killed, and the guest is lost. So it is no expected failure either. Left
# out are also its tests of latency and bandwidth, which krping itself refuses to run on any device.
groups() { printf '%s\n' 64 4096 65536 131072 6 server_inv read_inv local_dma_lkey; }

build() {
	patch -p1 --no-backup-if-mismatch --fuzz=0 <"$TOP/scripts/suites/krping.patch"
	kernel_make M="$PWD" modules
}

# options GROUP: print krping's options, the same for both sides, as krping's README demands. With
# read_inv, krping registers a region for a Write, and the next Read registers it again without an
# invalidation in between, unless the option local_dma_lkey makes the Write use the local DMA key.
options() {
	case $1 in
	6) echo "addr6=$(address_of "$SERVER" 6)" ;;
	read_inv) echo "addr=$SERVER_IP,size=4096,read_inv,local_dma_lkey" ;;
	[0-9]*) echo "addr=$SERVER_IP,size=$1" ;;
	*) echo "addr=$SERVER_IP,size=4096,$1" ;;
	esac
}

load() {
	on "$1" "at_clean_up '! test -d /sys/module/rdma_krping || rmmod rdma_krping'
		echo krping begins $PORT >/dev/kmsg; insmod /host$BUILT/rdma_krping.ko"
}
unload() { on "$1" "rmmod rdma_krping"; }

# krping reports its results only in the kernel's log.
check() {
	local count=100 log

	in_both load
	serve "echo server,port=$PORT,validate,$(options "$VARIANT") >/proc/krping"
	client "echo client,port=$PORT,validate,verbose,count=$count,$(options "$VARIANT") >/proc/krping"
	server_ends
	log=$(on "$CLIENT" "dmesg | sed '1,/krping begins $PORT/d' | grep krping:")
	[[ $(grep -c 'ping data .*rdma-ping-' <<<"$log") -eq $count && $log != *mismatch* ]] || fail "$log"
	in_both unload
}
