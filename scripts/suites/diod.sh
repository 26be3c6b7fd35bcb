# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="9P over RDMA: diod, built with its transport for RDMA, and the kernel's client"
SOURCE="https://github.com/chaos/diod.git de51d1ee1bd5ccf1d8c16b96227c8bb03ec50106"
PACKAGES="autoconf automake libtool libibverbs-dev librdmacm-dev"
SAMPLED=.

groups() { printf '%s\n' file tree; }

# configure.ac takes the version from git, which this folder lacks.
build() {
	sed -i 's/m4_esyscmd(\[git describe[^]]*\])/[1.1.0]/' configure.ac
	./autogen.sh
	./configure --enable-rdma --disable-{auth,config,multiuser,diodmount}
	make -j "$(nproc)"
}

MOUNT=/run/9p EXPORT=/run/export
# diod has no option for another RDMA port.
DIOD_PORT=5640

mounts() {
	on "$CLIENT" "mkdir -p $MOUNT; at_clean_up 'umount $MOUNT; modprobe -r 9pnet_rdma'; modprobe 9pnet_rdma
		mount -i -t 9p -o 'trans=rdma,port=$DIOD_PORT,aname=$EXPORT,version=9p2000.L,access=any,uname=root,msize=65536' \
			$SERVER_IP $MOUNT"
}

unmounts() { on "$CLIENT" "umount $MOUNT"; }

# Checksum of a file's data, or of names, data, modes and links of a tree
sum() {
	case $VARIANT in
	file) on "$1" "sha256sum <$2/it" ;;
	tree) on "$1" "cd $2/it && find . -printf '%P %m %y %l\n' | sort | sha256sum
		find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum" ;;
	esac
}

make_it() {
	case $VARIANT in
	file) on "$CLIENT" "head -c 4M /dev/urandom >/run/it" ;;
	tree)
		on "$CLIENT" "mkdir /run/it; cp -r /etc/init.d /etc/security /run/it
			ln -s init.d /run/it/link; chmod 700 /run/it/init.d/*"
		;;
	esac
}

check() {
	local want before

	on "$SERVER" "mkdir -p $EXPORT"
	guest_serve "$SERVER" server "$DIOD_PORT" \
		"/host$BUILT/src/cmd/diod -f -n -N -u 0 -l 127.0.0.1:$PORT -e $EXPORT"
	make_it
	want=$(sum "$CLIENT" /run)
	before=$(bytes_moved)
	mounts
	on "$CLIENT" "cp -r /run/it $MOUNT"
	[[ $(sum "$SERVER" "$EXPORT") == "$want" ]] || fail "the server does not have what was written"
	unmounts
	mounts
	[[ $(sum "$CLIENT" "$MOUNT") == "$want" ]] || fail "the client reads something else"
	[[ $VARIANT != file || $(bytes_moved) -ge $((before + (8 << 20))) ]] || fail "less than 8 MiB went"
	on "$CLIENT" "rm -r $MOUNT/it /run/it"
	unmounts
	on "$SERVER" "test -z \"\$(ls -A $EXPORT)\""
	guest_stop "$SERVER" server
	on "$CLIENT" "modprobe -r 9pnet_rdma"
}
