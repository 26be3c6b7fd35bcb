# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="NFS over RDMA: written, read back and compared, also while the link goes down and up"
WIRES=clean
KIT=nfs
FAMILIES="4"

# The kernels with detectors leave out what it needs.
applies() { both_ours && stock_kernel; }

# compare NAME: the client's file, the server's, and what the client reads from the server
compare() {
	local want got

	want=$(on "$CLIENT" "sha256sum </run/$1")
	got=$(inside "$SERVER" "sha256sum <\$NFS_EXPORT/$1")
	[[ $got == "$want" ]] || fail "$1 is not what the client wrote"
	got=$(inside "$CLIENT" "nfs_read $1 | sha256sum")
	[[ $got == "$want" ]] || fail "$1 is not what the server has"
}

check() {
	local before

	inside "$SERVER" "nfs_serve $PORT"
	on "$CLIENT" "head -c 4M /dev/urandom >/run/one; head -c 4M /dev/urandom >/run/two"
	inside "$CLIENT" "nfs_mount $SERVER_IP $PORT"
	inside "$CLIENT" "cp /run/one \$NFS_MOUNT; sync \$NFS_MOUNT/one"
	compare one

	before=$(established "$CLIENT")
	inside "$CLIENT" "bg_start copy \"sleep 0.5; cp /run/two \$NFS_MOUNT; sync \$NFS_MOUNT/two\"
		link_flap 2; bg_wait copy 40"
	compare two
	# siw of 6.1 ends its connections when the link goes; that of 6.12 leaves it to TCP.
	[[ $(guest_kernel "$CLIENT") != 6.1 || $(established "$CLIENT") -gt $before ]] ||
		fail "it did not connect again"

	inside "$CLIENT" "umount \$NFS_MOUNT; rm /run/one /run/two; poll 10 rdma_is_idle"
	inside "$SERVER" "nfs_serve_end; poll 10 rdma_is_idle"
	echo "result: 8 MB"
}
