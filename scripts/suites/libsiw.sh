# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="libsiw with the patches of scripts/rdma-core, for Debian 12 and 13, beside Debian's own"
SOURCE="https://github.com/linux-rdma/rdma-core.git"
SOURCE+=" bookworm:91392a91eb41affee3bd75dc7d03eb86b4854aea"	# v44.0
SOURCE+=" trixie:45b7e6deffadbd81e6c95bb783926c051a5c0fa8"	# v56.1
BUILT_OF="scripts/suites/libsiw_probe.c scripts/rdma-core/*.patch"
PACKAGES="cmake pkg-config patch libnl-route-3-dev"
SAMPLED=.

# Each group is LIBRARY/TEST: TEST is a command of libsiw_probe. LIBRARY is "stock" for the libsiw
# that is installed, or a release of Debian for its libsiw with the patches of scripts/rdma-core.
groups() { printf '%s\n' {stock,bookworm,trixie}/{send-inv,query-srq,with-inv}; }

# build_libsiw FOLDER: build libibverbs, and libsiw as its only provider, of the sources in FOLDER
build_libsiw() (
	cd "$1" || return
	cat "$TOP"/scripts/rdma-core/*.patch | patch -p1 --no-backup-if-mismatch --fuzz=0
	cmake -S . -B build -DNO_PYVERBS=1 -DNO_MAN_PAGES=1
	make -C build -j "$(nproc)" siw-rdmav34
)

build() {
	build_libsiw bookworm
	build_libsiw trixie
	gcc -Wall -Wextra -Werror -O2 -o libsiw_probe "$TOP/scripts/suites/libsiw_probe.c" -lrdmacm -libverbs
}

# The interface between libibverbs and libsiw changes with each release, so libsiw of another release needs that
# release's libibverbs.
library() {
	local lib=/host$BUILT/$1/build/lib host=bookworm

	[[ $(host_debian) -eq 12 ]] || host=trixie
	case $1 in
	stock) return ;;
	"$host") ;;
	*) echo "LD_LIBRARY_PATH=$lib" ;;
	esac
	echo "IBV_DRIVERS=$lib/libsiw"
}

probe() { client "env $ENV /host$BUILT/libsiw_probe $*"; }

send_inv() {
	on "$SERVER" "at_clean_up 'bg_stop_all; [[ ! -d /sys/module/kverbs ]] || rmmod kverbs'
		insmod /share/modules/kverbs.ko"
	serve "python3 /host$TOP/scripts/suites/libsiw_peer.py $SERVER_IP $PORT"
	probe send-inv "$SERVER_IP" "$PORT"
	server_ends
}

check() {
	ENV=$(library "${VARIANT%/*}")
	ENV=${ENV//$'\n'/ }
	case ${VARIANT#*/} in
	send-inv) send_inv ;;
	*) probe "${VARIANT#*/}" ;;
	esac
}
