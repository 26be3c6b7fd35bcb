#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The patches for iw_cm and rdma_cm at work. Those patches of scripts/test/series that change the
# RDMA core are applied to the sources of Debian's kernel 6.12, and guests get these two modules in
# place of their own. The guests run siw as it is; and iw_mpa and srnic as the series has them,
# without iwcm_faults.c.
#
#   scripts/test/patched.sh                                     e2e --sample
#   scripts/test/patched.sh [--faults] e2e|wire ARGUMENT...     other tests, as scripts/e2e.sh and wire.sh take them
#
# With --faults iw_mpa and srnic are this tree's: iwcm_faults.c works around faults that iw_cm no
# longer has. So it is on a host that builds this tree's modules for a stable kernel with the patches.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"

# shellcheck source=scripts/test/series/compose.sh
. "$TOP/scripts/test/series/compose.sh"

NAME=6.12
WORK=$CACHE/patched
CORE=$WORK/core		# iw_cm.ko and rdma_cm.ko
NEW=$WORK/new		# our files as the kernel tree has them: see compose.sh
TREE=$WORK/tree		# a copy of this tree with the files of NEW
OWN=$WORK/cache		# cache of TREE: has its own image for guests, and links to folders of this cache
KEPT='apt debian root tools'	# names of these folders
FAULTS=		# yes: --faults was given

patches() { grep -l '^+++ b/drivers/infiniband/core/' "$TOP"/scripts/test/series/iw_mpa/*.diff; }

# Only iw_cm and rdma_cm are built again. Other modules import their symbols, and the kernel
# compares checksums (CRCs) of the types. The patches only add two members at the end of struct
# iw_cm_id. The kernel's other modules do not use these members, so they are hidden from genksyms,
# and the checksums stay the same.
hide_from_checksums() {
	sed -i -e '/^struct net;$/ { s/^/#ifndef __GENKSYMS__\n/; s/$/\n#endif/ }' \
		-e '/^	struct net \*net;$/ s/^/#ifndef __GENKSYMS__\n/; /^	int bound_dev_if;/ s/$/\n#endif/' "$1"
	[[ $(grep -c '__GENKSYMS__' "$1") -eq 2 ]] || die "$1 is not as the patches make it"
}

build_core() {
	local patch

	rm -rf "$CORE"
	mkdir -p "$CORE"
	tar -xJf "$KTARBALL" -C "$CORE" --strip-components=1 --wildcards '*/drivers/infiniband/core/*' '*/include/rdma/iw_cm.h'
	for patch in $(patches); do
		(cd "$CORE" && GIT_CEILING_DIRECTORIES=$WORK git apply --recount "$patch")
	done
	hide_from_checksums "$CORE/include/rdma/iw_cm.h"
	# shellcheck disable=SC2016 # of make
	printf '%s\n' 'LINUXINCLUDE := -I$(src)/../../../include $(LINUXINCLUDE)' 'obj-m := iw_cm.o rdma_cm.o' \
		'iw_cm-y := iwcm.o iwpm_util.o iwpm_msg.o' 'rdma_cm-y := cma.o cma_trace.o' \
		'rdma_cm-$(CONFIG_INFINIBAND_ADDR_TRANS_CONFIGFS) += cma_configfs.o' \
		'CFLAGS_cma_trace.o += -I$(src)' >"$CORE/drivers/infiniband/core/Makefile"
	kernel_make M="$CORE/drivers/infiniband/core" KCFLAGS=-Werror modules
}

make_tree() {
	local ours=$TREE/drivers/infiniband/sw

	mkdir -p "$TREE"
	rsync -a --delete --exclude=/.git "$TOP/" "$TREE/"
	rm -r "$ours/siw_mpa"
	if [[ -z $FAULTS ]]; then
		compose
		rm "$ours/iw_mpa/iwcm_faults.c"
		(cd "$NEW" && cp --parents -t "$TREE" $SW/{iw_mpa,srnic}/Makefile \
			$SW/{iw_mpa{,/takeover},srnic}/*.[ch] include/rdma/*)
	fi
	# The compiler finds this header before the kernel's, which lacks the patches.
	install -D -m 644 -t "$ours/compat/rdma" "$CORE/include/rdma/iw_cm.h"
}

# make_cache IMAGE: make the image that the guests boot, with the patched modules
make_cache() {
	local name own=$OWN/guest/${1##*/} core

	rm -rf "$OWN/guest"
	mkdir -p "$OWN/guest"
	for name in $KEPT; do
		[[ ! -e $CACHE/$name ]] || ln -sfnT "$CACHE/$name" "$OWN/$name"
	done
	cp -al "$1" "$own"
	core=$own/lib/modules/$KREL/kernel/drivers/infiniband/core
	rm "$core"/{iw_cm,rdma_cm}.ko*
	strip -g -o "$core/iw_cm.ko" "$CORE/drivers/infiniband/core/iw_cm.ko"
	strip -g -o "$core/rdma_cm.ko" "$CORE/drivers/infiniband/core/rdma_cm.ko"
	depmod -b "$own" "$KREL"
}

prepare() {
	local image

	"$TOP/scripts/lib/setup.sh" build series guest "$NAME"
	need_kernel "$NAME"
	image=$("$TOP/scripts/lib/guest/image.sh" "$NAME")
	quietly "patching iw_cm and rdma_cm of $KREL" build_core
	make_tree
	make_cache "$image"
}

suite() {
	prepare
	tap_start "$NAME patched${FAULTS:+ --faults}" "$1" \
		env IW_MPA_CACHE="$OWN" KREL= KERNEL="$NAME" KERNELS= "$TREE/scripts/$1.sh" "${@:2}"
	tap_finish
	tap_end patched
}

main() {
	[[ $# -gt 0 ]] || set -- e2e --sample
	if [[ $1 == --faults ]]; then
		FAULTS=yes
		shift
	fi
	[[ ${1:-} == @(e2e|wire) ]] || die 'usage: patched.sh [[--faults] e2e|wire ARGUMENT...]'
	need_space 6000
	locked patched suite "$@"
}

main "$@"
