# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by bench.sh: the kernel's instructions for an I/O of NVMe over RDMA and of NFS over RDMA,
# counted by QEMU's plugin split.c. Client and server are on one host; disk and files are in memory.

# NAME BYTES TIMES KIND
ULPS='
ulp-nvme-read-4k	4096	4000	nvme randread
ulp-nvme-write-4k	4096	4000	nvme randwrite
ulp-nvme-read-128k	131072	500	nvme randread
ulp-nvme-write-128k	131072	500	nvme randwrite
ulp-nfs-read-1m	1048576	100	nfs read
ulp-nfs-write-1m	1048576	100	nfs write
'

STORAGE_OVER=rdma	# rdma or tcp: the transport of the protocols in scripts/lib/guest

# in_kit KIT COMMAND
in_kit() {
	guest_run A "set -e; STORAGE_OVER=$STORAGE_OVER; . /host$TOP/scripts/lib/guest/$1.sh; $2" "$LIMIT"
}

# ulp_command BYTES TIMES KIND WHAT: print a command that makes I/Os: eight at a time on a disk, one at a time over NFS
ulp_command() {
	case "$3 $4" in
	nvme* | iser*)
		echo "fio --name=bench --filename=\$($3_block) --direct=1 --ioengine=libaio --iodepth=8 \
			--bs=$1 --rw=$4 --randrepeat=1 --norandommap --io_size=$(($1 * $2)) --minimal"
		;;
	"nfs read") echo "dd if=\$NFS_MOUNT/file of=/dev/null iflag=direct bs=$1 count=$2 status=none" ;;
	"nfs write")
		echo "dd if=/dev/zero of=\$NFS_MOUNT/file oflag=direct conv=notrunc bs=$1 count=$2 status=none"
		;;
	esac
}

ulps_begin() {
	in_kit nvme 'nvme_serve 4 10.0.0.1 4420 0; nvme_attach 10.0.0.1 4420' &&
		in_kit nfs "nfs_serve 20049; nfs_mount 10.0.0.1 20049
			dd if=/dev/zero of=\$NFS_MOUNT/file bs=1M count=100 status=none; sync \$NFS_MOUNT/file"
}

ulps_end() {
	in_kit nfs "umount \$NFS_MOUNT; nfs_serve_end" && in_kit nvme 'nvme_detach; nvme_serve_end' &&
		guest_run A 'poll 30 rdma_is_idle || poll 30 only_pool' "$LIMIT"
}

# Print I/Os per second from the output of fio --minimal, in a guest where an instruction takes a nanosecond. Column 8
# is for reads, column 49 for writes; one of them is 0.
fio_iops() { awk -F ';' 'NF > 48 { print "iops", int($8 + $49) }'; }

# count_io FILE KIT COMMAND TIMES: run COMMAND, which makes TIMES I/Os, in the guest, with functions
# of scripts/lib/guest/KIT.sh. Write the number of I/Os to FILE, as report.py reads it, "connections
# TIMES"; the instructions that split.c has counted to FILE.split; and the output to $OUT/log.
count_io() {
	rm -f "$OUT/split"
	in_kit "$2" "/share/cm_bench count; $3; /share/cm_bench dump" >"$OUT/log" || true
	[[ -e $OUT/split ]] || return
	mv "$OUT/split" "$1.split"
	echo "connections $4" >"$1"
}

# measure_ulps VARIANT
measure_ulps() {
	local name octets times kind what command

	grep -qE "$ONLY" <<<"$(awk '{ print $1 }' <<<"${ULPS:1:-1}")" || return 0
	ulps_begin >"$OUT/log" || { gap "$1: no ULPs: $(cat "$OUT/log")" && return; }
	while read -r name octets times kind what; do
		[[ $name =~ $ONLY ]] || continue
		say "$1: $name"
		command=$(ulp_command "$octets" "$times" "$kind" "$what")
		{ in_kit "$kind" "$command >/dev/null" >"$OUT/log" &&
			count_io "$RAW/$1.$name" "$kind" "$command" "$times"; } ||
			{ gap "$1 $name: $(cat "$OUT/log")" && continue; }
		fio_iops <"$OUT/log" >>"$RAW/$1.$name"
	done <<<"${ULPS:1:-1}"
	ulps_end >"$OUT/log" || gap "$1: the ULPs did not end: $(cat "$OUT/log")"
}

# COMEBACK is "NUMBER SECONDS": the number of controllers, and for how long they have no target: so
# long that their attempts to reconnect no longer begin at the same time.
COMEBACK=${COMEBACK:-'64 5'}
COMEBACK_VARIANTS=${COMEBACK_VARIANTS:-'siw siw_mpa srnic'}
COMEBACK_ROUNDS=${COMEBACK_ROUNDS:-5}

measure_comebacks() {
	local variant round count seconds

	read -r count seconds <<<"$COMEBACK"
	need_krel
	"$TOP/scripts/lib/build.sh"
	rm -rf "$OUT/comeback"
	mkdir "$OUT/comeback"
	boot_counted
	cp "$TOP"/scripts/test/bench/{controllers.sh,comeback.py} "$GUEST_RUN/share/"
	for variant in $COMEBACK_VARIANTS; do
		take_driver "$variant"
		say "$variant: $count controllers"
		guest_run A ". /share/controllers.sh; controllers_begin $count" "$LIMIT" >"$OUT/log" 2>&1 ||
			die "$variant: $(cat "$OUT/log")"
		for ((round = 1; round <= COMEBACK_ROUNDS; round++)); do
			guest_run A "/share/comeback.py $count $seconds" "$LIMIT" \
				>"$OUT/comeback/$variant.$round" ||
				die "$variant: $(cat "$OUT/comeback/$variant.$round")"
			sed "s/^/# $variant, round $round: /" "$OUT/comeback/$variant.$round"
		done
		guest_run A ". /share/controllers.sh; controllers_end" "$LIMIT" >"$OUT/log" ||
			gap "$variant: the controllers did not end: $(cat "$OUT/log")"
	done
	guest_kill_all		# other tests check that guests shut down
	python3 "$TOP/scripts/test/bench/report.py" --comeback "$OUT"
	cat "$OUT/comeback.rst"
	say "in $OUT: comeback.rst, comeback.html"
}
