# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="Open MPI on libfabric: four ranks on two hosts, each to each, data compared"
WIRES=clean
# mpirun gets hosts of IPv4. Which addresses the ranks take is the choice of libfabric alone.
FAMILIES="4"

# Ranks poll: where the kernel is slow, so are they.
applies() { stock_kernel; }

# Messages go to libfabric, and those of libfabric to RDMA: to the ranks of the same host, too.
OPTIONS="--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include 'verbs;ofi_rxm'"
# mpirun's own messages are TCP.
OPTIONS+=" --mca oob_tcp_if_include eth0 --mca mpi_yield_when_idle 1"
# Why a rank finds no device, if one does not
OPTIONS+=" -x FI_LOG_LEVEL=warn"
OPTIONS+=" --mca plm_rsh_agent /host$TOP/scripts/lib/guest/mpi_agent"
AS_ROOT="OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
# The launcher of Open MPI 5 has options of its own; it takes hosts out of a file alone.
AS_ROOT+=" PRTE_MCA_plm_ssh_agent=/host$TOP/scripts/lib/guest/mpi_agent"

# find_device GUEST: start two programs at the same time, as mpirun starts the ranks of a host, when no other has run
# before: both have to find the device. Once a rank was seen that did not.
find_device() {
	on "$1" "for n in 1 2; do
			bg_start find\$n \"FI_LOG_LEVEL=warn fi_info -p 'verbs;ofi_rxm'\"
		done
		for n in 1 2; do
			output=\$(bg_wait find\$n 60) && grep -q 'provider: verbs;ofi_rxm' <<<\"\$output\" ||
				{ fail \"program \$n finds no device: \$output\"; exit 1; }
		done" 150
}

# run_ranks "NUMBER OPTION..." SECONDS COMMAND: run COMMAND as NUMBER ranks; set output. It is tried again if a rank dies
# by RxM's fault.
run_ranks() {
	local status

	for _ in 1 2 3 4 5; do
		run_ranks_once "$@"
		[[ $status -ne 0 ]] || return 0
		rxm_posted "$output" || fail "mpirun: status $status"
		retried "$RXM_POSTED"
		guest_stop "$SERVER" server
	done
	fail 'RxM dies each time'
}

# mpirun starts the ranks on the second host by a command file in a folder that the guests share. Sets status, too.
run_ranks_once() {
	rm -f "$GUEST_RUN"/share/mpi.*
	guest_bg "$SERVER" server "cd /run; poll $2 test -e /share/mpi.command || exit 1
		status=0; $AS_ROOT sh /share/mpi.command || status=\$?
		echo \$status >/share/mpi.status; mv /share/mpi.status /share/mpi.ended
		exit \$status"
	status=0
	output=$(client "cd /run; printf '%s slots=2\n' $CLIENT_IP $SERVER_IP >hosts
		$AS_ROOT mpirun -n $1 --hostfile hosts $OPTIONS $3" "$2") || status=$?
}

check() {
	local output name count
	local -A before

	for name in "$CLIENT" "$SERVER"; do
		find_device "$name"
		! is_ours "$(driver_of "$name")" || before[$name]=$(established "$name")
	done
	run_ranks 4 300 "/usr/bin/python3 -m mpi4py /host$TOP/scripts/lib/guest/mpi_exchange.py"
	expect_text "$output" '^4 of 4 ranks have what was sent$'
	server_ends
	# Four pairs of ranks are on two hosts; one pair is on this host, and has both ends here.
	for name in "$CLIENT" "$SERVER"; do
		is_ours "$(driver_of "$name")" || continue
		count=$(($(established "$name") - before[$name]))
		[[ $count -ge 6 ]] || fail "$name: $count connections were established, not 6"
		echo "result: $name: $count connections"
	done
}
