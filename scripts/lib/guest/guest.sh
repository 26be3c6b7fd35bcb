# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The host's side of the guests; source it after lib.sh. The host sends commands, a guest answers:
#   guest_boot A [B]               boot the stock kernel with the host's programs; A and B share a wire;
#                                  GUEST_KERNEL[A] is the kernel's name if it is not $KERNEL
#   guest_run A COMMAND [SECONDS]  run it; print its output, return its exit status (124: it took too long)
#   guest_serve A NAME PORT CMD    start a server in the background; return when it listens on PORT
#   guest_bg A NAME CMD            start a background job
#   guest_wait A NAME [SECONDS]    wait until the job ends; print its output, return its exit status
#   guest_bg_run A NAME SEC CMD    guest_bg and guest_wait; a job that takes too long (124) goes on
#   guest_stop A NAME [SIGNAL]     end the job, and print its output
#   guest_detectors A              print what the kernel's detectors have found, and fail if there is any
#   guest_controls A               after guest_detectors: fail unless each detector reports a mistake
#   guest_flap A B                 let their links go down and up, until the process GUEST_FLAP_PID
#                                  gets SIGTERM: see flap.py
#   guest_down                     power the guests off
#
# Commands may use the functions of inside.sh. Answers come over a separate channel (a virtio port in the guest, a pair
# of FIFOs here), so silence, a panic and a dead QEMU are failures: status 125, and the guest is marked dead.
#
# Call guest_boot from the main shell: the guests die with the shell that started them.
#
# GUEST_ROOT[A] is a folder with the root of another Debian, which systemd boots; what it writes is kept from boot to
# boot on the disk GUEST_DISK[A], a file. Commands then find this tree's scripts/lib/guest in /share/guest, and nothing
# else of the host.
#
# GUEST_ACCEL, GUEST_CPU, GUEST_SMP, GUEST_MEM and the array GUEST_ARGS change QEMU's arguments; NAME_OF_GUEST in the
# array is replaced by the name of the guest. GUEST_VIRTIOFSD names another virtiofsd. Without GUEST_CPU a guest has all
# features that QEMU can emulate, except fast string instructions. The kernel expects these to be the fastest way, but
# QEMU moves one byte at a time by them. Without them the kernel moves eight bytes at a time, and a guest needs an
# eighth less of the host's time.

declare -A GUEST_PID=() GUEST_IN=() GUEST_OUT=() GUEST_KERNEL=() GUEST_ROOT=() GUEST_DISK=()
GUEST_RUN=
GUEST_LIMIT=60
GUEST_ARGS=()
# Time limits are for the stock kernels. Kernels with detectors are slower, so SLOW multiplies the limits, and the guest
# has more processors, since races need them.
SLOW=1
if kernel_debugs "${KERNEL:?}"; then
	SLOW=5
	GUEST_SMP=${GUEST_SMP:-4}
	GUEST_MEM=${GUEST_MEM:-2G}
fi

# guest_tsc ARCH: print the kernel's parameter with the frequency of the TSC. Without it the guest would measure the
# frequency with emulated timers, and get a wrong result: see tsc_khz.c.
guest_tsc() {
	[[ -z ${GUEST_ACCEL:-} && $1$(uname -m) == amd64x86_64 ]] || return 0
	[[ -e $GUEST_RUN/tsc_khz ]] ||
		gcc -O2 -o "$GUEST_RUN/tsc_khz" "$TOP/scripts/lib/guest/tsc_khz.c"
	echo "tsc_early_khz=$("$GUEST_RUN/tsc_khz")"
}

# guest_cmdline NAME NUMBER IMAGE: print the command line of the kernel of guest NAME, the NUMBER-th
# one, with the image in the folder IMAGE. A warning or an oops ends the guest, which is a failure.
# tsc=reliable: the TSC is as good as QEMU's clock, and each read of the HPET, which the kernel
# would use instead, costs an exit to QEMU. By default the kernel records the names of tasks with
# traced events, for which it patches the scheduler's code while that runs. An emulated processor
# may execute such code half patched: the guest then ends with "Oops: int3" in ttwu_do_activate().
# So the names of tasks are not recorded.
guest_cmdline() {
	local name=$1 number=$2 image=$3 arch console=ttyS0

	arch=$(arch_of "$(guest_kernel "$name")")
	[[ $arch != arm64 ]] || console=ttyAMA0
	echo "console=$console loglevel=6 panic=-1 oops=panic panic_on_warn=1" \
		"sysctl.kernel.hung_task_panic=1 sysctl.kernel.hung_task_timeout_secs=60" \
		"mitigations=off random.trust_cpu=on slab_nomerge tsc=reliable no_timer_check" \
		"trace_options=norecord-cmd $(guest_tsc "$arch")" \
		"agent=$TOP/scripts/lib/guest/agent image=$image tools=$CACHE/tools share=$(<"$image/share")" \
		"guest=$name number=$number $([[ -n ${GUEST_ROOT[$name]:-} || $arch == amd64 ]] || echo "tree=$TOP")" \
		"$(guest_debug_cmdline "$(guest_kernel "$name")")" \
		"${GUEST_ROOT[$name]:+systemd=1 net.ifnames=0 systemd.mask=getty.target}"
}

# The kernel's own time limits allow for a QEMU that is minutes late. KCSAN starts only if the command line asks for it.
# KCSAN reports races of the whole kernel, so the log has to be large; reports about our modules are selected later.
# KCSAN delays an access, so that another processor may access the same memory meanwhile. Here the
# delay is so long that the host can run that processor.
guest_debug_cmdline() {
	kernel_debugs "$1" || return 0
	[[ $1 != kcsan ]] ||
		printf '%s ' panic_on_warn=0 loglevel=3 log_buf_len=16M kcsan.early_enable=1 kcsan.udelay_task=300
	echo "slow=$SLOW rcupdate.rcu_cpu_stall_timeout=120" \
		"sysctl.kernel.hung_task_timeout_secs=240"
}

# guest_share NAME TAG FOLDER HOW [ro]: add to SHARES the arguments of QEMU by which guest NAME can
# mount FOLDER by the name TAG. HOW is 9p or virtiofs. With virtiofs a program, which needs access
# to the guest's memory, serves the folder until QEMU ends.
guest_share() {
	local name=$1 tag=$2 dir=$3 socket=$1.$2 daemon=${GUEST_VIRTIOFSD:-/usr/lib/qemu/virtiofsd}
	local limit=$((SECONDS + ${GUEST_BOOT_LIMIT:-600} * SLOW / 2))
	local -a again=()

	if [[ $4 == 9p ]]; then
		SHARES+=(-fsdev "local,id=$tag,path=$dir,security_model=none,multidevs=remap${5:+,readonly=on}"
			-device "virtio-9p-pci,fsdev=$tag,mount_tag=$tag")
		return
	fi
	[[ -e $daemon ]] || daemon=/usr/libexec/virtiofsd
	[[ -e $daemon ]] || { echo 'there is no virtiofsd: apt-get install virtiofsd' && return 1; }
	# pivot_root() refuses "/", so the daemon serves the folder of another mount namespace where "/" is mounted again.
	if [[ $dir == / ]]; then
		dir=$socket.root
		mkdir -p "$dir"
		# shellcheck disable=SC2016 # of sh
		again=(unshare -m sh -c 'mount --rbind / "$0" && exec "$@"' "$dir")
	fi
	setpriv --pdeathsig KILL "${again[@]}" "$daemon" --socket-path="$socket" -o "source=$(realpath "$dir")" \
		-o "cache=$([[ -n ${5:-} ]] && echo always || echo none)" </dev/null >"$socket.log" 2>&1 &
	until [[ -S $socket ]]; do
		kill -0 $! 2>/dev/null || { cat "$socket.log"; return 1; }
		((SECONDS < limit)) || { echo "guest $name: $daemon makes no socket for $3" >&2 && return 1; }
		sleep 0.05
	done
	[[ ${#SHARES[@]} -gt 0 ]] || SHARES=(-machine memory-backend=memory
		-object "memory-backend-memfd,id=memory,share=on,size=${GUEST_MEM:-1536M}")
	SHARES+=(-chardev "socket,id=$tag,path=$socket" -device "vhost-user-fs-pci,chardev=$tag,tag=$tag")
}

# guest_machine KERNEL: print which QEMU to run, and its machine and processor
guest_machine() {
	case $(arch_of "$1") in
	amd64) echo "qemu-system-x86_64 -machine q35 -cpu ${GUEST_CPU:-max,-erms,-fsrm}" ;;
	arm64) echo "qemu-system-aarch64 -machine virt -cpu ${GUEST_CPU:-$ARM64_CPU}" ;;
	esac
}

# A guest of another architecture has the root of another Debian, with its programs; this tree and the guest's image are
# mounted in it at their own paths.
guest_share_all() {
	local name=$1 image=$2 how root=${GUEST_ROOT[$1]:-}

	how=$(<"$image/share")
	[[ -n $root ]] || root=$(programs_of "$(guest_kernel "$name")")
	guest_share "$name" hostroot "${root:-/}" "$how" ro || return
	guest_share "$name" share share "$how" || return
	[[ -z $root ]] || guest_share "$name" image "$image" "$how" ro || return
	[[ -z $root || -n ${GUEST_ROOT[$name]:-} ]] || guest_share "$name" tree "$TOP" "$how" ro || return
	[[ -z $root || -n ${GUEST_ROOT[$name]:-} ]] || mkdir -p "$root$image" "$root$TOP"
}

# guest_start_qemu NAME NUMBER IMAGE: start QEMU for guest NAME, the NUMBER-th one, with the image
# in the folder IMAGE. The wire between two guests is a socket, on which the QEMU of the first one
# listens.
guest_start_qemu() {
	local name=$1 number=$2 image=$3 role=off machine
	local -a disk=() SHARES=()

	[[ $number -ne 1 ]] || role=on
	machine=$(guest_machine "$(guest_kernel "$name")") || return
	mkfifo "$GUEST_RUN/$name.in" "$GUEST_RUN/$name.out"
	if [[ -n ${GUEST_ROOT[$name]:-} ]]; then
		cp -r "$TOP/scripts/lib/guest" "$GUEST_RUN/share/"
		disk=(-drive "file=${GUEST_DISK[$name]},format=raw,if=virtio")
	fi
	(
		# Socket paths are relative, since absolute ones are limited to about 100 characters.
		cd "$GUEST_RUN" || exit
		guest_share_all "$name" "$image" || exit
		# shellcheck disable=SC2086 # a list of words is what it is
		exec setpriv --pdeathsig KILL $machine -name "iw_mpa-$name" \
			-accel "${GUEST_ACCEL:-tcg,thread=multi}" \
			-smp "${GUEST_SMP:-2}" -m "${GUEST_MEM:-1536M}" "${GUEST_ARGS[@]//NAME_OF_GUEST/$name}" \
			-nodefaults -display none -monitor none -no-reboot \
			-kernel "$image/boot" -initrd "$image/initrd" \
			-append "$(guest_cmdline "$name" "$number" "$image")" \
			-serial "file:$name.console" \
			-device virtio-serial-pci -chardev "pipe,id=control,path=$name" \
			-device virtserialport,chardev=control,name=control \
			"${SHARES[@]}" "${disk[@]}" \
			-netdev "stream,id=wire,server=$role,addr.type=unix,addr.path=wire" \
			-qmp "unix:$name.qmp,server=on,wait=off" \
			-device "virtio-net-pci,id=nic,netdev=wire,romfile=,mac=52:54:00:00:00:0$number" \
			</dev/null >"$name.qemu" 2>&1
	) &
	GUEST_PID[$name]=$!
}

guest_kernel() { echo "${GUEST_KERNEL[$1]:-$KERNEL}"; }
guest_is_running() { kill -0 "${GUEST_PID[$1]}" 2>/dev/null; }

# Make the folder of this run. Delete folders of runs more than two days ago, whose logs nobody
# reads any more.
guest_make_run_folder() {
	local old

	mkdir -p "$CACHE/run"
	# Another suite may delete the same folder at this moment.
	{ find "$CACHE/run" -mindepth 1 -maxdepth 1 -mtime +2 -print0 || true; } 2>/dev/null |
		while read -r -d '' old; do
			rm -rf "$old" || true
		done
	GUEST_RUN=$(mktemp -d "$CACHE/run/$(date +%Y%m%d-%H%M%S).XXXX") &&
		mkdir -p "$GUEST_RUN/share/modules"
}

# guest_share_modules NAME: copy the modules that build.sh has made for the guest's kernel to the guest's
# /share/modules, under the lock of builds. A guest with its own root has its own modules, and build.sh may have made
# none for its kernel.
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

# A replacement for callers that have not sourced tap.sh
declare -F tap_retried >/dev/null || tap_retried() { echo "# retried: $1"; }

REPLACED='QEMU ran an instruction that the kernel had replaced'

# If QEMU broke a guest, boot again and report that; nothing of ours has run in the guest yet. If QEMU breaks a guest
# later, guest_tell_broken asks scripts/check.sh for another run of the whole suite.
guest_boot() {
	local status

	trap guest_kill_all EXIT
	for _ in 1 2 3; do
		status=0
		guest_boot_once "$@" || status=$?
		[[ $status -ne 0 ]] || return 0
		guest_broken_by_qemu "$@" || return "$status"
		guest_kill_all
		tap_retried "$REPLACED"
	done
	guest_tell_broken "$@"
	return "$status"
}

# If QEMU before 8.1 emulates with threads, it possibly never drops the translation of an int3 that one processor read
# while another one replaced it, as the kernel does for each static key (fixed by QEMU's commit deba78709ae8 "Always
# lock pages before translation"). The proof is that the byte that the kernel shows in that place is no int3 (cc).
guest_broken_by_qemu() {
	local name

	for name in "$@"; do
		[[ -e $GUEST_RUN/$name.console ]] || continue
		! grep -A 9 'int3: 0000 \[#' "$GUEST_RUN/$name.console" |
			grep 'Code: .* \(c[^c]\|[^c].\) <' >/dev/null || return 0
	done
	return 1
}

# guest_boot calls this function as a condition. There errexit is off, so the function has to return after each failure.
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

# guest_connect NAME LIMIT: open the FIFOs, and wait until the agent is ready. The FIFO from QEMU is opened for reading
# and writing first: otherwise open() would wait for ever if QEMU has failed. Then only the descriptor for reading stays
# open, so that end of file shows that QEMU has ended.
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

# guest_answer NAME FD ID SECONDS: read answers until the one for ID, and set ANSWER to it.
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

# guest_tell_broken NAME...: if QEMU broke one of these guests, write that to a file that scripts/check.sh reads when
# the suite has ended
guest_tell_broken() {
	! guest_broken_by_qemu "$@" || echo "$REPLACED" | tee -a "${BROKEN_BY_QEMU:-/dev/null}" >&2
}

# guest_said NAME: print the guest's console, without the commands of the agent
guest_said() { tr -d '\r' <"$GUEST_RUN/$1.console" | grep -v '^\[[ 0-9.]*\] [AB]# '; }

# guest_lost NAME TEXT: print TEXT and the end of the guest's console. Mark the guest as dead, so
# that every later command fails at once.
guest_lost() {
	local name=$1

	touch "$GUEST_RUN/$name.dead"
	{
		echo "guest $name: $2"
		guest_said "$name" | tail -n 60 | sed 's/^/    /'
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
		guest_tell_broken "$name"
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

# The paths of QEMU's sockets are relative, as in guest_start_qemu.
guest_flap() {
	(
		cd "$GUEST_RUN" || exit
		exec "$TOP/scripts/lib/guest/flap.py" "${@/%/.qmp}"
	) &
	GUEST_FLAP_PID=$!
}

# Print what the guest's detectors have found, or warnings of a kernel without detectors; fail if there is anything.
guest_detectors() {
	guest_run "$1" "$(printf '/host%q reports' "$TOP/scripts/lib/guest/detectors.sh")"
}

# Check that the detectors report mistakes made on purpose: a detector that reports nothing is possibly broken. On a
# busy host kmemleak alone takes minutes.
guest_controls() {
	guest_run "$1" "$(printf '/host%q controls %q' "$TOP/scripts/lib/guest/detectors.sh" \
		"$(guest_kernel "$1")")" 240
}

# Kill only processes that this shell started, by their id.
guest_kill_all() {
	local name

	for name in "${!GUEST_PID[@]}"; do
		kill "${GUEST_PID[$name]}" 2>/dev/null || true
		wait "${GUEST_PID[$name]}" 2>/dev/null || true
		unset "GUEST_PID[$name]"
	done
}

# Power all guests off; a guest that does not power off by itself is a failure.
guest_down() {
	local name limit=$((SECONDS + 240)) command status=0

	for name in "${!GUEST_PID[@]}"; do
		command='busybox poweroff -f'
		[[ -z ${GUEST_ROOT[$name]:-} ]] || command='systemctl poweroff'
		# The time limit for the command to power off is an hour, since the guest measures
		# it by its own clock, which may jump: see boot_counted of bench.sh.
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

# Delete the logs of this run, which are only needed after a failure.
guest_forget_logs() { [[ -z $GUEST_RUN ]] || rm -rf "$GUEST_RUN"; }
