# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="Connectathon's tests of file systems, cthon04, over NFS 4.2 by RDMA"
SOURCE="https://github.com/phdeniel/cthon04.git 3857ed3cb1e2292065d6a7f6623b0fa2398eaaa7"
SAMPLED='^(basic|lock)$'
KIT=nfs

groups() { printf '%s\n' basic special lock; }

# cthon04 is old C, with functions that declare no types, so it is compiled as gnu89.
build() {
	local folder

	for folder in basic special lock; do
		make -C "$folder" CC='cc -std=gnu89 -w'
	done
}

check() {
	local before

	inside "$SERVER" "nfs_serve $PORT"
	inside "$CLIENT" "nfs_mount $SERVER_IP $PORT"
	before=$(bytes_moved)
	# "-f" is "a quick functionality test".
	expect_text "$(client "cd /host$BUILT/$VARIANT && NFSTESTDIR=/run/nfs/test sh runtests -f" 580)" \
		'^(Congratulations, you passed the (basic|locking) tests!|Special tests complete)$'
	[[ $(bytes_moved) -ge $((before + 10000)) ]] || fail 'nothing went'
	inside "$CLIENT" "umount \$NFS_MOUNT"
	inside "$SERVER" "nfs_serve_end"
}
