# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by bench.sh: how instructions, memory and throughput grow with the number of NVMe controllers that have I/Os,
# over RDMA and over TCP. A controller has two connections, one of them for I/Os. Client and target are on one host with
# an MTU of 1500.

GROWTH_COLUMNS=${GROWTH_COLUMNS:-'tcp plain'}
GROWTH_CONTROLLERS=${GROWTH_CONTROLLERS:-'1 8 64 512'}
GROWTH_CPUS=${GROWTH_CPUS:-'1 2 4'}	# instructions are counted with each of these numbers of processors
GROWTH_BYTES='4096 131072'
# By the clock, with the last of GROWTH_CPUS. Other runs of the host slow all columns: so these take turns.
GROWTH_ROUNDS=${GROWTH_ROUNDS:-15}
GROWTH_SECONDS=${GROWTH_SECONDS:-3}

GROWTH_KIT=../../test/bench/controllers	# for in_kit, below scripts/lib/guest

# growth_io NUMBER BYTES ARGUMENTS: print a command that reads from the disk, with eight I/Os outstanding for each of
# NUMBER controllers
growth_io() {
	echo "fio --thread --name=bench --filename=\$(nvme_block) --direct=1 --ioengine=libaio \
		--iodepth=$((8 * $1)) --bs=$2 --rw=randread --randrepeat=1 --norandommap --minimal $3"
}

# growth_count COLUMN NUMBER CPUS: count the instructions of a short and a long run, after one that is not counted
growth_count() {
	local bytes run times

	tell_plugin
	for bytes in $GROWTH_BYTES; do
		times=$((16 * $2 + (bytes > 4096 ? 50 : 200)))
		in_kit "$GROWTH_KIT" "$(growth_io "$2" "$bytes" "--io_size=$((times * bytes))")" >"$OUT/log" || return
		for run in short long; do
			count_io "$OUT/growth/$1.$2.cpus-$3.$bytes.$run" "$GROWTH_KIT" \
				"$(growth_io "$2" "$bytes" "--io_size=$((times * bytes))")" "$times" || return
			times=$((5 * times))
		done
	done
}

# growth_memory COLUMN NUMBER BEFORE: write the KiB of memory that were free BEFORE the controllers were there, are free
# while they have no I/O, and were at least free while they had
growth_memory() {
	local file=$OUT/growth/$1.$2.memory reads

	reads=$(growth_io "$2" 131072 "--io_size=$(((20 * $2 + 500) * 131072))")
	echo "before $3" >"$file"
	in_kit "$GROWTH_KIT" "echo idle \$(free_pages); echo busy \$(least_free $reads)" >>"$file" &&
		grep -q '^busy [0-9]' "$file"
}

# growth_rate COLUMN NUMBER ROUND: write I/Os per second by the clock
growth_rate() {
	local bytes reads file

	for bytes in $GROWTH_BYTES; do
		file=$OUT/growth/$1.$2.$bytes.rate.$3
		reads=$(growth_io "$2" "$bytes" "--time_based --runtime=$GROWTH_SECONDS")
		in_kit "$GROWTH_KIT" "$reads" >"$OUT/log" && fio_iops <"$OUT/log" >"$file" && [[ -s $file ]] || return
	done
}

# growth_at COLUMN NUMBER MEASURE [ARGUMENT]: connect NUMBER controllers, and call growth_MEASURE
growth_at() {
	local before

	say "$1: $2 controllers, ${*:3}"
	before=$(in_kit "$GROWTH_KIT" free_pages) &&
		in_kit "$GROWTH_KIT" "controllers_begin $2; take_turns" >"$OUT/log" 2>&1 &&
		"growth_$3" "$1" "$2" "${4:-$before}" &&
		in_kit "$GROWTH_KIT" controllers_end >"$OUT/log" 2>&1 && return
	gap "$1: $2 controllers, ${*:3}: $(cat "$OUT/log")"
	return 1
}

# growth_boot CPUS: with more than one processor QEMU's plugin needs the host's clock: see measure_cpus
growth_boot() {
	GUEST_MEM=10G
	GUEST_SMP=$1
	boot_with cm_bench
	guest_run A 'ip link set lo mtu 1500; sysctl -qw kernel.hung_task_timeout_secs=0' "$LIMIT"
}

# growth_counted CPUS
growth_counted() {
	local column number

	GUEST_ACCEL=tcg,thread=single
	GUEST_ARGS=(-plugin "$OUT/split.so,map=$OUT/map,out=$OUT/split")
	growth_boot "$1"
	for column in $GROWTH_COLUMNS; do
		users_take "$column"
		for number in $GROWTH_CONTROLLERS; do
			growth_at "$column" "$number" count "$1" || return
		done
	done
	guest_down || gap "the guest did not end well: see $GUEST_RUN"
}

# growth_timed CPUS
growth_timed() {
	local column number round

	unset GUEST_ACCEL
	GUEST_ARGS=()
	growth_boot "$1"
	for ((round = 0; round <= GROWTH_ROUNDS; round++)); do
		for column in $GROWTH_COLUMNS; do
			users_take "$column"
			for number in $GROWTH_CONTROLLERS; do
				if ((round == 0)); then
					growth_at "$column" "$number" memory || return
				else
					growth_at "$column" "$number" rate "$round" || return
				fi
			done
		done
	done
	guest_down || gap "the guest did not end well: see $GUEST_RUN"
}

measure_growth() {
	local cpus

	need_krel
	"$TOP/scripts/lib/build.sh"
	rm -rf "$OUT/growth"
	mkdir "$OUT/growth"
	build_plugin
	for cpus in $GROWTH_CPUS; do
		growth_counted "$cpus" || guest_kill_all
	done
	growth_timed "$cpus" || guest_kill_all
	python3 "$TOP/scripts/test/bench/growth.py" "$OUT"
	cat "$OUT/growth.rst"
	say "in $OUT: growth.rst, growth.html"
}
