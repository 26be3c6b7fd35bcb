# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions for the guest, used by ulps.sh and growth.sh: a target of NVMe over RDMA or TCP, and very many controllers,
# which are paths of one host, so that the kernel makes one disk of them.

# shellcheck source=scripts/lib/guest/nvme.sh
. "${BASH_ENV%/*}/nvme.sh"

live() { [[ $(cat /sys/class/nvme/nvme*/state | grep -c live) -eq $1 ]]; }

# controllers_begin NUMBER: connect NUMBER controllers to one address, by requests that are written to
# /dev/nvme-fabrics, since nvme-cli refuses to connect to the same address twice
controllers_begin() {
	local i host="nqn.2014-08.org.nvmexpress:uuid:$NVME_UUID"

	nvme_serve 4 10.0.0.1 4420 0 && modprobe "nvme-$STORAGE_OVER" || return
	for ((i = 1; i <= $1; i++)); do
		echo "transport=$STORAGE_OVER,traddr=10.0.0.1,trsvcid=4420,nqn=$NVME_NQN,hostnqn=$host" \
			"hostid=$NVME_UUID,nr_io_queues=1,queue_size=32,reconnect_delay=1" \
			"ctrl_loss_tmo=-1,duplicate_connect" | tr ' ' , >/dev/nvme-fabrics || return
	done
	poll 60 live "$1"
}

controllers_end() {
	nvme disconnect --nqn="$NVME_NQN"
	poll 60 nvme_is_gone && nvme_serve_end
}

# take_turns: have the disk's I/Os go through all controllers in turn. Otherwise one of them takes all.
take_turns() { poll 20 nvme_block && echo round-robin | tee /sys/class/nvme-subsystem/*/iopolicy; }

# free_pages: print KiB of free memory, and of what can be freed at any time
free_pages() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	awk '$1 == "MemFree:" { print $2 }' /proc/meminfo
}

# least_free COMMAND: run COMMAND, and print the least KiB of free memory meanwhile, not counting what COMMAND takes
least_free() {
	local pid

	"$@" >/dev/null &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		awk '$1 == "MemFree:" { free = $2 } $1 == "VmRSS:" { own = $2 } END { if (own) print free + own }' \
			/proc/meminfo "/proc/$pid/status" 2>/dev/null || :
	done | sort -n | head -n 1
	wait "$pid"
}
