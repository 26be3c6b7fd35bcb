#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# make uninstall: remove what "make install" and "make install-dev" have put below /, or below INSTALL_MOD_PATH: the
# modules for each kernel, or only for KREL; and when the modules for the last kernel go, also the files that all
# kernels share. Loaded modules stay loaded.

KRELS=${KREL:-*}
# shellcheck disable=SC2034 # for kernel.sh
NO_KERNEL=y
# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/lib.sh"

remove() {
	[[ -e $1 ]] || return 0
	rm -rf "$1" 2>/dev/null || die "no permission to remove $1: as root, please"
	say "removed $1"
}

# any_left ROOT: does any kernel still have modules of iw_mpa, so that the command iw-mpa is needed?
any_left() {
	local module

	for module in "${ALL_MODULES[@]}"; do
		! compgen -G "$1/lib/modules/*/updates/$module.ko" >/dev/null || return 0
	done
	return 1
}

main() {
	local root=${INSTALL_MOD_PATH:-} updates module changed krel file

	# shellcheck disable=SC2231 # a pattern is what it is
	for updates in "$root"/lib/modules/$KRELS/updates; do
		changed=no
		for module in "${ALL_MODULES[@]}"; do
			[[ -e $updates/$module.ko ]] || continue
			remove "$updates/$module.ko"
			changed=yes
		done
		[[ $changed == yes ]] || continue
		krel=$(basename "${updates%/updates}")
		remove "$root/usr/local/share/iw-mpa/symvers/$krel"
		# If /lib/modules/KREL has no modules.order, that kernel has been removed: then
		# remove the folder KREL/updates, and KREL, unless files are left in them.
		if [[ -e ${updates%/updates}/modules.order ]]; then
			depmod -b "${root:-/}" "$krel"
		else
			rmdir "$updates" "${updates%/updates}" 2>/dev/null || true
		fi
	done
	! any_left "$root" || return 0
	for file in sbin/iw-mpa {bin/,share/man/man1/}iw-mpa-{judge,new-driver}{,.1} share/iw-mpa; do
		remove "$root/usr/local/$file"
	done
}

main "$@"
