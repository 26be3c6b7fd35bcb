# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="NFS over RDMA: written, read back and compared, also while link and connection are lost"
WIRES=clean
KIT=nfs

# Kernels with detectors lack NFS over RDMA.
applies() { stock_kernel; }

# compare NAME: the client's file, the server's file, and what the client reads from the server are the same
compare() {
	local want got

	want=$(on "$CLIENT" "sha256sum </run/$1")
	got=$(inside "$SERVER" "sha256sum <\$NFS_EXPORT/$1")
	[[ $got == "$want" ]] || fail "$1 is not what the client wrote"
	got=$(inside "$CLIENT" "nfs_read $1 | sha256sum")
	[[ $got == "$want" ]] || fail "$1 is not what the server has"
}

# link_returns GUEST NAME: a mount continues after a link was removed and added again.
link_returns() {
	on "$CLIENT" "head -c 1M /dev/urandom >/run/$2"
	on "$1" 'rdma link delete siw0 && rdma_add' 90
	inside "$CLIENT" "bg_run copy 100 \"cp /run/$2 \$NFS_MOUNT; sync \$NFS_MOUNT/$2\"" 150
	compare "$2"
	on "$CLIENT" "rm /run/$2"
}

check() {
	local before cut=

	loses_connections "$CLIENT" || cut="tcp_cut $PORT;"
	inside "$SERVER" "nfs_serve $PORT"
	on "$CLIENT" "head -c 4M /dev/urandom >/run/one; head -c 4M /dev/urandom >/run/two"
	inside "$CLIENT" "nfs_mount $SERVER_IP $PORT"
	inside "$CLIENT" "cp /run/one \$NFS_MOUNT; sync \$NFS_MOUNT/one"
	compare one
	kernel_uses "$CLIENT" rpcrdma
	kernel_uses "$SERVER" rpcrdma

	before=$(established "$(our_end)")
	inside "$CLIENT" "bg_start copy \"sleep 0.5; cp /run/two \$NFS_MOUNT; sync \$NFS_MOUNT/two\"
		link_flap 2; $cut bg_wait copy 100" 150
	compare two
	[[ $(established "$(our_end)") -gt $before ]] || fail "it did not connect again"

	if both_ours; then
		link_returns "$CLIENT" three
		link_returns "$SERVER" four
	fi
	inside "$CLIENT" "umount \$NFS_MOUNT; rm /run/one /run/two; poll 10 rdma_is_idle"
	inside "$SERVER" "nfs_serve_end; poll 10 rdma_is_idle"
	if both_ours; then echo "result: 10 MB"; else echo "result: 8 MB"; fi
}
