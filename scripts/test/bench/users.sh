# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by bench.sh: the kernel's instructions for an I/O of NVMe, NFS and iSCSI over RDMA, and
# over the TCP protocol that each of them also has. Both ends are on one host with an MTU of 1500;
# QEMU's plugin split.c counts. A figure is marginal: the difference of a long and a short run,
# divided by the difference of their I/Os, which excludes the start and the end of the program.

# In the environment commas may separate the words of these two, since a row of check-all has no spaces in a value.
USERS_COLUMNS=${USERS_COLUMNS:-'tcp tcp-digest siw rxe srnic plain srnic-large plain-large'}
USERS_COLUMNS=${USERS_COLUMNS//,/ }
# I/Os of a long and a short run of NVMe and iSER, and of NFS. The start and the end of fio take 42 to 47 million
# instructions, so the difference of two runs has up to some 3 million by chance: of 2,000 I/Os of 4 KiB that is 2 to
# 5 %, of 400 I/Os of 128 KiB 1 to 4 %. The columns in USERS_BRIEFLY take a tenth for large I/Os alone: over siw one
# costs up to 15 times as much, and all columns have to end within 90 minutes.
USERS_TIMES=${USERS_TIMES:-'2500 500 300 100'}
USERS_TIMES=${USERS_TIMES//,/ }
USERS_BRIEFLY='siw rxe'
USERS_KERNEL=
USERS_WRITE=no

# NAME BYTES KIND WHAT, as in ULPS of ulps.sh
USERS='
nvme-read-4k	4096	nvme randread
nvme-write-4k	4096	nvme randwrite
nvme-read-128k	131072	nvme randread
nvme-write-128k	131072	nvme randwrite
nfs-read-4k	4096	nfs read
nfs-write-4k	4096	nfs write
nfs-read-1m	1048576	nfs read
nfs-write-1m	1048576	nfs write
iser-read-4k	4096	iser randread
iser-write-4k	4096	iser randwrite
iser-read-128k	131072	iser randread
'

# Limits in hundredths, each a column for a pair in USERS_PAIRS; -: these are not compared. They are 5 % above the
# largest ratio of 6.1 in boots of November 2026. Where boots differ, the ratio of most of them is further below its
# limit: over NVMe/TCP an I/O of 128 KiB took up to 15 % more in one boot than in others. Those of iSCSI are 10 % above
# the ratio of one boot, since no others were seen.
USERS_PAIRS='plain/tcp srnic/tcp-digest plain-large/tcp srnic-large/tcp-digest'
USERS_LIMITS='
nvme-read-4k	64	57	60	59
nvme-write-4k	47	48	45	45
nvme-read-128k	116	118	108	100
nvme-write-128k	115	113	107	92
nfs-read-4k	123	-	125	-
nfs-write-4k	157	-	154	-
nfs-read-1m	44	-	41	-
nfs-write-1m	120	-	109	-
iser-read-4k	53	49	57	46
iser-write-4k	50	37	46	37
iser-read-128k	38	47	35	38
'

# users_options [-k REGEX] [--kernel NAME] [--write]
users_options() {
	while [[ $# -gt 0 ]]; do
		case $1 in
		-k) ONLY=${2?-k needs one more word} && shift ;;
		--kernel) USERS_KERNEL=${2?--kernel needs one more word} && shift ;;
		--write) USERS_WRITE=yes ;;
		*) die "no such option of --users: $1" ;;
		esac
		shift
	done
	[[ -z $USERS_KERNEL ]] || kernel_row "$USERS_KERNEL" ||
		die "no such kernel: $USERS_KERNEL ($(kernel_names | paste -sd ' '))"
	[[ $USERS_WRITE == no || $ONLY == . ]] || die '--write wants all rows'
}

# users_begin KIND COLUMN: start server and client, then show the plugin the functions of the modules that they loaded
users_begin() {
	local digests=()

	case $1 in
	nvme)
		[[ $2 != tcp-digest ]] || digests=(--hdr-digest --data-digest)
		in_kit nvme "nvme_serve 4 10.0.0.1 4420 0
			nvme_fabrics connect 10.0.0.1 4420 ${digests[*]}; poll 20 nvme_block"
		;;
	nfs)
		in_kit nfs "nfs_serve 20049; dd if=/dev/zero of=\$NFS_EXPORT/file bs=1M count=300 status=none
			nfs_mount 10.0.0.1 20049"
		;;
	iser)
		[[ $2 != tcp-digest ]] || digests=(iscsi.{Header,Data}Digest=CRC32C)
		in_kit iser "iser_serve 10.0.0.1 3260; iser_start; iser_login 10.0.0.1 3260 ${digests[*]}"
		;;
	esac && tell_plugin
}

# users_end KIND COLUMN: stop client and server of KIND: nvme, nfs or iser. If COLUMN is over RDMA,
# wait until no RDMA object is left, but not for rxe, which always has a QP of its own.
users_end() {
	case $1 in
	nvme) in_kit nvme 'nvme_detach; nvme_serve_end' ;;
	nfs) in_kit nfs "umount \$NFS_MOUNT; nfs_serve_end" ;;
	iser) in_kit iser 'iser_logout; iser_end; iser_serve_end 10.0.0.1 3260' ;;
	esac && { [[ $2 == tcp* || $2 == rxe ]] || guest_run A 'poll 30 rdma_is_idle || poll 30 only_pool' "$LIMIT"; }
}

USERS_RUNS=1	# of how many runs the one with the fewest instructions counts

# kernel_insns SPLIT: print how many instructions of the kernel a file of count_io has
kernel_insns() { awk '$3 != "user" { n += $4 } END { printf "%.0f\n", n }' "$1"; }

# count_least FILE KIT COMMAND TIMES: as count_io, but of USERS_RUNS runs. What else the guest's kernel does meanwhile,
# such as to compact its memory, adds instructions to a run, and never takes some away.
count_least() {
	local n

	count_io "$@" || return
	for ((n = 1; n < USERS_RUNS; n++)); do
		count_io "$1.again" "${@:2}" || return
		[[ $(kernel_insns "$1.again.split") -ge $(kernel_insns "$1.split") ]] || mv "$1.again.split" "$1.split"
		rm -f "$1".again{,.split}
	done
}

# users_row COLUMN NAME BYTES KIND WHAT: make a short run that is not counted, a short run and a long run
users_row() {
	local long short run

	rm -f "$RAW/$1.$2".*
	read -r long short <<<"$(users_times "$1" "$4" "$3")"
	in_kit "$4" "$(ulp_command "$3" "$short" "$4" "$5")" >"$OUT/log" ||
		{ gap "$1 $2: $(cat "$OUT/log")" && return; }
	for run in "short $short" "long $long"; do
		count_least "$RAW/$1.$2.${run% *}" "$4" "$(ulp_command "$3" "${run#* }" "$4" "$5")" "${run#* }" ||
			gap "$1 $2: $(cat "$OUT/log")"
	done
}

# users_times COLUMN KIND BYTES: print the I/Os of a long and a short run
users_times() {
	local io_long io_short file_long file_short part=1

	read -r io_long io_short file_long file_short <<<"$USERS_TIMES"
	[[ " $USERS_BRIEFLY " != *" $1 "* || $3 -le 4096 ]] || part=10
	[[ $2 != nfs ]] || read -r io_long io_short <<<"$file_long $file_short"
	echo $((io_long / part)) $((io_short / part))
}

# users_rows COLUMN: measure the chosen rows of each kind
users_rows() {
	local kind rows row

	for kind in nvme nfs iser; do
		[[ $1 != tcp-digest || $kind != nfs ]] || continue	# NFS has no digests
		mapfile -t rows < <(awk -v kind="$kind" -v only="$ONLY" '$3 == kind && $1 ~ only' <<<"$USERS")
		[[ ${#rows[@]} -gt 0 ]] || continue
		users_begin "$kind" "$1" >"$OUT/log" || { gap "$1: no $kind: $(cat "$OUT/log")" && return; }
		for row in "${rows[@]}"; do
			say "$1: ${row%%[[:blank:]]*}"
			# shellcheck disable=SC2086 # words
			users_row "$1" $row
		done
		users_end "$kind" "$1" >"$OUT/log" || { gap "$1: $kind did not end: $(cat "$OUT/log")" && return; }
	done
}

# Print the path of the file of the driver's setting large_fpdu, if the driver has it: a sysctl or a
# module parameter, depending on the version of the modules.
large_fpdu() {
	guest_run A \
		'ls -d /proc/sys/net/iw_mpa/large_fpdu /sys/module/{srnic,iw_mpa}/parameters/large_fpdu 2>/dev/null |
		head -n 1' "$LIMIT"
}

# users_take COLUMN: set the guest up for COLUMN; if this version lacks a setting for that, report it and fail
users_take() {
	local large

	STORAGE_OVER=rdma
	case $1 in
	tcp*)
		STORAGE_OVER=tcp
		guest_run A 'driver_clear' "$LIMIT"
		need_crc32c A
		;;
	rxe) guest_run A 'driver_set rxe' "$LIMIT" || { gap 'rxe: this kernel has no such driver' && return 1; } ;;
	*) take_driver "$1" ;;
	esac
	[[ $1 == *-large ]] || return 0
	large=$(large_fpdu)
	[[ -n $large ]] || { say "$1: there is no setting large_fpdu" && return 1; }
	guest_run A "echo 1 >$large" "$LIMIT"
}

# judge_ios KERNEL: measure GUARDED_IOS in the guest of boot_counting, and compare them with their limits
judge_ios() {
	local USERS_TIMES=$GUARDED_IO_TIMES USERS_RUNS=2 RAW=$OUT/guard ONLY=$GUARDED_IOS

	rm -rf "$RAW"
	mkdir "$RAW"
	users_when >"$RAW.when"
	measure_columns "$GUARDED_IO_COLUMNS"
	python3 "$TOP/scripts/test/bench/users.py" "$RAW"
	judge_table "$RAW.tsv" "$1" "$USERS_PAIRS" "$USERS_LIMITS" "$GUARDED_IO_COLUMNS"
}

# judge_users: compare the chosen rows and columns with USERS_LIMITS, on the kernel to which these belong
judge_users() {
	[[ $KERNEL == 6.1 ]] || { say "the limits are 6.1's: $KERNEL is not judged" && return; }
	judge_table "$RAW.tsv" 6.1 "$USERS_PAIRS" "$USERS_LIMITS" "$USERS_COLUMNS"
}

# measure_columns COLUMNS: measure them, with results in $RAW
measure_columns() {
	local column

	guest_run A 'ip link set lo mtu 1500' "$LIMIT"
	for column in $1; do
		! users_take "$column" || users_rows "$column"
	done
}

# Print what the figures belong to: date, last commit of the measured code, kernel.
users_when() {
	local -a git=(git -c safe.directory='*' -C "$TOP")
	local commit

	commit=$("${git[@]}" log -1 --format=%h -- drivers include 2>/dev/null) || commit=unknown
	[[ -z $("${git[@]}" status --porcelain -- drivers include 2>/dev/null) ]] || commit+=+
	echo "$(date -u +%F) $commit $KREL $(kernel_version)"
}

# users_keep: make the folder $RAW. Keep what it has from runs of the same commit, kernel and bench, with the same
# numbers of I/Os: so USERS_COLUMNS can divide an hour of measurements into several runs. The date is that of the first.
users_keep() {
	local same

	same=$(users_when | cut -d ' ' -f 2-)
	same+=" $USERS_TIMES $(cat "$TOP"/scripts/{bench.sh,test/bench/users.*} | cksum)"
	[[ $(cat "$RAW/same" 2>/dev/null) == "$same" && ${same%% *} =~ ^[0-9a-f]+$ ]] ||
		rm -rf "$RAW"
	[[ -e $RAW ]] || { mkdir -p "$RAW" && users_when >"$RAW.when"; }
	echo "$same" >"$RAW/same"
}

measure_users() {
	local RAW

	need_kernel "${USERS_KERNEL:-$KERNEL}"
	"$TOP/scripts/lib/setup.sh" build guest "$KERNEL"
	"$TOP/scripts/lib/build.sh"
	RAW=$OUT/users
	[[ -z $USERS_KERNEL || $USERS_KERNEL == "$(default_kernel)" ]] || RAW+=-$USERS_KERNEL
	users_keep
	build_plugin
	boot_counting
	measure_columns "$USERS_COLUMNS"
	guest_down || gap "the guest did not end well: see $GUEST_RUN"
	python3 "$TOP/scripts/test/bench/users.py" "$RAW"
	cat "$RAW.tsv"
	say "in ${RAW%/*}: $(cd "${RAW%/*}" && echo "${RAW##*/}".{tsv,rst,html})"
	judge_users
	[[ $USERS_WRITE == no ]] || users_write
}

users_write() {
	[[ $RAW == */users ]] || die 'the pages have the table of the default kernel'
	[[ $GAPS -eq 0 ]] || die 'not all rows were seen: nothing is written'
	python3 "$TOP/scripts/test/bench/users.py" --write "$RAW"
	"$TOP/scripts/test/static/check-docs.py" --write
}
