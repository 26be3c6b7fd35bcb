# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="Open MPI on libfabric: four ranks on two hosts, each to each, data compared"
WIRES=clean
# mpirun takes only IPv4 addresses of hosts. The addresses of the ranks are libfabric's choice.
FAMILIES="4"

# Ranks poll, which takes too long on a slow kernel.
applies() { stock_kernel; }

# Open MPI hands messages to libfabric, and libfabric to RDMA, also between ranks of one host.
OPTIONS="--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include 'verbs;ofi_rxm'"
# mpirun's own messages use TCP.
OPTIONS+=" --mca oob_tcp_if_include eth0 --mca mpi_yield_when_idle 1"
# Report why a rank finds no device.
OPTIONS+=" -x FI_LOG_LEVEL=warn"
OPTIONS+=" --mca plm_rsh_agent /host$TOP/scripts/lib/guest/mpi_agent"
AS_ROOT="OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
# The launcher of Open MPI 5 has its own options; it takes hosts only from a file.
AS_ROOT+=" PRTE_MCA_plm_ssh_agent=/host$TOP/scripts/lib/guest/mpi_agent"

# find_device GUEST: start two programs at once, before any other, as mpirun starts the ranks of a host. Both have to
# find the device: in an earlier run a rank did not.
find_device() {
	on "$1" "for n in 1 2; do
			bg_start find\$n \"FI_LOG_LEVEL=warn fi_info -p 'verbs;ofi_rxm'\"
		done
		for n in 1 2; do
			output=\$(bg_wait find\$n 60) && grep -q 'provider: verbs;ofi_rxm' <<<\"\$output\" ||
				{ fail \"program \$n finds no device: \$output\"; exit 1; }
		done" 150
}

# run_ranks "NUMBER OPTION..." SECONDS COMMAND: have mpirun run COMMAND as NUMBER ranks, with these
# options of mpirun, for SECONDS at most; set output. Run again if libfabric's RxM makes a rank die.
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

# run_ranks_once ARGUMENTS-OF-RUN_RANKS: run mpirun once; set output and status. mpirun starts the
# ranks of the second host by a command in a file, in a folder that the guests share.
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
	# Each of six pairs of ranks has a connection. Six ends are in each guest: four of pairs
	# with a rank on the other host, and both ends of the pair on this host.
	for name in "$CLIENT" "$SERVER"; do
		is_ours "$(driver_of "$name")" || continue
		count=$(($(established "$name") - before[$name]))
		[[ $count -ge 6 ]] || fail "$name: $count connections were established, not 6"
		echo "result: $name: $count connections"
	done
}
