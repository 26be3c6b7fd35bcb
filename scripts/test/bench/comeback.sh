# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions for the guest, used by ulps.sh: a target of NVMe over RDMA with very many controllers,
# which are paths of one host, is removed and returns.

# shellcheck source=scripts/lib/guest/nvme.sh
. "${BASH_ENV%/*}/nvme.sh"

live() { [[ $(cat /sys/class/nvme/nvme*/state | grep -c live) -eq $1 ]]; }

# comeback_begin NUMBER: connect NUMBER controllers to one address, by requests that are written to
# /dev/nvme-fabrics, since nvme-cli refuses to connect to the same address twice
comeback_begin() {
	local i host="nqn.2014-08.org.nvmexpress:uuid:$NVME_UUID"

	nvme_serve 4 10.0.0.1 4420 0 && modprobe nvme-rdma || return
	for ((i = 1; i <= $1; i++)); do
		echo "transport=rdma,traddr=10.0.0.1,trsvcid=4420,nqn=$NVME_NQN,hostnqn=$host" \
			"hostid=$NVME_UUID,nr_io_queues=1,queue_size=32,reconnect_delay=1" \
			"ctrl_loss_tmo=-1,duplicate_connect" | tr ' ' , >/dev/nvme-fabrics || return
	done
	poll 60 live "$1"
}

comeback_end() {
	nvme disconnect --nqn="$NVME_NQN"
	poll 60 nvme_is_gone && nvme_serve_end
}
