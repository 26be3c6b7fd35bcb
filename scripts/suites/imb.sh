# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034

# run_ranks is a function of 280-mpi.sh.
# shellcheck source=scripts/e2e/280-mpi.sh
. "$TOP/scripts/e2e/280-mpi.sh"

DESCRIPTION="MPI: the Intel MPI Benchmarks, which check what they get, over Open MPI and libfabric"
SOURCE="https://github.com/intel/mpi-benchmarks.git 1a7cada09754be3ccf60c2698305a4c020b52e28"	# 2021.11
PACKAGES="libopenmpi-dev g++"
SAMPLED='^MPI1/messages$'

groups() { printf '%s\n' MPI1/{messages,collective} NBC/collective EXT/windows RMA/windows; }

# Left out are benchmarks that do not detect wrong data, though they are compiled with -DCHECK:
# Barrier, Uniband, Biband, Window, IMB-EXT's Bidir_Put, Ibcast_pure, and those of IMB-RMA that
# accumulate or have several peers. Others that are left out: Compare_and_swap and Fetch_and_op
# print no rows; Put_local and Truly_passive_put have not been tried; Reduce_local sends nothing;
# Ireduce_scatter compares the part of each rank with that of rank 0, and so fails over libfabric's
# tcp on one host, too.
benchmarks() {
	case $1 in
	MPI1/messages) echo PingPong{,SpecificSource,AnySource} PingPing{,SpecificSource,AnySource} Sendrecv Exchange ;;
	MPI1/collective)
		echo Allreduce Reduce{,_scatter,_scatter_block} All{gather,gatherv,toall,toallv} {Gather,Scatter}{,v} \
			Bcast
		;;
	NBC/collective) echo I{allreduce,reduce,allgather{,v},alltoall{,v},gather{,v},scatter{,v}}_pure Ibcast ;;
	EXT/windows) echo Unidir_{Get,Put} Bidir_Get Accumulate ;;
	RMA/windows) echo {Unidir,Bidir,Exchange}_{get,put} ;;
	esac
}

SIZES=(0 4 1000 65536 524288)

build() {
	local program

	printf '%s\n' "${SIZES[@]}" >sizes
	for program in MPI1 NBC EXT RMA; do
		make -C src_cpp -j "$(nproc)" TARGET="$program" CC=mpicc CXX=mpicxx \
			CPPFLAGS='-DCHECK -DOMPI_SKIP_MPICXX'
	done
}

# table BENCHMARK: print "N of M rows", and fail unless N is M: N rows of BENCHMARK in $output show
# no wrong data (0.00 in the last column); M is the number of sizes times the benchmark's modes.
table() {
	awk -v name="$1" -v sizes="${#SIZES[@]}" '/^# Benchmarking / { on = $3 == name }
		on && /#bytes/ { rows += sizes }
		on && / 0\.00$/ { right++ }
		END { print right + 0 " of " rows + 0 " rows"; exit !rows || right != rows }' <<<"$output"
}

# There are two ranks on each host, and ranks with consecutive numbers are on different hosts. With
# Open MPI's component "pt2pt" one-sided operations on an MPI window are messages, which go over
# libfabric; Open MPI's default component may bypass libfabric.
check() {
	local output name text
	local -a names

	read -ra names < <(benchmarks "$VARIANT")
	run_ranks '4 --map-by node' 1500 "--mca osc pt2pt /host$BUILT/src_cpp/IMB-${VARIANT%/*} -npmin 4 -iter 5,64,5 \
		-iter_policy off -time 60 -msglen /host$BUILT/sizes ${names[*]}"
	echo "$output"
	! grep -Eq '^[0-9]+: Error' <<<"$output" || fail 'other data came'
	for name in "${names[@]}"; do
		if text=$(table "$name"); then case_is pass "$name"; else case_is fail "$name" "$text"; fi
	done
	server_ends
}
