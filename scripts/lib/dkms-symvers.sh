#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# dkms.conf calls this after a build, to keep in FOLDER the list of symbols that iw_mpa exports (Module.symvers),
# against which other drivers are built (iw_mpa_driver.rst). Since version 3.1 dkms keeps the list itself. dkms removes
# FOLDER together with the modules.
#
#   scripts/lib/dkms-symvers.sh FOLDER

set -eu
install -m 644 Module.symvers "$1"
