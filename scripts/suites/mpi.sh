# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034

# 280-mpi.sh has run_ranks.
# shellcheck source=scripts/e2e/280-mpi.sh
. "$TOP/scripts/e2e/280-mpi.sh"

DESCRIPTION="MPI: Debian's NetPIPE, which checks what it gets, over Open MPI and libfabric"
PACKAGES=netpipe-openmpi
SAMPLED='^netpipe/pingpong$'

# Three kinds of tests are left out: those of MPI-2, for which NetPIPE passes no info object to Open
# MPI; those of both directions at once, in which NetPIPE only sends until both ends wait; and those
# with synchronous sends, -S, which hang as iw_mpa_consumers.rst says of MPI_Ssend. All three fail
# with ranks on one host over libfabric's tcp, too.
groups() {
	printf 'netpipe/%s\n' pingpong any-source preposted
}

options() {
	case $1 in
	any-source) echo -z ;;
	preposted) echo -a ;;
	esac
}

# One rank on each host. Of the 40 sizes from 1 byte to 1 MiB at least those up to 64 KiB have to pass: NetPIPE ends
# successfully after a size that takes more than a second, as its manual says.
check() {
	local output

	run_ranks '2 --map-by node' 400 "NPopenmpi -i -n 3 -l 1 -u 1048576 $(options "${VARIANT#*/}")"
	echo "$output"
	[[ $(grep -c 'Integrity check passed' <<<"$output") -ge 32 ]] || fail 'not each size up to 64 KiB has passed'
	! grep -qi 'check failed' <<<"$output" || fail 'other data came'
	server_ends
}
