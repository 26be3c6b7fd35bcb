#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What dkms.conf calls after a build: keep the list of what iw_mpa exports, which drivers of other sources are built
# against (iw_mpa_driver.rst), in FOLDER, which dkms removes with the modules. dkms itself keeps only these, before its version 3.1.
#
#   scripts/lib/dkms-symvers.sh FOLDER

set -eu
install -m 644 Module.symvers "$1"
