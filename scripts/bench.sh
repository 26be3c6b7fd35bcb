#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What connections cost, in instructions: srnic, siw_mpa, unmodified siw and bare TCP are measured in one guest with one
# processor. QEMU lets a nanosecond of the guest's clock pass with each instruction, so the numbers do not depend on the
# machine that runs this. The figures are only reported, except that --guard, --mtu, --users, --register and --storm
# compare them with limits. A measurement without a result leaves a gap in the table, and is a failure.
#
#   scripts/bench.sh [-k REGEX]        measure what connections cost; -k: only the measures whose name matches
#   scripts/bench.sh --users [-k REGEX] [--kernel NAME] [--write]
#                                      instructions for an I/O of NVMe, NFS and iSCSI, over RDMA and over their
#                                      TCP protocols: users.tsv, users.rst and users.html in $CACHE/bench, or
#                                      users-NAME.tsv and so on; --write: also write the tables in the pages. On
#                                      6.1 fail if srnic needs more than the TCP protocol, beyond USERS_LIMITS
#   scripts/bench.sh --mtu N           instructions for a message at an MTU of 1500, 9000 or 65536: mtu-N.tsv,
#                                      mtu.rst and mtu.html in $CACHE/bench. On 6.1 fail if srnic needs more than
#                                      bare TCP or siw, beyond MTU_LIMITS
#   scripts/bench.sh --guard           fail if srnic or siw_mpa need more than siw for a connect, two kinds of
#                                      messages and some regions, or on the default kernel more than NVMe/TCP for a
#                                      read of 128 KiB, beyond the limits in LIMITS, GUARDED and USERS_LIMITS
#   scripts/bench.sh --rtt             how many round trips pass until each end can send: netem delays packets
#                                      of the loopback device
#   scripts/bench.sh --storm           a server is killed and started again, and all of its clients connect at
#                                      once: fail if they wait too long; siw is measured, too, but not judged
#   scripts/bench.sh --comeback        a target of NVMe over RDMA is removed and returns: the time until all of
#                                      its 64 controllers are live
#   scripts/bench.sh --hops            what a connection costs each of two hosts: instructions, context
#                                      switches, wake-ups
#   scripts/bench.sh --scale           connecting and disconnecting on 1, 2 and 4 processors; and 100,000
#                                      endpoints: their memory, a listing, the removal of their device
#   scripts/bench.sh --growth          NVMe beside NVMe/TCP with I/Os on 1, 8, 64 and 512 controllers: instructions
#                                      on 1, 2 and 4 processors, memory, I/Os per second by the clock
#   scripts/bench.sh --rate            connections per second on four processors, by the clock: only
#                                      the ratios within one round mean something
#   scripts/bench.sh --load            bytes per second of Writes of 1, 8 and 64 QPs, by the clock, and how
#                                      evenly the QPs share them
#   scripts/bench.sh --pong            time in which 64 bytes go to another guest and back, by the clock
#   scripts/bench.sh --register        fail if registering and deregistering 100,000 regions, of a process and
#                                      of a kernel ULP, costs much more than with siw
#
# Results are in $CACHE/bench: table.rst, connect.svg, and OPTION.rst for each option but --guard; OPTION.html with
# plots; and the data in folders such as raw, rtt and storm. The environment variable IW_MPA_BENCH names another folder
# than $CACHE/bench; others that have a default below, such as VARIANTS and ROUNDS, choose fewer measurements.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"
# shellcheck source=scripts/lib/guest/guest.sh
. "$TOP/scripts/lib/guest/guest.sh"

OUT=${IW_MPA_BENCH:-$CACHE/bench}
RAW=$OUT/raw
ONLY=.
LIMIT=3600	# seconds for one command: many, since the guest's clock jumps ahead whenever the guest is idle

# Variants: for each one its driver, and its settings of sysctl net.iw_mpa. "plain" is srnic without
# three things that siw does not do by default: CRC, the peer-to-peer model, and the responder's
# wait for the first FPDU ("fence").
declare -A DRIVER=([siw]=siw [siw_mpa]=siw_mpa [srnic]=srnic [plain]=srnic [markers]=srnic
	[srnic-tfo]=srnic [plain-tfo]=srnic [rxe]=rxe [srnic-large]=srnic [plain-large]=srnic)
declare -A SETTINGS=(
	[siw_mpa]='peer_to_peer=1 crc=1 fence=1 markers=0'
	[srnic]='peer_to_peer=1 crc=1 fence=1 markers=0'
	[plain]='peer_to_peer=0 crc=0 fence=0 markers=0'
	[markers]='peer_to_peer=1 crc=1 fence=1 markers=1'
	[srnic-tfo]='peer_to_peer=1 crc=1 fence=1 markers=0 fast_open=1'
	[plain-tfo]='peer_to_peer=0 crc=0 fence=0 markers=0 fast_open=1'
)
SETTINGS[srnic-large]=${SETTINGS[srnic]}
SETTINGS[plain-large]=${SETTINGS[plain]}
VARIANTS=${VARIANTS:-'siw siw_mpa srnic plain markers'}
BRIEFLY='siw_mpa markers'	# variants for which BRIEF_MEASURES replaces MEASURES

# Lines "NAME ARGUMENTS": measurements of connections, each by one call of cm_bench with ARGUMENTS
MEASURES='
connect-1	-o 1 connect
connect-8	-o 8 connect
connect-64	-o 64 connect
connect-pd250	-d 250 connect
connect-ipv6	-a fd00::1 connect
reject		reject
reject-pd250	-d 250 reject
listen		listen
held-0010	-k established -K 10 connect
held-1000	-k established -K 1000 connect
held-10000	-k established -K 10000 connect
half-open-0010	-k half-open -K 10 connect
half-open-1000	-k half-open -K 1000 connect
half-open-10000	-k half-open -K 10000 connect
memory-half-open	-k half-open -K 1000 hold
memory-waiting	-k waiting -K 1000 hold
memory-established	-k established -K 1000 hold
'
BRIEF_MEASURES='
connect-1	-o 1 connect
'
# Lines "NAME SIZE TIMES PROGRAM": PROGRAM of perftest transfers TIMES messages of SIZE bytes. With
# -e, if PROGRAM has this option, it sleeps until a CQE is reported instead of polling its CQ. With
# -q each QP transfers an equal part of TIMES.
DATA='
data-write-64	64	5000	ib_write_bw
data-write-4k	4096	2000	ib_write_bw
data-write-64k	65536	1000	ib_write_bw
data-write-1m	1048576	200	ib_write_bw
data-write-16k-qps-01	16384	1024	ib_write_bw -q 1
data-write-16k-qps-08	16384	1024	ib_write_bw -q 8
data-write-16k-qps-64	16384	1024	ib_write_bw -q 64
data-read-64	64	5000	ib_read_bw -e
data-read-4k	4096	2000	ib_read_bw -e
data-read-64k	65536	1000	ib_read_bw -e
data-read-1m	1048576	200	ib_read_bw -e
data-send-64	64	5000	ib_send_bw -e
data-send-4k	4096	2000	ib_send_bw -e
data-send-64k	65536	1000	ib_send_bw -e
data-send-1m	1048576	200	ib_send_bw -e
data-ping-pong	64	2000	ib_send_lat -e
'
TCP_MEASURES='
connect-1	tcp
connect-ipv6	-a fd00::1 tcp
memory-half-open	-k tcp -K 1000 hold
'

# Loads of --rate, "CLIENTS-LISTENERS-STALLED": so many clients connect to so many listeners, while
# for each listener STALLED peers have sent an incomplete MPA Request and stay connected: see
# cm_rate.c.
LOADS=${LOADS:-'1-1-0 4-1-0 16-1-0 64-1-0 16-4-0 16-8-0 64-8-0 16-1-4 64-8-4'}
ROUNDS=${ROUNDS:-15}	# in each round all drivers are measured in turn
FIRST_ROUND=${FIRST_ROUND:-1}	# a number above 1 continues an earlier run
RATE_VARIANTS=${RATE_VARIANTS:-'siw siw_mpa srnic'}

# Round trip times in microseconds; even numbers, since half of the time is the delay of each direction
TRIPS=${TRIPS:-'100 1000 10000 100000'}
TRIP_VARIANTS=${TRIP_VARIANTS:-'siw siw_mpa srnic plain srnic-tfo plain-tfo'}	# *-tfo: with TCP Fast Open
TRIP_ROUNDS=5

# For --storm: number of clients, milliseconds that the server takes for each, backlog of the server
STORM=${STORM:-'1000 5 128'}
STORM_VARIANTS=${STORM_VARIANTS:-'siw siw_mpa srnic'}

# shellcheck source=scripts/test/bench/scale.sh
. "$TOP/scripts/test/bench/scale.sh"
# shellcheck source=scripts/test/bench/hops.sh
. "$TOP/scripts/test/bench/hops.sh"
# shellcheck source=scripts/test/bench/load.sh
. "$TOP/scripts/test/bench/load.sh"
# shellcheck source=scripts/test/bench/mtu.sh
. "$TOP/scripts/test/bench/mtu.sh"
# shellcheck source=scripts/test/bench/ulps.sh
. "$TOP/scripts/test/bench/ulps.sh"
# shellcheck source=scripts/test/bench/users.sh
. "$TOP/scripts/test/bench/users.sh"
# shellcheck source=scripts/test/bench/growth.sh
. "$TOP/scripts/test/bench/growth.sh"
# shellcheck source=scripts/test/bench/registrations.sh
. "$TOP/scripts/test/bench/registrations.sh"

# Limits for the instructions of one connect with each variant, in percent of what siw needs
declare -A LIMITS=([siw_mpa]=104 [srnic]=95 [plain]=87)
# Limits for the instructions that the guest executes for one message: lines "VARIANT BYTES TIMES KIND LIMIT [LATER]".
# rdma_data.c measures TIMES messages of BYTES bytes; KIND is send or write. LIMIT is a percentage of the instructions
# for the same message with siw, which computes no CRC. LATER is the limit for kernels after 6.1: there a Write of 64
# KiB costs half as much again over either driver, and srnic saves less of it.
GUARDED='
srnic	64	500	send	110
plain	64	500	send	108
plain	65536	200	write	89	97
'
GUARDED_REGIONS=5000
# Rows and columns of the table that bench.sh --users makes, whose limits are in USERS_LIMITS. To save time they are
# measured with fewer I/Os than --users takes.
GUARDED_IOS='^nvme-read-128k$'
GUARDED_IO_COLUMNS='tcp tcp-digest srnic plain'
GUARDED_IO_TIMES='500 100 60 20'

# QEMU counts one instruction for each byte that fast string instructions move, though a real processor moves many at a
# time. So the guest's processor lacks these instructions, and the kernel moves eight bytes with each instruction.
boot_counted() {
	GUEST_ACCEL=tcg,thread=single
	GUEST_CPU=max,-erms,-fsrm
	GUEST_SMP=1
	GUEST_MEM=${GUEST_MEMORY:-4G}
	GUEST_ARGS=(-icount "shift=0,sleep=off" "$@")
	boot_with cm_bench
	# The guest's clock jumps while the guest waits for a file of the host, such as a module.
	# The detector of hung tasks would report such waits, so it is off.
	guest_run A 'sysctl -qw kernel.hung_task_timeout_secs=0' "$LIMIT"
}

# boot_counting: boot a guest whose instructions QEMU's plugin split.so (split.c) counts
boot_counting() { boot_counted -plugin "$OUT/split.so,map=$OUT/map,out=$OUT/split"; }

# boot_with PROGRAM
boot_with() {
	build_program "$1"
	say 'booting a guest'
	guest_boot A
	cp "$OUT/$1" "$GUEST_RUN/share/"
}

build_program() {
	gcc -Wall -Wextra -Werror -O2 -o "$OUT/$1" "$TOP/scripts/test/bench/$1.c" -lrdmacm -libverbs \
		-lpthread
}

build_plugin() {
	gcc -Wall -Wextra -Werror -O2 -shared -fPIC -o "$OUT/split.so" "$TOP/scripts/test/bench/split.c"
}

# Give QEMU's plugin (split.c) the addresses of the kernel's functions. Call tell_plugin() whenever
# a driver was loaded, since the module's functions have new addresses.
tell_plugin() {
	guest_run A 'cat /proc/kallsyms >/share/kallsyms' "$LIMIT"
	python3 "$TOP/scripts/test/bench/functions.py" "$GUEST_RUN/share/kallsyms" \
		"${IW_MPA_BUILD:-$CACHE/build/$KREL}" >"$OUT/map"
	guest_run A '/share/cm_bench load' "$LIMIT"
}

# take_driver VARIANT [GUEST]
take_driver() {
	local setting guest=${2:-A}

	guest_run "$guest" "driver_set ${DRIVER[$1]}" "$LIMIT" || die "no driver ${DRIVER[$1]}"
	for setting in ${SETTINGS[$1]:-}; do
		guest_run "$guest" "sysctl -qw net.iw_mpa.$setting" "$LIMIT"
	done
	[[ $1 == siw || $1 == rxe ]] || need_crc32c "$guest"	# siw computes no CRC, and rxe CRC-32, not CRC32c
}

# need_crc32c GUEST: fail if the guest's kernel computes CRC32c in software, without the processor's
# instruction: the figures with CRC would be too high
need_crc32c() {
	guest_run "$1" crc32c_by_hardware "$LIMIT" >"$OUT/crc32c" ||
		die "CRC32c is summed up by software: $(cat "$OUT/crc32c")"
}

# Raise iw_mpa's limits for half-open connections, whose MPA Request has not arrived: thousands of
# them must neither be refused nor time out, although the guest's clock jumps ahead.
be_patient() {
	guest_run A "sysctl -qw net.iw_mpa.half_open_max=100000 \
		net.iw_mpa.half_open_listener_max=100000 \
		net.iw_mpa.request_timeout_ms=3600000" "$LIMIT"
}

GAPS=0

# gap TEXT: record that a measurement has no result; the run continues with the others
gap() {
	GAPS=$((GAPS + 1))
	say "$*"
}

# measure VARIANT NAME ARGUMENTS
measure() {
	local file=$RAW/$1.$2

	rm -f "$OUT/split"
	if ! guest_run A "/share/cm_bench $3" "$LIMIT" >"$file"; then
		gap "$1 $2: $(cat "$file")"
		rm "$file"
	elif [[ -e $OUT/split ]]; then
		mv "$OUT/split" "$file.split"
	fi
}

# measure_all VARIANT LIST
measure_all() {
	local name args

	while read -r name args; do
		[[ $name =~ $ONLY ]] || continue
		say "$1: $name"
		[[ ${DRIVER[$1]:-siw} == siw || $name != *half-open* ]] || be_patient
		measure "$1" "$name" "$args"
	done <<<"${2:1:-1}"
}

# data_command VARIANT SIZE TIMES PROGRAM: print the command that transfers TIMES messages of SIZE
# bytes: PROGRAM of perftest, whose server is started here, or tcp_data if VARIANT is tcp. Print
# nothing if tcp_data.c has no measurement that corresponds to PROGRAM.
data_command() {
	local qps=1 args

	[[ ! $4 =~ -q\ ([0-9]+) ]] || qps=${BASH_REMATCH[1]}
	args="-R -F -d siw0 -s $2 -n $(($3 / qps)) -p 7473"
	case "$1 $4" in
	"tcp ib_write_bw") echo "/share/tcp_data 10.0.0.1 $2 $3" ;;
	"tcp ib_send_lat -e") echo "/share/tcp_data 10.0.0.1 $2 $3 pong" ;;
	tcp*) ;;
	*)
		guest_run A "LISTEN_LIMIT=$LIMIT serve perftest 7473 '$4 $args'" "$LIMIT" >"$OUT/log"
		echo "$4 $args 10.0.0.1"
		;;
	esac
}

# measure_data VARIANT LIST: for each line "NAME SIZE TIMES PROGRAM" of LIST, QEMU's plugin counts
# instructions while PROGRAM runs. Only the kernel's instructions are reported: the programs poll in
# busy loops of any length.
measure_data() {
	local name size times program command

	while read -r name size times program; do
		[[ $name =~ $ONLY ]] || continue
		say "$1: $name"
		rm -f "$OUT/split"
		command=$(data_command "$1" "$size" "$times" "$program") || true
		[[ -n $command ]] || continue
		guest_run A "/share/cm_bench count && $command && /share/cm_bench dump" "$LIMIT" \
			>"$OUT/log" || true
		guest_run A 'bg_stop_all' "$LIMIT" >/dev/null || true
		[[ -e $OUT/split ]] || { gap "$1 $name: $(cat "$OUT/log")" && continue; }
		mv "$OUT/split" "$RAW/$1.$name.split"
		echo "connections $times" >"$RAW/$1.$name"
	done <<<"${2:1:-1}"
}

# least KEY COMMAND: the smallest number of three runs that print "KEY NUMBER"; 0 if a run did not print it. Other work
# in the guest, such as RCU and the memory's shrinkers, can only add instructions, and added 8 % in one run of 36.
least() {
	local round

	for round in 1 2 3; do
		guest_run A "$2" "$LIMIT" || break
	done | awk -v key="$1" '$1 == key && (!runs++ || $2 < n) { n = $2 } END { print runs == 3 ? n : 0 }'
}

# cost VARIANT: print the instructions for a connect
cost() {
	take_driver "$1"
	least connect '/share/cm_bench -n 128 connect'
}

# within LIMIT COST BASE: both were measured, and COST is at most LIMIT hundredths of BASE
within() {
	awk -v most="$1" -v cost="$2" -v base="$3" \
		'BEGIN { exit !(cost + 0 > 0 && base + 0 > 0 && cost * 100 <= base * most) }'
}

# figure FILE COLUMN ROW: print the figure of that column and row in FILE, a .tsv; - if there is none
figure() {
	awk -F '\t' -v column="$2" -v row="$3" 'NR == 1 { for (i = 2; i <= NF; i++) if ($i == column) at = i }
		$1 == row && at { found = $at } END { print found == "" ? "-" : found }' "$1"
}

# judge_table FILE WHERE PAIRS LIMITS COLUMNS: compare instructions in FILE, a .tsv. LIMITS has lines "ROW LIMIT...",
# with a limit for each of PAIRS, "COLUMN/OTHER", or - for none: in that row the figure of COLUMN may be at most LIMIT
# hundredths of the figure of OTHER. Only rows that -k chooses are judged, and pairs of columns in COLUMNS.
judge_table() {
	local row limits i column other cost base
	local -a pairs most

	read -ra pairs <<<"$3"
	while read -r row limits; do
		[[ $row =~ $ONLY ]] || continue
		read -ra most <<<"$limits"
		for i in "${!pairs[@]}"; do
			column=${pairs[i]%/*}
			other=${pairs[i]#*/}
			[[ ${most[i]} != - && " $5 " == *" $column "* && " $5 " == *" $other "* ]] || continue
			cost=$(figure "$1" "$column" "$row")
			base=$(figure "$1" "$other" "$row")
			echo "# $2 $row: $cost instructions of the kernel with $column, $other: $base, limit: ${most[i]} %"
			tap_run "$2: $row costs what it may: $column to $other" within "${most[i]}" "$cost" "$base"
		done
	done < <(awk 'NF' <<<"$4")
}

# message VARIANT BYTES TIMES KIND: instructions per message
message() {
	take_driver "$1"
	least message "/share/rdma_data 10.0.0.1 $2 $3 $4"
}

# guard_message KERNEL VARIANT BYTES TIMES KIND LIMIT [LATER]
guard_message() {
	local cost siw limit=$6

	[[ $1 == 6.1 ]] || limit=${7:-$6}
	siw=$(message siw "${@:3:3}")
	cost=$(message "${@:2:4}")
	echo "# $1 $2: $cost instructions for a $5 of $3 bytes, siw: $siw, limit: $limit %"
	tap_run "$1: a $5 of $3 bytes costs what it may: $2" within "$limit" "$cost" "$siw"
}

guard_kernel() {
	local siw variant cost row

	need_kernel "$1"
	"$TOP/scripts/lib/build.sh"
	boot_counting
	siw=$(cost siw)
	for variant in "${!LIMITS[@]}"; do
		cost=$(cost "$variant")
		echo "# $1 $variant: $cost instructions per connect, siw: $siw," \
			"limit: ${LIMITS[$variant]} %"
		tap_run "$1: connect costs what it may: $variant" within "${LIMITS[$variant]}" \
			"$cost" "$siw"
	done
	cp "$OUT/rdma_data" "$GUEST_RUN/share/"
	while read -r -a row; do
		guard_message "$1" "${row[@]}"
	done <<<"${GUARDED:1:-1}"
	judge_registrations "$GUARDED_REGIONS"
	[[ $1 != "$(default_kernel)" ]] || judge_ios "$1"
	guest_kill_all		# other tests check that guests shut down
}

guard() {
	local kernel

	[[ $KERNEL != 6.1 ]] || KERNELS=${KERNELS:-6.1 6.12}
	KERNELS=${KERNELS:-$KERNEL}
	# shellcheck disable=SC2046,SC2086 # lists of words
	"$TOP/scripts/lib/setup.sh" build guest $(stock_kernels $KERNELS)
	build_program rdma_data
	build_program registrations
	build_plugin
	for kernel in $KERNELS; do
		guard_kernel "$kernel"
	done
	tap_end bench
}

# netem delays each segment by half a round trip. Before it measures, cm_trip waits until no port of
# the previous run is in TIME_WAIT.
measure_trips() {
	local variant trip

	need_krel
	"$TOP/scripts/lib/build.sh"
	rm -rf "$OUT/rtt"
	mkdir "$OUT/rtt"
	build_program cm_trip
	boot_counted
	cp "$OUT/cm_trip" "$GUEST_RUN/share/"
	guest_run A 'sysctl -qw net.ipv4.tcp_fastopen=3' "$LIMIT"
	for variant in $TRIP_VARIANTS; do
		take_driver "$variant"
		for trip in $TRIPS; do
			say "$variant: $trip us"
			guest_run A "tc qdisc replace dev lo root netem limit 100000 \
				delay $((trip / 2))us && /share/cm_trip 10.0.0.1 $TRIP_ROUNDS" \
				"$LIMIT" >"$OUT/rtt/$variant.$trip" ||
				die "$variant, $trip us: $(cat "$OUT/rtt/$variant.$trip")"
		done
		guest_run A 'tc qdisc del dev lo root' "$LIMIT"
	done
	guest_down || gap "the guest did not end well: see $GUEST_RUN"
	python3 "$TOP/scripts/test/bench/report.py" --rtt "$OUT"
	cat "$OUT/rtt.rst"
	say "in $OUT: rtt.rst, rtt.html"
}

# bore_storm VARIANT: succeed if no attempt to connect ended by a reject or an error, each client
# was connected, and 99 % of them within twice the time that the server takes to accept all clients.
bore_storm() {
	local clients milliseconds _

	read -r clients milliseconds _ <<<"$STORM"
	awk -v limit=$((2 * clients * milliseconds)) '{ value[$1] = $2 }
		END { exit !("p99" in value && !value["rejected"] && !value["failed"] &&
			     !value["missing"] && value["p99"] <= limit) }' "$OUT/storm/$1"
}

measure_storms() {
	local variant

	need_krel
	"$TOP/scripts/lib/build.sh"
	rm -rf "$OUT/storm"
	mkdir "$OUT/storm"
	build_program cm_storm
	boot_counted
	cp "$OUT/cm_storm" "$GUEST_RUN/share/"
	for variant in $STORM_VARIANTS; do
		take_driver "$variant"
		say "$variant: $STORM"
		guest_run A "/share/cm_storm 10.0.0.1 $STORM" "$LIMIT" >"$OUT/storm/$variant" || true
		sed "s/^/# $variant: /" "$OUT/storm/$variant"
		[[ $variant == siw ]] || tap_run "storm: all come back: $variant" bore_storm "$variant"
	done
	guest_kill_all		# other tests check that guests shut down
	python3 "$TOP/scripts/test/bench/report.py" --storm "$OUT"
	cat "$OUT/storm.rst" >&2
	tap_end bench
}

# begin_rounds NAME: make the folder for results; keep old results only if this run begins with a later round
begin_rounds() {
	((FIRST_ROUND > 1)) || rm -rf "${OUT:?}/$1"
	mkdir -p "$OUT/$1"
}

# rate VARIANT ROUND: measure connections per second by cm_rate.c in a new guest, which is killed
# afterwards. No connection may stay in TIME_WAIT after its end (tcp_max_tw_buckets=0), or TCP would
# run out of free ports within seconds.
rate() {
	say "round $2: $1"
	boot_with cm_rate
	guest_run A 'sysctl -qw net.ipv4.tcp_max_tw_buckets=0'
	take_driver "$1"
	guest_run A "/share/cm_rate 10.0.0.1 3 $LOADS" 300 >"$OUT/rate/$1.$2" ||
		gap "round $2: $1 did not come to its end"
	guest_kill_all
}

measure_rates() {
	local round variant

	need_krel
	"$TOP/scripts/lib/build.sh"
	begin_rounds rate
	GUEST_SMP=4
	for ((round = FIRST_ROUND; round <= ROUNDS; round++)); do
		for variant in $RATE_VARIANTS; do
			rate "$variant" "$round"
		done
	done
	python3 "$TOP/scripts/test/bench/report.py" --rate "$OUT"
	cat "$OUT/rate.rst"
	say "in $OUT: rate.rst, rate.html"
}

measure_everything() {
	local variant

	# With -k the run at an MTU of 1500 is left out if no name of MTU_DATA matches.
	! awk '{ print $1 }' <<<"$MTU_DATA" | grep -qE -- "$ONLY" || measure_at 1500
	rm -rf "$RAW"
	mkdir "$RAW"
	build_program tcp_data
	build_plugin
	boot_counting
	cp "$OUT/tcp_data" "$GUEST_RUN/share/"
	for variant in $VARIANTS; do
		take_driver "$variant"
		tell_plugin
		if [[ $variant == siw ]]; then
			measure_all tcp "$TCP_MEASURES"
			measure_data tcp "$DATA"
		fi
		[[ " $BRIEFLY " == *" $variant "* ]] || measure_all "$variant" "$MEASURES"
		[[ " $BRIEFLY " != *" $variant "* ]] || measure_all "$variant" "$BRIEF_MEASURES"
		measure_data "$variant" "$DATA"
		[[ $variant == markers ]] || measure_ulps "$variant"
	done
	guest_down || gap "the guest did not end well: see $GUEST_RUN"
	python3 "$TOP/scripts/test/bench/report.py" "$OUT"
	cat "$OUT/table.rst"
	say "in $OUT: table.rst, connect.svg, bench.html"
}

# all_measured WHAT: report gaps as a failed test, for check-all
all_measured() {
	tap_run "$1: each measure has a result" [ "$GAPS" -eq 0 ]
	tap_end bench
}

# run_option OPTION [MTU]: run what this option of bench.sh names. The caller holds a lock, so no
# other run writes into $OUT. The results are printed before run_option fails because of
# measurements without a result.
run_option() {
	case ${1:-} in
	--comeback) measure_comebacks ;;
	--growth) measure_growth ;;
	--guard) guard ;;
	--hops) measure_hops ;;
	--load) measure_load ;;
	--mtu)
		measure_at "$2"
		judge_mtu "$2"
		all_measured "what messages cost at an MTU of $2"
		;;
	--pong) measure_pongs ;;
	--rate) measure_rates ;;
	--register) measure_registrations ;;
	--rtt) measure_trips ;;
	--storm) measure_storms ;;
	--scale) measure_scale ;;
	--users)
		measure_users
		all_measured "what I/Os cost on $KERNEL"
		;;
	*) measure_everything ;;
	esac
	[[ $GAPS -eq 0 ]] || die "without a result: $GAPS of what was to be measured, see above"
}

OPTIONS='--comeback --growth --guard --hops --load --pong --rate --register --rtt --scale --storm'

main() {
	case "$# ${1:-}" in
	"0 ") ;;
	*" --users") users_options "${@:2}" ;;
	"2 -k") ONLY=$2 ;;
	"2 --mtu") [[ " $MTUS " == *" $2 "* ]] || die "--mtu takes one of $MTUS" ;;
	"1 -k" | "1 --mtu") die "$1 needs one more word" ;;
	1*) [[ " $OPTIONS " == *" $1 "* ]] || die "no such option: $1" ;;
	*)
		die "usage: bench.sh [-k REGEX | --users [-k REGEX] [--kernel NAME] [--write] | --mtu N |" \
			"${OPTIONS// / | }]"
		;;
	esac
	"$TOP/scripts/lib/setup.sh" build guest
	mkdir -p "$OUT"
	locked bench run_option "$@"
}

main "$@"
