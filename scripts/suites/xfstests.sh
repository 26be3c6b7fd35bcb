# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="xfstests, tests of its group quick that move data, over NFS 4.2 by RDMA"
SOURCE="https://github.com/kdave/xfstests.git 63a29724a85f1999e49bf0a9bf0d22643b6116e5"
PACKAGES="make gcc libc6-dev autoconf automake libtool xfslibs-dev uuid-dev libacl1-dev libaio-dev xfsprogs bc perl"
UNPACKED="gawk libsigsegv2"
SAMPLED='^copy$'
KIT=nfs

XFS=/run/xfstests

# Each group lists numbers of tests, all of them in xfstests' group "quick". Of the others, some hundreds, most have not
# been tried. Left out are those that take minutes in an emulated guest, as with fsx, and those that NFS does not run,
# as of renameat2() with flags.
declare -A TESTS=(
	[direct]="135 198 210 412 450 591 708"
	[mmap]="029 030 080 141 248 428 443 638 647"
	[holes]="393 436 445 448 490 539"
	[copy]="249 430 432 564 565"
	[names]="023 131 245 309 478 504 637 639"
)

groups() { printf '%s\n' direct mmap holes copy names; }

build() {
	make -j "$(nproc)"
	ln -s gawk usr/bin/awk
	mv usr/lib/*/libsigsegv.so.* usr/lib/
}

# The suite needs two file systems. They are exported from XFS, which can punch holes and share blocks.
serve_disks() {
	inside "$SERVER" "nfs_serve $PORT
		at_clean_up 'rpc.nfsd 0; exportfs -ua; umount $XFS/*.disk; rm -r $XFS'
		modprobe -a loop xfs
		mkdir $XFS
		for name in test scratch; do
			truncate -s 2G $XFS/\$name.disk
			mkfs.xfs -q $XFS/\$name.disk
			mkdir \$NFS_EXPORT/\$name
			mount -o loop,discard $XFS/\$name.disk \$NFS_EXPORT/\$name
		done
		exportfs -i -o rw,no_root_squash,insecure,fsid=1 \"*:\$NFS_EXPORT/test\"
		exportfs -i -o rw,no_root_squash,insecure,fsid=2 \"*:\$NFS_EXPORT/scratch\"" 120
}

serve_disks_end() {
	inside "$SERVER" "rpc.nfsd 0
		exportfs -ua
		umount \$NFS_EXPORT/test \$NFS_EXPORT/scratch
		rm -r $XFS
		nfs_serve_end"
}

# mount looks for mount.nfs only in /sbin.
begin() {
	inside "$CLIENT" "at_clean_up 'umount -f $XFS/test $XFS/scratch'
		mkdir -p $XFS/test $XFS/scratch $XFS/results
		[[ -e /sbin/mount.nfs ]] || ln -s \"\$(type -P mount.nfs)\" /sbin/mount.nfs
		mount -t nfs -o $1 $SERVER_IP:/test $XFS/test
		grep ' $XFS/test nfs4 .*proto=rdma' /proc/mounts"
}

# outcome_of TEST: print "pass", "fail TEXT" or "skip TEXT", from the suite's output; print nothing if the test did not
# run
outcome_of() {
	awk -v name="$1" '$1 == name && /\[not run\]/ { sub(/.*\[not run\] */, ""); print "skip", $0; exit }
		$1 == name && /^[^ ]+ +[0-9]+s *$/ { print "pass"; exit }
		$1 == name { found = 1; $1 = ""; text = $0; next }
		found && !/^ / { exit }
		found { text = text " " $0 }
		END { if (found) print "fail", text }' | tr -s ' \t\n' ' '
}

check() {
	local output status=0 before number outcome options=vers=4.2,proto=rdma,port=$PORT

	serve_disks
	begin "$options"
	before=$(bytes_moved)
	output=$(client "cd /host$BUILT && PATH=/host$BUILT/usr/bin:\$PATH LD_LIBRARY_PATH=/host$BUILT/usr/lib \
		RESULT_BASE=$XFS/results NFS_MOUNT_OPTIONS='-o $options' TEST_DEV=$SERVER_IP:/test TEST_DIR=$XFS/test \
		SCRATCH_DEV=$SERVER_IP:/scratch SCRATCH_MNT=$XFS/scratch \
		./check -nfs generic/${TESTS[$VARIANT]// / generic/}" 1800) || status=$?
	echo "$output"
	[[ $status -le 1 ]] || fail "status $status"
	[[ $(bytes_moved) -ge $((before + 10000)) ]] || fail 'nothing went'
	for number in ${TESTS[$VARIANT]}; do
		outcome=$(outcome_of "generic/$number" <<<"$output")
		outcome=${outcome:-fail it did not run}
		case_is "${outcome%% *}" "generic/$number" "${outcome#* }"
	done
	serve_disks_end
}
