# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="Connectathon's tests of file systems, cthon04, over each version of NFS by RDMA"
SOURCE="https://github.com/phdeniel/cthon04.git 3857ed3cb1e2292065d6a7f6623b0fa2398eaaa7"
PACKAGES="libwrap0 groff-base time"
UNPACKED=rpcbind
SAMPLED='^(basic/(3|4\.1)|lock/(4\.0|4\.2))$'
KIT=nfs

# The part after the slash is the version of NFS.
groups() { printf '%s\n' {basic,general,special,lock}/{4.2,4.1,4.0,3}; }

# cthon04 is old C, with functions that declare no types, so it is compiled as gnu89.
build() {
	local folder

	for folder in basic special lock; do
		make -C "$folder" CC='cc -std=gnu89 -w'
	done
}

STATE=/run/statd
MOUNTD=20048

# NFS 3 has a protocol of its own for locks, which goes over TCP. At both ends it needs rpcbind and statd, which tells
# the other host after a crash. rpcbind runs as the user _rpc, who is in no guest.
prepare_locks() {
	inside "$1" "at_clean_up 'rm -rf $STATE'
		mkdir -p $STATE/sm $STATE/sm.bak
		grep -q ^_rpc: /etc/passwd || echo _rpc:x:65533:65534::/run/rpcbind:/bin/false >>/etc/passwd
		bg_start rpcbind '/host$BUILT/sbin/rpcbind -f'
		poll 20 tcp_listens 111
		bg_start statd 'rpc.statd --foreground --no-notify --state-directory-path $STATE'
		poll 20 /host$BUILT/usr/bin/rpcinfo -t 127.0.0.1 100024" 240
}

# nfs_serve leaves version 3 out, so start mountd and nfsd again. Also end the time for which lockd waits for clients of
# before.
serve_3() {
	in_both prepare_locks
	inside "$SERVER" "rpc.nfsd 0
		bg_stop mountd
		touch /var/lib/nfs/rmtab
		bg_start mountd 'rpc.mountd --foreground --port $MOUNTD'
		poll 20 tcp_listens $MOUNTD
		rpc.nfsd --grace-time 10 --rdma=$PORT 2
		poll 20 rdma_listens $PORT
		echo Y >/proc/fs/lockd/nlm_end_grace" 240
}

# mounts VERSION
mounts() {
	local from=/ more=''

	[[ $1 != 3 ]] || from="\$NFS_EXPORT" more=",mountproto=tcp,mountport=$MOUNTD"
	inside "$CLIENT" "at_clean_up \"umount -f \$NFS_MOUNT\"
		mkdir -p \$NFS_MOUNT
		mount.nfs $SERVER_IP:$from \$NFS_MOUNT -o vers=$1,proto=rdma,port=$PORT$more
		grep \" \$NFS_MOUNT nfs4\\? .*vers=$1,.*proto=rdma\" /proc/mounts" 240
}

check() {
	local before test=${VARIANT%/*} version=${VARIANT#*/}

	inside "$SERVER" "nfs_serve $PORT" 240
	[[ $version != 3 ]] || serve_3
	mounts "$version"
	before=$(bytes_moved)
	# "-f" is "a quick functionality test". The tests in "general" compile and format files; they do not know it.
	expect_text "$(client "cd /host$BUILT/$test && NFSTESTDIR=/run/nfs/test sh runtests -f" 1800)" \
		'^(Congratulations, you passed the (basic|locking) tests!|(Special|General) tests complete)$'
	[[ $(bytes_moved) -ge $((before + 10000)) ]] || fail 'nothing went'
	inside "$CLIENT" "umount \$NFS_MOUNT"
	inside "$SERVER" "nfs_serve_end"
}
