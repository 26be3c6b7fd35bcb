# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="Ceph, Debian's, with its messenger over RDMA: a monitor and an OSD, and rados at the client"
BUILT_OF=scripts/suites/ceph_pool.py
PACKAGES="libaio1 libblkid1 libboost-iostreams1.74.0 libboost-thread1.74.0 libfmt9 liblz4-1 libpmem1 libsnappy1v5"
UNPACKED="ceph-base ceph-common ceph-mon ceph-osd libfuse2 libleveldb1d librados2 libradosstriper1"
SAMPLED=.

groups() { printf '%s\n' objects bench cut; }

CEPH=/run/ceph
# The OSD uses the first free ports of a range that begins here.
OSD_PORT=6800
FSID=10000000-0000-0000-0000-000000000000

libraries() { echo "/host$BUILT/usr/lib/x86_64-linux-gnu"; }

# The cluster has one OSD, whose disk is in memory, and no authentication. Ceph sends without a
# check that the peer has posted receives, so the shared receive queue has more entries than there
# can be messages in flight. Ceph's default time limits are too short for emulated hosts.
configuration() {
	cat <<-END
	[global]
	fsid = $FSID
	mon_host = v2:$SERVER_IP:$PORT
	auth_cluster_required = none
	auth_service_required = none
	auth_client_required = none

	ms_type = async+rdma
	ms_async_rdma_type = iwarp
	ms_async_rdma_cm = true
	ms_async_rdma_device_name = siw0
	ms_async_rdma_buffer_size = 32768
	ms_async_rdma_send_buffers = 256
	ms_async_rdma_receive_queue_len = 1024
	ms_async_rdma_receive_buffers = 4096
	ms_async_rdma_polling_us = 0
	ms_async_op_threads = 1
	ms_bind_msgr1 = false

	mon_data = $CEPH/mon
	mon_allow_pool_size_one = true
	osd_data = $CEPH/osd
	osd_objectstore = memstore
	memstore_device_bytes = 256M
	osd_pool_default_size = 1
	osd_pool_default_min_size = 1
	osd_pool_default_pg_autoscale_mode = off
	osd_crush_chooseleaf_type = 0
	osd_op_num_shards = 1

	ms_connection_ready_timeout = 120
	mon_client_hunt_interval = 120
	mon_client_ping_timeout = 300
	osd_heartbeat_grace = 600
	osd_op_thread_timeout = 600
	osd_op_thread_suicide_timeout = 6000

	osd_class_dir = $(libraries)/rados-classes
	osd_open_classes_on_start = false
	osd_erasure_code_plugins =
	erasure_code_dir = $(libraries)/ceph/erasure-code
	plugin_dir = $(libraries)/ceph
	run_dir = $CEPH
	admin_socket =
	pid_file =
	log_file =
	log_to_stderr = true
	debug_rocksdb = 0
	END
}

# ceph COMMAND: print the commands with which a guest runs COMMAND
ceph() {
	echo "export CEPH_CONF=$CEPH/conf PATH=\$PATH:/host$BUILT/usr/bin
		export LD_LIBRARY_PATH=$(libraries):$(libraries)/ceph:/host$BUILT/lib/x86_64-linux-gnu
		$1"
}

# daemon NAME PORT COMMAND: run the daemon COMMAND at the server until it listens on PORT
daemon() { GUEST_LIMIT=200 LISTEN_LIMIT=180 guest_serve "$SERVER" "$1" "$2" "$(ceph "$3")"; }

rados() { client "$(ceph "rados -p pool $1")" 300; }

# The OSD adds itself to the monitor's map. "rados" cannot make a pool, so ceph_pool.py makes it.
cluster() {
	local guest

	for guest in "$SERVER" "$CLIENT"; do
		on "$guest" "at_clean_up 'rm -rf $CEPH'; mkdir -p $CEPH/mon $CEPH/osd; cat >$CEPH/conf <<-END
		$(configuration)
		END"
	done
	on "$SERVER" "$(ceph "monmaptool --create --fsid $FSID --addv a '[v2:$SERVER_IP:$PORT]' $CEPH/map &&
		ceph-mon -i a --mkfs --monmap $CEPH/map && ceph-osd -i 0 --mkfs --osd-uuid $FSID --no-mon-config")" 300
	daemon mon "$PORT" "ceph-mon -f -i a"
	daemon osd "$OSD_PORT" "ceph-osd -f -i 0"
	client "$(ceph "/host$TOP/scripts/suites/ceph_pool.py pool")" 300
}

# cluster_ends: check that the monitor and the OSD still run, and end them. An OSD that had ended,
# and had been started again, would have lost its objects, which are in memory.
cluster_ends() {
	on "$SERVER" '! bg_ended mon && ! bg_ended osd'
	guest_stop "$SERVER" osd | tail -n 5
	guest_stop "$SERVER" mon | tail -n 5
}

fill() { on "$CLIENT" "head -c $2 /dev/urandom >$CEPH/$1"; }

# compare OBJECT: read OBJECT from the pool, and compare it with the client's file of that name
compare() {
	rados "get $1 $CEPH/out"
	on "$CLIENT" "cmp $CEPH/$1 $CEPH/out && rm $CEPH/out"
}

run_objects() {
	local name

	for name in one two three; do
		fill "$name" 4M
		rados "put $name $CEPH/$name"
	done
	for name in one two three; do
		compare "$name"
	done
	DATA=$((2 * 3 * (4 << 20)))
}

# made TEXT KIND: print how many operations of that kind were made
made() { sed -n "s/^Total $2 made: *//p" <<<"$1"; }

# "seq" compares each object that it reads with what "write" wrote.
run_bench() {
	local written read

	written=$(rados 'bench 5 write -b 65536 -t 4 --no-cleanup')
	echo "$written"
	read=$(rados 'bench 120 seq -t 4')
	echo "$read"
	[[ $(made "$written" writes) -gt 0 && $(made "$written" writes) -eq $(made "$read" reads) ]] ||
		fail 'not all that was written has been read'
	DATA=$((2 * $(made "$read" reads) * 65536))
}

# A connection is cut while it carries an object. Ceph connects again, and repeats what the OSD has not confirmed.
run_cut() {
	local sent before

	before=$(on "$CLIENT" "counter TCP_ERROR")
	fill object 32M
	sent=$(bytes_sent "$CLIENT")
	guest_bg "$CLIENT" client "$(ceph "rados -p pool put object $CEPH/object")"
	on "$CLIENT" "has_sent() { [[ \$(</sys/class/net/eth0/statistics/tx_bytes) -ge $((sent + (4 << 20))) ]]; }
		cut_one() { tcp_cut $OSD_PORT || tcp_cut $((OSD_PORT + 1)) || tcp_cut $((OSD_PORT + 2)); }
		poll 100 has_sent && cut_one" 120
	guest_wait "$CLIENT" client 300
	[[ $(on "$CLIENT" "counter TCP_ERROR") -gt $before ]] || fail 'no connection of iw_mpa was cut'
	compare object
	DATA=$((2 * (32 << 20)))
}

check() {
	local connections bytes DATA=0

	connections=$(established "$(our_end)")
	bytes=$(bytes_moved)
	cluster
	"run_$VARIANT"
	[[ $(bytes_moved) -ge $((bytes + DATA)) ]] || fail "less than $DATA bytes went"
	# The OSD connects to the monitor; each rados connects to the monitor and to the OSD.
	[[ $(established "$(our_end)") -ge $((connections + 5)) ]] || fail 'not by connections of iw_mpa'
	cluster_ends
}
