# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions for NFS in a guest, over RDMA or TCP; commands source this file.

STORAGE_OVER=${STORAGE_OVER:-rdma}	# or tcp

NFS_EXPORT=/run/export
NFS_MOUNT=/run/nfs

# nfs_serve PORT: version 4.2 only, without rpcbind; exported files are in memory.
nfs_serve() {
	at_clean_up "rpc.nfsd 0; exportfs -ua; bg_stop mountd; umount $NFS_EXPORT /proc/fs/nfsd /var/lib/nfs"
	modprobe nfsd
	mkdir -p "$NFS_EXPORT" /var/lib/nfs
	mount -t tmpfs state /var/lib/nfs
	mkdir /var/lib/nfs/v4recovery
	touch /var/lib/nfs/etab
	mount -t nfsd nfsd /proc/fs/nfsd
	mount -t tmpfs export "$NFS_EXPORT"
	exportfs -i -o rw,no_root_squash,insecure,fsid=0 "*:$NFS_EXPORT"
	bg_start mountd "rpc.mountd --foreground --no-nfs-version 2 --no-nfs-version 3"
	rpc.nfsd --no-nfs-version 3 --grace-time 10 "--${STORAGE_OVER/tcp/port}=$1" 2
	# End the server's grace period, since no client has state to reclaim. A kernel that keeps no list of clients
	# refuses this write.
	(echo Y >/proc/fs/nfsd/v4_end_grace) 2>/dev/null || true
	poll 20 "${STORAGE_OVER}_listens" "$1"
}

nfs_serve_end() {
	rpc.nfsd 0
	exportfs -ua
	bg_stop mountd
	umount "$NFS_EXPORT" /proc/fs/nfsd /var/lib/nfs
}

# nfs_mount ADDRESS PORT
nfs_mount() {
	at_clean_up "umount -f $NFS_MOUNT"
	mkdir -p "$NFS_MOUNT"
	case $1 in
	*:*) mount.nfs "[$1]:/" "$NFS_MOUNT" -o "vers=4.2,proto=${STORAGE_OVER}6,port=$2" ;;
	*) mount.nfs "$1:/" "$NFS_MOUNT" -o "vers=4.2,proto=$STORAGE_OVER,port=$2" ;;
	esac
	grep " $NFS_MOUNT nfs4 .*proto=$STORAGE_OVER" /proc/mounts
}

# nfs_read FILE: drop caches before, so that the data comes from the server.
nfs_read() {
	echo 3 >/proc/sys/vm/drop_caches
	cat "$NFS_MOUNT/$1"
}
