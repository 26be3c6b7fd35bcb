# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions for the commands that the host runs in a guest (BASH_ENV of the agent).

fail() { echo "error: $*" >&2; return 1; }

# poll SECONDS COMMAND...: repeat the command until it succeeds; fail after SECONDS. Every wait in the guests is for a
# condition, with a limit; $slow of the kernel's command line multiplies the limit.
poll() {
	local end=$((SECONDS + $1 * ${slow:-1}))

	shift
	until "$@"; do
		((SECONDS < end)) || return 1
		doze 0.05
	done
}

# doze SECONDS: sleep by means of bash itself, since starting the program sleep takes an emulated processor 0.1 s.
doze() { ! read -r -t "$1" <>/run/silence; }

# --- background jobs ---------------------------------------------------------------------

# bg_start NAME COMMAND: start a job in its own process group, with output and exit status in /run/bg/NAME. Output of an
# earlier job of the same name is deleted before bg_start returns.
bg_start() {
	local dir=/run/bg/$1

	[[ -d $dir ]] || mkdir -p "$dir"
	: >"$dir/status"
	: >"$dir/output"
	set -m
	{
		set +em
		(eval "$2")
		echo $? >"$dir/status"
	} >"$dir/output" 2>&1 </dev/null &
	set +m
	echo $! >"$dir/pid"
}

bg_ended() { [[ -s /run/bg/$1/status ]]; }

# bg_wait NAME SECONDS: print the job's output, return its exit status; 124 if it still runs.
bg_wait() {
	local dir=/run/bg/$1

	if ! poll "$2" bg_ended "$1"; then
		cat "$dir/output"
		echo "error: '$1' still runs after $2 s" >&2
		return 124
	fi
	cat "$dir/output"
	return "$(<"$dir/status")"
}

# bg_run NAME SECONDS COMMAND: bg_start and bg_wait in one. A command that takes too long keeps
# running, so that diagnose() can examine it.
bg_run() {
	bg_start "$1" "$3"
	bg_wait "$1" "$2"
}

# bg_stop NAME [SIGNAL]: end the job by a signal to its process group; print its output.
bg_stop() {
	local dir=/run/bg/$1

	# The job may end by itself before the signal, which is no failure.
	bg_ended "$1" || kill -"${2:-TERM}" -- "-$(<"$dir/pid")" 2>/dev/null || true
	if ! poll 10 bg_gone "$1"; then
		kill -KILL -- "-$(<"$dir/pid")" 2>/dev/null || true
		poll 10 bg_gone "$1" || fail "'$1' cannot be killed: $(bg_sleepers "$1")"
	fi
	cat "$dir/output"
}

# bg_processes NAME: print "PID (COMMAND) STATE" of each process of the job's group
bg_processes() {
	local dir stat

	for dir in /proc/[0-9]*/; do
		read -r stat 2>/dev/null <"$dir/stat" || continue
		[[ ${stat##*) } =~ ^(.)\ [0-9]+\ $(<"/run/bg/$1/pid")\  ]] || continue
		echo "${stat%)*}) ${BASH_REMATCH[1]}"
	done
}

# Print where a job's processes sleep in the kernel.
bg_sleepers() {
	local process

	while IFS= read -r process; do
		echo "$process"
		cat "/proc/${process%% *}/stack"
	done < <(bg_processes "$1")
}

# bg_gone NAME: have all processes of the job ended? Sometimes bash leaves an ended child a zombie,
# which still counts as a process of the group: "wait" removes it.
bg_gone() {
	local pid stat

	pid=$(<"/run/bg/$1/pid")
	kill -0 -- "-$pid" 2>/dev/null || return 0
	{ read -r stat <"/proc/$pid/stat"; } 2>/dev/null || return 1
	[[ ${stat##*) } != Z* ]] || wait "$pid" 2>/dev/null || true
	! kill -0 -- "-$pid" 2>/dev/null
}

# bg_stop_all [NAME]: stop all jobs except NAME.
bg_stop_all() {
	local dir

	for dir in /run/bg/*/; do
		dir=${dir%/}
		[[ -s $dir/pid && ${dir##*/} != "${1:-}" ]] || continue
		bg_gone "${dir##*/}" || bg_stop "${dir##*/}" >/dev/null
		: >"$dir/pid"
	done
}

# --- wire --------------------------------------------------------------------------------

# wire_set KIND: choose what happens to packets that this guest sends, until it is called again:
#   clean   packets are sent as they are
#   rough   some packets are lost, delayed, duplicated or reordered; and the peer is asked for segments of 36
#           bytes at most, so that every startup frame and FPDU header arrives in several segments
#   flap    packets are sent as they are; but the peer's hardware address is fixed, since the links go down and up,
#           and rdma_cm gives up when an answer of ARP is lost
#
# clean_up does not make the wire clean again. If the wire is not clean, each call sets all of it again, since a test
# may have undone a part by changes of links and routes.
wire_set() {
	[[ $1 != clean || -e /run/wire ]] || return 0
	: >/run/wire
	advmss_set 0 && ip neigh flush dev eth0 nud permanent || return 1
	case $1 in
	clean | flap) [[ $(tc qdisc show dev eth0 root) != *netem* ]] || tc qdisc del dev eth0 root ;;
	rough)
		tc qdisc replace dev eth0 root netem delay 1ms 500us loss 1% duplicate 1% \
			reorder 5% 50% && advmss_set 48
		;;
	esac || return 1
	case $1 in
	clean) rm /run/wire ;;
	flap) peer_is_known ;;
	esac
}

peer_is_known() {
	local peer=$((3 - ${number:?})) address

	for address in 10.0.0.$peer fd00::$peer fe80::5054:ff:fe00:$peer; do
		ip neigh replace "$address" dev eth0 lladdr 52:54:00:00:00:0$peer nud permanent || return 1
	done
}

# advmss_set BYTES: set the largest segment that SYNs of this guest allow the peer (MSS); TCP's time stamps take 12 of
# these bytes. 0: the default.
advmss_set() {
	ip route change "10.0.0.0/24" dev eth0 proto kernel scope link src "10.0.0.$number" \
		advmss "$1" || return 1
	ip -6 route change fd00::/64 dev eth0 proto kernel metric 256 advmss "$1" || return 1
	ip -6 route change fe80::/64 dev eth0 proto kernel metric 256 advmss "$1"
}

# link_flap SECONDS: take the link down for this time. The interface keeps its addresses.
link_flap() {
	echo 1 >/proc/sys/net/ipv6/conf/eth0/keep_addr_on_down
	ip link set eth0 down
	sleep "$1"
	ip link set eth0 up
}

# tcp_cut PORT: end all connections to that port, as if RST had arrived; fail if there is none.
tcp_cut() { [[ $(ss -HKtn state established "dport = :$1") ]]; }

# tcp_counter NAME: print a counter of TCP
tcp_counter() {
	awk -v name="$1" '$1 == "Tcp:" && column { print $column }
		$1 == "Tcp:" { for (i = 2; i <= NF; i++) if ($i == name) column = i }' /proc/net/snmp
}

# fence_ms_set MS: set how long a responder in the client-server model waits for the first FPDU
# before it sends; 0: without limit
fence_ms_set() { echo "$1" >/proc/sys/net/iw_mpa/fence_timeout_ms; }
fence_restore() { [[ ! -e /proc/sys/net/iw_mpa/fence_timeout_ms ]] || fence_ms_set 0; }

# --- local ports -------------------------------------------------------------------------

# port_range_set FIRST LAST: set the range from which rdma_cm and TCP choose a source port.
port_range_set() {
	cat /proc/sys/net/ipv4/ip_local_port_range >/run/port_range
	echo "$1 $2" >/proc/sys/net/ipv4/ip_local_port_range
}

port_range_restore() {
	[[ -e /run/port_range ]] || return 0
	cat /run/port_range >/proc/sys/net/ipv4/ip_local_port_range
	rm /run/port_range
}

# --- RDMA --------------------------------------------------------------------------------

rdma_listens() {
	local listener="state LISTEN [^"$'\n'"]*src-addr [^ ]*:$1 "

	[[ $(rdma resource show cm_id 2>/dev/null) =~ $listener ]]
}

tcp_listens() { [[ -n $(ss -Htln "sport = :$1") ]]; }

# serve NAME PORT COMMAND: start a server; returns when rdma_cm listens on PORT.
serve() {
	bg_start "$1" "$3"
	if ! poll "${LISTEN_LIMIT:-20}" listens_or_ended "$1" "$2" || bg_ended "$1"; then
		cat "/run/bg/$1/output"
		fail "'$1' does not listen on port $2"
	fi
}

listens_or_ended() { rdma_listens "$2" || bg_ended "$1"; }

# Matches counts above 0 in the output of "rdma resource show": in "qp 0 cq 2 pd 1" the last two
LEFTOVER='(qp|cq|pd|cm_id|mr|ctx|srq) [1-9][0-9]*'
rdma_leftovers() { rdma resource show siw0 | grep -Eo "$LEFTOVER"; }
rdma_is_idle() { [[ ! $(rdma resource show siw0) =~ $LEFTOVER ]]; }
# only_pool: are only completion queues left? The kernel keeps these for the next consumer.
only_pool() { ! rdma_leftovers | grep -v '^cq'; }

driver_get() {
	[[ ! -d /sys/module/siw ]] || echo siw
	[[ ! -d /sys/module/siw_mpa ]] || echo siw_mpa
	[[ ! -d /sys/module/srnic ]] || echo srnic
	[[ ! -d /sys/module/rdma_rxe ]] || echo rxe
	[[ ! -e /run/foreign || ! -d /sys/module/$(cat /run/foreign) ]] || cat /run/foreign
}

# Print the TYPE for: rdma link add NAME type TYPE
link_type() {
	case $(driver_get) in
	'' | siw | siw_mpa) echo siw ;;
	*) driver_get ;;
	esac
}

rdma_is_up() {
	local gid=/sys/class/infiniband/siw0/ports/1/gids/0

	[[ -e $gid && $(<"$gid") != 0000:0000:0000:0000:0000:0000:0000:0000 ]] &&
		[[ $(rdma link show siw0/1 2>/dev/null) == *'state ACTIVE'* ]]
}

# siw's port takes its state from the interface's carrier at the moment at which the device is added, and keeps it. So
# while links flap, adding a siw device may need several attempts; each repetition needs proof that the carrier was off,
# or changed, while the device was added. srnic's port follows the carrier, so one attempt has to do.
rdma_add() {
	local changes lost

	for _ in {1..10}; do
		poll 10 has_carrier || return 1
		changes=$(</sys/class/net/eth0/carrier_changes)
		rdma link add siw0 type "$(link_type)" netdev eth0 || return 1
		lost=no
		! carrier_was_lost "$changes" || lost=yes
		# A siw device that was added without a carrier comes up within 2 seconds, or never.
		! poll "$([[ $lost$(link_type) == yessiw ]] && echo 2 || echo 10)" rdma_is_up || return 0
		rdma link delete siw0
		[[ $lost == yes && $(link_type) == siw ]] || return 1
		echo 'retried: the link had no carrier as the device was added'
	done
	return 1
}

has_carrier() { [[ $(cat /sys/class/net/eth0/carrier 2>/dev/null) == 1 ]]; }
carrier_was_lost() {
	! has_carrier || [[ $(</sys/class/net/eth0/carrier_changes) != "$1" ]]
}

# driver_set siw|siw_mpa|srnic|rxe|NAME: change the driver as an administrator does. NAME is another driver on iw_mpa,
# and the type of its links.
driver_set() {
	local want=$1

	[[ $(driver_get) != "$want" ]] || ! rdma_is_up || return 0
	driver_clear || return 1
	case $want in
	siw)
		insmod /share/modules/siw.ko || return 1
		;;
	rxe)
		modprobe rdma_rxe || return 1
		;;
	siw_mpa | srnic)
		insmod /share/modules/iw_mpa.ko && insmod "/share/modules/$want.ko" || return 1
		;;
	*)
		if [[ ! -e /share/modules/$want.ko ]]; then
			fail "no such driver: $want"
			return 1
		fi
		echo "$want" >/run/foreign
		insmod /share/modules/iw_mpa.ko && insmod "/share/modules/$want.ko" || return 1
		;;
	esac
	rdma_add || fail "siw0 does not come up on $want"
}

# Print which driver in /proc/crypto computes CRC32c; fail if it is a loop in software. Kernels whose library chooses by
# itself have no entry for CRC32c, or one named after the library: they use the processor's instruction if it has one.
crc32c_by_hardware() {
	local driver

	driver=$(awk '$1 == "name" { name = $3 } $1 == "driver" { driver = $3 }
		$1 == "priority" && name == "crc32c" && $3 > most { most = $3; found = driver }
		END { print found }' /proc/crypto)
	case $driver in
	'' | crc32c-lib* | crc32c-x86*) driver=library ;;
	esac
	echo "$driver"
	[[ $driver == *-intel || $driver == library ]] && grep -qw sse4_2 /proc/cpuinfo
}

# Succeed if iw_mpa has destroyed all objects that it has created, by its counters, as it has to before it is unloaded.
driver_is_balanced() {
	local stats=/sys/kernel/debug/iw_mpa/stats

	[[ ! -e $stats ]] || grep -E '_(created|destroyed)' "$stats" | paste - - |
		awk '$2 != $4 { print; bad = 1 } END { exit bad }'
}

driver_leaves_nothing() {
	poll 10 driver_is_balanced >/dev/null || driver_is_balanced || return 1
	"${BASH_ENV%/*}/detectors.sh" leaks
}

driver_clear() {
	local have

	have=$(driver_get)
	[[ -n $have ]] || return 0
	if [[ -e /sys/class/infiniband/siw0 ]]; then
		rdma link delete siw0 || return 1
	fi
	driver_leaves_nothing || return 1
	rmmod "${have/rxe/rdma_rxe}" || return 1
	[[ ! -d /sys/module/iw_mpa ]] || rmmod iw_mpa
}

# counter NAME: print a counter of iw_mpa
counter() { sed -n "s/^$1 //p" /sys/kernel/debug/iw_mpa/stats; }

# at_clean_up COMMAND: have clean_up run the command; the command that was added last runs first. A
# successful test may already have done what the command does.
at_clean_up() {
	local before

	before=$(cat /run/at_clean_up 2>/dev/null || true)
	printf '%s\n' "$1" "$before" >/run/at_clean_up
}

# clean_up [NAME]: run after each test; NAME is a background job to keep.
clean_up() {
	if [[ -e /run/at_clean_up ]]; then
		bash /run/at_clean_up
		rm /run/at_clean_up
	fi
	bg_stop_all "${1:-}"
	port_range_restore
	fence_restore
	[[ -n $(driver_get) ]] || return 0
	poll 10 rdma_is_idle || fail "still in use: $(rdma_leftovers | paste -sd ' ')"
}

# Print an endpoint that is not in the state OFFLOADED; if there is none, the last message of iw_mpa about a connection.
connections_in_trouble() {
	local line

	if [[ -e /sys/kernel/debug/iw_mpa/endpoints ]]; then
		line=$(grep -m 1 -v ' state=OFFLOADED ' /sys/kernel/debug/iw_mpa/endpoints)
		[[ -z $line ]] || line="is open: $line"
		[[ -n $line ]] || line=$(dmesg | grep -o 'iw_mpa: .*peer .*' | tail -n 1)
	else
		line=$(rdma resource show cm_id | grep -m 1 'state CONNECT\|state [A-Z]*_QUERY')
	fi
	[[ -z $line ]] || echo "connection: host $(hostname): $line"
}

# Print what helps most to understand a failure.
diagnose() {
	local dir task

	connections_in_trouble
	for dir in /run/bg/*/; do
		[[ -s $dir/pid ]] || continue
		echo "* background job $dir: $(cat "$dir/status" 2>/dev/null || echo running)"
		tail -n 5 "$dir/output"
	done
	echo "* rdma resource"
	rdma resource show
	rdma resource show cm_id
	rdma resource show qp
	echo "* tcp"
	ss -tan | grep -v TIME-WAIT
	echo "* where programs with RDMA resources sleep"
	for dir in $(rdma resource show cm_id | grep -o 'pid [0-9]*' | sort -u | cut -d ' ' -f 2); do
		for task in "/proc/$dir"/task/*; do
			echo "$(<"$task/comm") ${task##*/}: $(head -n 3 "$task/stack" | paste -sd ' ')"
		done
	done
	echo "* counters of the device"
	rdma statistic show link siw0/1 | grep -Eo '[[:alnum:]_]+ [1-9][0-9]*' | paste -sd ' '
	echo "* counters of iw_mpa"
	grep -hsv ' 0$' /sys/kernel/debug/iw_mpa/stats
	echo "* kernel"
	dmesg -l info,notice,warn,err,crit,alert,emerg | sed '1,/out-of-tree module/d' |
		grep -v 'speed is unknown' | tail -n 40
}

# --- captures ----------------------------------------------------------------------------

capture_runs() { grep -q '^File: ' /run/bg/capture/output; }

# capture_start [BYTES [INTERFACE [FILTER]]]: start to capture the first BYTES of each packet on
# INTERFACE that matches FILTER (default: all bytes, eth0, tcp), and return when the capture runs.
# capture_stop FILE: end the capture, and write it to FILE in /share. capture_is_whole, after that:
# fail if a packet was lost.
capture_start() {
	bg_start capture "dumpcap -q -B 32 -i ${2:-eth0} -s ${1:-0} -f '${3:-tcp}' -w /run/capture.pcapng"
	poll 60 capture_runs || fail "dumpcap does not start: $(</run/bg/capture/output)"
}

# times_asleep PID: print how often the process has gone to sleep
times_asleep() {
	local key value

	while read -r key value; do
		[[ $key != voluntary_ctxt_switches: ]] || echo "$value"
	done <"/proc/$1/status"
}

has_slept() { [[ $(times_asleep "$1") -ge $2 ]]; }

# dumpcap_stop NAME: dumpcap polls its buffer at least four times a second, but not once more when it gets the signal to
# end. So wait for a few polls since the last packet, and then end it.
dumpcap_stop() {
	local pid has_looked=yes

	pid=$(bg_processes "$1" | sed -n 's/ (dumpcap) .*//p')
	[[ -z $pid ]] || poll 20 has_slept "$pid" $(($(times_asleep "$pid") + 3)) || has_looked=no
	bg_stop "$1" INT || return
	[[ $has_looked == yes ]] || fail "dumpcap does not look at its buffer"
}

capture_stop() {
	dumpcap_stop capture || return 1
	cp /run/capture.pcapng "/share/$1"
}

capture_is_whole() {
	grep -q '^Packets received/dropped on .*: [0-9]*/0 ' /run/bg/capture/output ||
		fail "packets were lost, or nobody knows: $(</run/bg/capture/output)"
}

# --- refused connections -----------------------------------------------------------------

# listening: print "COOKIE PORT" of each listening socket; cookies are never used again
listening() {
	ss -Htlne | awk '{ sub(/.*:/, "", $4) }
		match($0, / sk:[0-9a-f]+/) { print substr($0, RSTART + 4, RLENGTH - 4), $4 }'
}

# listens_anew PORT: does a socket listen on PORT that is not in /run/listening, the list of refusals_start?
listens_anew() { listening | grep -vxFf /run/listening | grep -q " $1\$"; }

# refusals_start: capture SYNs and refusals of TCP, and record which sockets listen now. refusals_stop FILE: end the
# capture, and write it to FILE in /share. A capture by capture_start may run at the same time.
refusals_start() {
	[[ ! -s /run/bg/refusals/pid ]] || bg_stop refusals INT >/dev/null || return 1
	listening >/run/listening
	bg_start refusals "dumpcap -q -i eth0 -w /run/refusals.pcapng \
		-f '(tcp[13] & 6 != 0) or (ip6[6] == 6 and ip6[53] & 6 != 0)'"
	poll 60 refusals_run || fail "dumpcap does not start: $(</run/bg/refusals/output)"
}

refusals_run() { grep -q '^File: ' /run/bg/refusals/output; }

refusals_stop() {
	dumpcap_stop refusals || return 1
	cp /run/refusals.pcapng "/share/$1"
}
