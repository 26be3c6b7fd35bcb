# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The host's side of the guests; source it after lib.sh. The host drives, a guest only answers:
#
#   guest_boot A [B]               stock kernel, host's programs; A and B share one wire;
#                                  GUEST_KERNEL[A] is the kernel's name if it is not $KERNEL
#   guest_run A COMMAND [SECONDS]  its output, its exit status (124: it took too long)
#   guest_serve A NAME PORT CMD    a server in the background; returns when it listens
#   guest_bg A NAME CMD            a background job
#   guest_wait A NAME [SECONDS]    until it ended: its output, its exit status
#   guest_bg_run A NAME SEC CMD    both; when it takes too long (124) it goes on
#   guest_stop A NAME [SIGNAL]     end it: its output
#   guest_detectors A              what the kernel's detectors found is its output, and a failure
#   guest_controls A               whether the detectors detect: after guest_detectors
#   guest_flap A B                 their links go down and up, until the process GUEST_FLAP_PID
#                                  gets SIGTERM: see flap.py
#   guest_down                     power off
#
# Commands may use the functions of inside.sh. The answers come over a channel of their own
# (a virtio port, here a pair of FIFOs), so silence, panic and dead QEMU are failures: status
# 125, and the guest is marked dead.
#
# Call guest_boot from the main shell: the guests die with the shell that started them.
#
# GUEST_ROOT[A] is a folder with the root of another Debian: systemd boots it, and what it writes is on
# the disk GUEST_DISK[A], a file, from boot to boot. Commands then find this tree's scripts/lib/guest in
# /share/guest, and nothing else of the host.
#
# GUEST_ACCEL, GUEST_CPU, GUEST_SMP, GUEST_MEM and the array GUEST_ARGS change QEMU's arguments. NAME_OF_GUEST in
# the array becomes the name of the guest.
# Without GUEST_CPU a guest has all that QEMU can emulate, but for fast string instructions: QEMU moves
# one octet at a time where the kernel expects them to be the fastest way. Without them the kernel takes
# eight at a time, also to clear a page, and a guest needs an eighth less of the host's time.

declare -A GUEST_PID=() GUEST_IN=() GUEST_OUT=() GUEST_KERNEL=() GUEST_ROOT=() GUEST_DISK=()
GUEST_RUN=
GUEST_LIMIT=60
GUEST_ARGS=()
# Time limits are for the stock kernels. Where there are detectors, SLOW multiplies them, and
# races need processors.
SLOW=1
if kernel_debugs "${KERNEL:?}"; then
	SLOW=5
	GUEST_SMP=${GUEST_SMP:-4}
	GUEST_MEM=${GUEST_MEM:-2G}
fi

# Lest the guest measure it itself, against emulated timers: see tsc_khz.c.
guest_tsc() {
	[[ -z ${GUEST_ACCEL:-} && $(uname -m) == x86_64 ]] || return 0
	[[ -e $GUEST_RUN/tsc_khz ]] ||
		gcc -O2 -o "$GUEST_RUN/tsc_khz" "$TOP/scripts/lib/guest/tsc_khz.c"
	echo "tsc_early_khz=$("$GUEST_RUN/tsc_khz")"
}

# The kernel's command line. A warning is a failure; the kernel never waits for anybody. The TSC
# is as good as QEMU's clock, and the HPET, which the kernel would take instead, costs an exit to
# QEMU each time that anybody looks at it.
# Events that are traced have the kernel record the names of tasks, too, for which it patches the
# scheduler's code. An emulated processor may run such code half patched: the guest then ends with
# "Oops: int3" in ttwu_do_activate(). Nobody needs these names, so they are not recorded.
guest_cmdline() {
	local name=$1 number=$2 image=$3

	echo "console=ttyS0 loglevel=6 panic=-1 oops=panic panic_on_warn=1" \
		"sysctl.kernel.hung_task_panic=1 sysctl.kernel.hung_task_timeout_secs=60" \
		"mitigations=off random.trust_cpu=on slab_nomerge tsc=reliable no_timer_check" \
		"trace_options=norecord-cmd $(guest_tsc)" \
		"agent=$TOP/scripts/lib/guest/agent image=$image tools=$CACHE/tools" \
		"guest=$name number=$number" \
		"$(guest_debug_cmdline "$(guest_kernel "$name")")" \
		"${GUEST_ROOT[$name]:+systemd=1 net.ifnames=0 systemd.mask=getty.target}"
}

# QEMU may be late for minutes. KCSAN is off unless it is told to begin with the kernel. It reports
# races of all the kernel: those that concern us are picked afterwards, out of a log that has room for
# all of them. It waits at an access for another processor to come by: here that one may have to wait
# for a processor of the host.
guest_debug_cmdline() {
	kernel_debugs "$1" || return 0
	[[ $1 != kcsan ]] ||
		printf '%s ' panic_on_warn=0 loglevel=3 log_buf_len=16M kcsan.early_enable=1 kcsan.udelay_task=300
	echo "slow=$SLOW rcupdate.rcu_cpu_stall_timeout=120" \
		"sysctl.kernel.hung_task_timeout_secs=240"
}

# The first guest is the listening end of the wire.
guest_start_qemu() {
	local name=$1 number=$2 image=$3 role=off
	local -a disk=()

	[[ $number -ne 1 ]] || role=on
	mkfifo "$GUEST_RUN/$name.in" "$GUEST_RUN/$name.out"
	if [[ -n ${GUEST_ROOT[$name]:-} ]]; then
		cp -r "$TOP/scripts/lib/guest" "$GUEST_RUN/share/"
		# shellcheck disable=SC2054 # commas of QEMU
		disk=(-drive "file=${GUEST_DISK[$name]},format=raw,if=virtio"
			-fsdev "local,id=image,path=$image,security_model=none,readonly=on"
			-device virtio-9p-pci,fsdev=image,mount_tag=image)
	fi
	(
		# Relative socket paths: absolute ones are limited to about 100 characters.
		cd "$GUEST_RUN" || exit
		exec setpriv --pdeathsig KILL qemu-system-x86_64 -name "iw_mpa-$name" \
			-machine q35 -accel "${GUEST_ACCEL:-tcg,thread=multi}" -cpu "${GUEST_CPU:-max,-erms,-fsrm}" \
			-smp "${GUEST_SMP:-2}" -m "${GUEST_MEM:-1536M}" "${GUEST_ARGS[@]//NAME_OF_GUEST/$name}" \
			-nodefaults -display none -monitor none -no-reboot \
			-kernel "$image/boot" -initrd "$image/initrd" \
			-append "$(guest_cmdline "$name" "$number" "$image")" \
			-serial "file:$name.console" \
			-device virtio-serial-pci -chardev "pipe,id=control,path=$name" \
			-device virtserialport,chardev=control,name=control \
			-fsdev "local,id=root,path=${GUEST_ROOT[$name]:-/},security_model=none,readonly=on,multidevs=remap" \
			-device virtio-9p-pci,fsdev=root,mount_tag=hostroot \
			-fsdev local,id=share,path=share,security_model=none \
			-device virtio-9p-pci,fsdev=share,mount_tag=share "${disk[@]}" \
			-netdev "stream,id=wire,server=$role,addr.type=unix,addr.path=wire" \
			-qmp "unix:$name.qmp,server=on,wait=off" \
			-device "virtio-net-pci,id=nic,netdev=wire,romfile=,mac=52:54:00:00:00:0$number" \
			</dev/null >"$name.qemu" 2>&1
	) &
	GUEST_PID[$name]=$!
}

guest_kernel() { echo "${GUEST_KERNEL[$1]:-$KERNEL}"; }
guest_is_running() { kill -0 "${GUEST_PID[$1]}" 2>/dev/null; }

# Old runs are kept only because somebody may want to read their logs.
guest_make_run_folder() {
	local old

	mkdir -p "$CACHE/run"
	# Another suite may delete the same one at this moment.
	{ find "$CACHE/run" -mindepth 1 -maxdepth 1 -mtime +2 -print0 || true; } 2>/dev/null |
		while read -r -d '' old; do
			rm -rf "$old" || true
		done
	GUEST_RUN=$(mktemp -d "$CACHE/run/$(date +%Y%m%d-%H%M%S).XXXX") &&
		mkdir -p "$GUEST_RUN/share/modules"
}

# guest_share_modules NAME: those that build.sh made for its kernel; the guest has them in
# /share/modules. Not while somebody builds. A guest with a root of its own brings its modules along, and
# perhaps nothing was built for its kernel here.
guest_share_modules() {
	local dir=$GUEST_RUN/share/modules-$1 kernel

	kernel=$(guest_kernel "$1")
	mkdir "$dir" || return
	[[ -z ${GUEST_ROOT[$1]:-} ]] || return 0
	(
		[[ $kernel == "$KERNEL" ]] || unset -v IW_MPA_BUILD
		need_kernel "$kernel" && build_locked \
			find "${IW_MPA_BUILD:-$CACHE/build/$KREL}" -name '*.ko' -exec cp -t "$dir" {} +
	)
}

# For who has no tap.sh
declare -F tap_retried >/dev/null || tap_retried() { echo "# retried: $1"; }

# A guest that QEMU broke boots again, and says so; nothing of ours ran there yet.
guest_boot() {
	local status

	trap guest_kill_all EXIT
	for _ in 1 2 3; do
		status=0
		guest_boot_once "$@" || status=$?
		[[ $status -ne 0 ]] || return 0
		guest_broken_by_qemu "$@" || return "$status"
		guest_kill_all
		tap_retried 'QEMU ran an instruction that the kernel had replaced'
	done
	return "$status"
}

# With threads, QEMU before 8.1 may keep the translation of an int3 for ever that one processor
# read while another replaced it, as the kernel does for each static key (QEMU's commit
# deba78709ae8 "Always lock pages before translation").
guest_broken_by_qemu() {
	local name

	for name in "$@"; do
		[[ -e $GUEST_RUN/$name.console ]] || continue
		! grep -q 'int3: 0000 \[#' "$GUEST_RUN/$name.console" || return 0
	done
	return 1
}

# As a condition of the caller's, so that failures end it only where it says so
guest_boot_once() {
	local name image number=0 limit=$((SECONDS + ${GUEST_BOOT_LIMIT:-600} * SLOW))

	guest_make_run_folder || return
	for name in "$@"; do
		number=$((number + 1))
		image=$("$TOP/scripts/lib/guest/image.sh" "$(guest_kernel "$name")") || return
		guest_share_modules "$name" || return
		guest_start_qemu "$name" "$number" "$image" || return
		until [[ -S $GUEST_RUN/wire ]]; do
			if ! guest_is_running "$name" || ((SECONDS >= limit)); then
				guest_lost "$name" "QEMU does not start"
				return
			fi
			sleep 0.05
		done
	done
	for name in "$@"; do
		guest_connect "$name" "$limit" || return
	done
}

# Both ends of a FIFO are opened at first, lest open() waits for ever for a QEMU that failed.
# For reading, only the reading end is kept: the end of QEMU is then the end of the file.
guest_connect() {
	local name=$1 limit=$2 both fd

	exec {both}<>"$GUEST_RUN/$name.out"
	exec {fd}<"$GUEST_RUN/$name.out"
	GUEST_OUT[$name]=$fd
	exec {fd}<>"$GUEST_RUN/$name.in"
	GUEST_IN[$name]=$fd
	if ! guest_answer "$name" "$both" ready $((limit - SECONDS)); then
		guest_lost "$name" "no sign of life after the boot"
		return
	fi
	exec {both}>&-
}

# guest_answer NAME FD ID SECONDS: read answers until the one to ID, into ANSWER.
guest_answer() {
	local name=$1 fd=$2 id=$3 limit=$((SECONDS + $4)) part line='' status

	while ((SECONDS < limit)); do
		status=0
		IFS= read -r -t 1 -u "$fd" part || status=$?
		line+=$part
		if [[ $status -gt 128 ]]; then
			guest_is_running "$name" || return 1
			continue
		fi
		[[ $status -eq 0 ]] || return 1
		if [[ ${line%% *} == "$id" ]]; then
			ANSWER=${line#* }
			return 0
		fi
		line=
	done
	return 1
}

# The kernel's last words; dead guests stay dead, and every later command fails at once.
guest_lost() {
	local name=$1

	touch "$GUEST_RUN/$name.dead"
	{
		echo "guest $name: $2"
		grep -v '^\[[ 0-9.]*\] [AB]# ' "$GUEST_RUN/$name.console" | tail -n 40 | sed 's/^/    /'
		cat "$GUEST_RUN/$name.qemu"
		echo "logs: $GUEST_RUN"
	} >&2
	return 125
}

guest_is_dead() { [[ -e $GUEST_RUN/$1.dead ]]; }

guest_run() {
	local name=$1 command=$2 limit=$((${3:-$GUEST_LIMIT} * SLOW)) id=$EPOCHREALTIME-$BASHPID
	local status ANSWER=

	if guest_is_dead "$name"; then
		echo "guest $name is dead" >&2
		return 125
	fi
	printf '%s %s %q\n' "$id" "$limit" "$command" >&"${GUEST_IN[$name]}"
	if ! guest_answer "$name" "${GUEST_OUT[$name]}" "$id" $((limit + 20)); then
		guest_lost "$name" "no answer to: $command"
		return 125
	fi
	status=${ANSWER%% *}
	ANSWER=${ANSWER#* }
	[[ -z $ANSWER ]] || printf '%b\n' "$ANSWER"
	return "$status"
}

guest_bg() { guest_run "$1" "$(printf 'bg_start %q %q' "$2" "$3")"; }
guest_serve() {
	guest_run "$1" "$(printf 'LISTEN_LIMIT=%q serve %q %q %q' "${LISTEN_LIMIT:-20}" "$2" "$3" "$4")"
}
guest_wait() { guest_run "$1" "bg_wait $2 ${3:-$GUEST_LIMIT}" $((${3:-$GUEST_LIMIT} + 10)); }
guest_bg_run() {
	guest_run "$1" "$(printf 'bg_run %q %q %q' "$2" "$3" "$4")" $(($3 + 10))
}
guest_stop() { guest_run "$1" "bg_stop $2 ${3:-}"; }

# Relative paths, as for QEMU
guest_flap() {
	(
		cd "$GUEST_RUN" || exit
		exec "$TOP/scripts/lib/guest/flap.py" "${@/%/.qmp}"
	) &
	GUEST_FLAP_PID=$!
}

# What the detectors of a debug kernel have found; nothing on another kernel.
guest_detectors() {
	guest_run "$1" "$(printf '/host%q reports' "$TOP/scripts/lib/guest/detectors.sh")"
}

# A detector that reports no mistake may be one that does not look. kmemleak alone takes minutes where the
# host is busy.
guest_controls() {
	guest_run "$1" "$(printf '/host%q controls %q' "$TOP/scripts/lib/guest/detectors.sh" \
		"$(guest_kernel "$1")")" 240
}

# Only what we started, by its id.
guest_kill_all() {
	local name

	for name in "${!GUEST_PID[@]}"; do
		kill "${GUEST_PID[$name]}" 2>/dev/null || true
		wait "${GUEST_PID[$name]}" 2>/dev/null || true
		unset "GUEST_PID[$name]"
	done
}

# Clean end of all guests; a guest that does not go off by itself is a failure.
guest_down() {
	local name limit=$((SECONDS + 240)) command status=0

	for name in "${!GUEST_PID[@]}"; do
		command='busybox poweroff -f'
		[[ -z ${GUEST_ROOT[$name]:-} ]] || command='systemctl poweroff'
		# No limit by the guest's own clock, which may jump: see boot_counted of bench.sh.
		guest_is_dead "$name" || printf 'off 3600 %q\n' "$command" >&"${GUEST_IN[$name]}"
	done
	for name in "${!GUEST_PID[@]}"; do
		while guest_is_running "$name" && ((SECONDS < limit)); do
			sleep 0.05
		done
		guest_is_running "$name" && status=1
		guest_is_dead "$name" && status=1
	done
	guest_kill_all
	return "$status"
}

# The logs are worth keeping only after a failure.
guest_forget_logs() { [[ -z $GUEST_RUN ]] || rm -rf "$GUEST_RUN"; }
