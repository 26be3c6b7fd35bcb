# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034,SC2153
DESCRIPTION="NVMe over RDMA in user space, SPDK's: its target and its initiator, with the kernel's and with each other"
SOURCE="https://github.com/spdk/spdk.git dfebd168c2f4201d5bdecb56bf08a1e47b559304"	# v23.05
BUILT_OF="scripts/suites/spdk.patch scripts/suites/libsiw.sh scripts/rdma-core/*.patch"
PACKAGES="patch libnuma-dev libbsd-dev libaio-dev uuid-dev libssl-dev"
UNPACKED="libdpdk-dev librte-eal23"	# the latter for its number: SPDK of 2023 supports no later DPDK
SAMPLED='^(nvmet/dd|spdk/dd|spdk/kernel)$'
KIT=nvme

# Each group is TARGET/TEST. The target "nvmet" is the kernel's. The initiator is the kernel's in
# the tests "kernel" and "kernel-srq", else SPDK's; the kernel's initiator asks the target for
# responses that are Sends with Invalidate.
groups() { printf '%s\n' {nvmet,spdk}/{identify,dd,verify} spdk/kernel spdk/kernel-srq; }

# build_libsiw FOLDER: copy libsiw into FOLDER; the suite libsiw builds it
build_libsiw() (
	load_suite libsiw
	has_source
	build_suite
	cp "$BUILT/bookworm/build/lib/libsiw-rdmav34.so" "$1"
)

# SPDK needs DPDK below one folder, and all of DPDK's headers in one folder. DPDK's librte_power is
# removed, since it would need more libraries. The function nasm hides the assembler, since without
# it SPDK's submodule ISA-L, for compression and encryption, is not built.
build() {
	local here=$PWD dir

	build_libsiw "$here"
	patch -p1 --no-backup-if-mismatch --fuzz=0 <"$TOP/scripts/suites/spdk.patch"
	touch isa-l/autogen.sh
	mv usr/include/x86_64-linux-gnu/dpdk/* usr/include/dpdk
	ln -s ../usr/include/dpdk dpdk/include
	ln -s ../usr/lib/x86_64-linux-gnu dpdk/lib
	rm -r usr/lib/x86_64-linux-gnu/{librte_power.*,pkgconfig}
	# shellcheck disable=SC2317 # by configure
	nasm() { :; }
	export -f nasm
	./configure --with-dpdk="$here/dpdk" --with-rdma --target-arch=corei7 --disable-tests --disable-unit-tests \
		--without-vhost --without-virtio
	make build_dir include/spdk/config.h
	for dir in lib/{accel,bdev,conf,dma,env_dpdk,event,init,json,jsonrpc,log,notify,nvme,nvmf,rdma,rpc,sock} \
		lib/{thread,trace,util,vfio_user,vmd} module/bdev/{aio,nvme} module/sock \
		module/event/subsystems/{accel,bdev,iobuf,nvmf,scheduler,sock,vmd}; do
		make -j "$(nproc)" -C "$dir"
	done
	make -C app/nvmf_tgt SPDK_LIB_LIST="bdev_aio sock_posix event event_nvmf"
	make -C app/spdk_dd SPDK_LIB_LIST="bdev_nvme sock_posix event event_bdev"
	make -C examples/bdev/bdevperf SPDK_LIB_LIST="bdev_nvme sock_posix event event_bdev conf"
	make -C examples/nvme/identify
}

HUGE=/run/huge

# memory HOST: reserve huge pages on HOST, since SPDK uses no other memory
memory() {
	on "$1" "at_clean_up 'bg_stop_all; umount $HUGE; echo 0 >/proc/sys/vm/nr_hugepages'
		mkdir -p $HUGE; mount -t hugetlbfs huge $HUGE; echo 160 >/proc/sys/vm/nr_hugepages
		grep -qx 160 /proc/sys/vm/nr_hugepages"
}

address() {
	echo "\"trtype\": \"RDMA\", \"adrfam\": \"IPv$FAMILY\", \"traddr\": \"$SERVER_IP\", \"trsvcid\": \"$PORT\""
}

# method NAME PARAMS
method() { echo "{\"method\": \"$1\", \"params\": {$2}}"; }

# configure NAME: turn lines "SUBSYSTEM METHOD PARAMS" on stdin into the file /share/NAME.json
configure() {
	local subsystem method params comma=

	{
		echo '{"subsystems": ['
		while read -r subsystem method params; do
			echo "$comma{\"subsystem\": \"$subsystem\", \"config\": [$(method "$method" "$params")]}"
			comma=,
		done
		echo ']}'
	} >"$GUEST_RUN/share/$1.json"
}

# small: print settings that make SPDK's pools smaller than by default, so that they fit into a
# guest
small() {
	echo 'iobuf iobuf_set_options "small_pool_count": 1024, "large_pool_count": 256'
	echo 'bdev bdev_set_options "bdev_io_pool_size": 4095, "bdev_io_cache_size": 64'
}

# Each request uses one buffer: an iWARP Read has only one sink, and SPDK ignores the device's max_sge_rd.
target_config() {
	local nqn="\"nqn\": \"$NVME_NQN\""

	small
	echo 'bdev bdev_aio_create "name": "disk", "filename": "'"$NVME_DISK"'", "block_size": 512'
	echo "nvmf nvmf_create_transport \"trtype\": \"RDMA\", \"no_srq\": $1, \"num_shared_buffers\": 192," \
		"\"max_io_size\": 131072, \"io_unit_size\": 131072"
	echo "nvmf nvmf_create_subsystem $nqn, \"allow_any_host\": true, \"serial_number\": \"1\""
	echo "nvmf nvmf_subsystem_add_ns $nqn, \"namespace\": {\"bdev_name\": \"disk\", \"uuid\": \"$NVME_UUID\"}"
	echo "nvmf nvmf_subsystem_add_listener $nqn, \"listen_address\": {$(address)}"
}

spdk() { echo "/host$BUILT/build/$1 --no-pci --msg-mempool-size 8191 -c /share/$2.json"; }

target() {
	local no_srq=true

	if [[ $VARIANT == nvmet/* ]]; then
		inside "$SERVER" "nvme_serve $FAMILY $SERVER_IP $PORT 0"
		return
	fi
	[[ $VARIANT != *-srq ]] || no_srq=false
	memory "$SERVER"
	on "$SERVER" "truncate -s 16M $NVME_DISK"
	target_config "$no_srq" | configure target
	LISTEN_LIMIT=60 serve "env IBV_DRIVERS=/host$BUILT/libsiw $(spdk bin/nvmf_tgt target)"
}

# SPDK's target has to end by itself after SIGTERM, with status 0.
target_ends() {
	if [[ $VARIANT == nvmet/* ]]; then
		inside "$SERVER" "nvme_serve_end"
		return
	fi
	on "$SERVER" "pkill -f '^/host$BUILT/build/bin/nvmf_tgt'"
	server_ends
	on "$SERVER" "rm $NVME_DISK"
}

initiator_config() {
	small
	echo "bdev bdev_nvme_attach_controller \"name\": \"Nvme\", \"subnqn\": \"$NVME_NQN\", $(address)"
}

# copy OPTION...: copy between a file and the initiator's disk, by SPDK's dd
copy() { client "$(spdk bin/spdk_dd initiator) --bs=65536 $*" 120; }

sum() { on "$1" "head -c $DISK_SIZE $2 | sha256sum"; }

copies() {
	local want

	on "$CLIENT" "head -c $DISK_SIZE /dev/urandom >/run/data"
	want=$(sum "$CLIENT" /run/data)
	copy --if=/run/data --ob=Nvmen1
	[[ $(sum "$SERVER" "$NVME_DISK") == "$want" ]] || fail "the target's file does not have what was written"
	copy --ib=Nvmen1 --of=/run/back --count=$((DISK_SIZE / 65536))
	[[ $(sum "$CLIENT" /run/back) == "$want" ]] || fail "the initiator reads something else"
	on "$CLIENT" "rm /run/data /run/back"
}

# bdevperf reads what it has written, and compares. This group uses IPv6.
verifies() {
	local result

	result=$(client "$(spdk examples/bdevperf initiator) -q 16 -o 16384 -w verify -t 10" 120)
	expect_text "$result" 'Total +: +[1-9]'
}

identifies() {
	local id="trtype:RDMA adrfam:IPv$FAMILY traddr:$SERVER_IP trsvcid:$PORT subnqn:$NVME_NQN"

	expect_text "$(client "/host$BUILT/build/examples/identify -d 64 -r '$id'" 120)" "UUID: +$NVME_UUID"
}

kernel_has_disk() {
	local want

	inside "$CLIENT" "nvme_attach $SERVER_IP $PORT"
	inside "$SERVER" "nvme_srqs $([[ $VARIANT == *-srq ]] && echo 1 || echo 0)"
	disk_write_and_compare "at first"
	inside "$CLIENT" "nvme_reset"
	disk_write_and_compare "after a reset"
	inside "$CLIENT" "tcp_cut $PORT; doze 1; poll 60 nvme_is_live" 90
	disk_write_and_compare "over the next connection"
	inside "$CLIENT" "nvme_detach; rm /run/data"
}

check() {
	# shellcheck source=scripts/lib/guest/nvme.sh
	. "$TOP/scripts/lib/guest/nvme.sh"
	[[ $VARIANT != */verify ]] || set_addresses 6
	target
	[[ $VARIANT == */kernel* ]] || memory "$CLIENT"
	initiator_config | configure initiator
	case $VARIANT in
	*/identify) identifies ;;
	*/dd) copies ;;
	*/verify) verifies ;;
	*/kernel*) kernel_has_disk ;;
	esac
	target_ends
	devices_go
}
