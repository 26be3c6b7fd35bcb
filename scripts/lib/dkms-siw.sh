#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# dkms.conf calls this if /etc/dkms/iw_mpa-siw exists: this copies siw's sources for siw_mpa.
#
#   scripts/lib/dkms-siw.sh RELEASE VERSION    before a build of our VERSION: copy them, or say what to install
#   scripts/lib/dkms-siw.sh --check RELEASE    print nothing; succeed if they are there for this kernel
#
# dkms may run without a home folder, so sources are unpacked in dkms's build folder, which it deletes.

set -euo pipefail
unset -v CDPATH
cd "$(dirname "$0")/../.."
export IW_MPA_CACHE=${IW_MPA_CACHE:-$PWD}

stage() { env -u KERNEL KREL="$1" scripts/lib/stage-siw.sh "${@:2}"; }

left_out() {
	cat <<-END
	iw_mpa: siw_mpa is LEFT OUT for $1, only iw_mpa and srnic are built:
	    $2
	    Then: dkms unbuild iw_mpa/$3 -k $1 && dkms install iw_mpa/$3 -k $1
	END
}

main() {
	local message

	if [[ $1 == --check ]]; then
		stage "$2" --check >/dev/null 2>&1
		return
	fi
	if ! message=$(stage "$1" --check 2>&1); then
		# The message has to be in make.log, too: dkms keeps no other output.
		left_out "$1" "$message" "$2" | tee -a make.log
		return
	fi
	stage "$1" drivers/infiniband/sw/siw_mpa/siw siw_cm.c siw_cm.h Makefile Kconfig
}

main "$@"
