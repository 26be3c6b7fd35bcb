# SPDX-License-Identifier: GPL-2.0
#
# The Kbuild of a driver includes this file, which finds the headers of the installed iw_mpa, and the list of symbols
# that iw_mpa exports in the kernel that the driver is built for. "make install-dev" installs both in the folder of this
# file. If the package iw-mpa-dev is used, DKMS has both: it builds iw_mpa before the driver, if the driver's dkms.conf
# says BUILD_DEPENDS[0]="iw_mpa".

iw-mpa-source := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
ifneq ($(wildcard $(iw-mpa-source)/include),)
iw-mpa-symbols := $(wildcard $(iw-mpa-source)/symvers/$(KERNELRELEASE))
iw-mpa-build := make install-dev KREL=$(KERNELRELEASE)
else
iw-mpa-source := /usr/src/iw_mpa-@VERSION@
iw-mpa-symbols := $(wildcard /var/lib/dkms/iw_mpa/@VERSION@/$(KERNELRELEASE)/*/Module.symvers)
iw-mpa-build := dkms install iw_mpa/@VERSION@ -k $(KERNELRELEASE)
endif
ifeq ($(iw-mpa-symbols),)
$(warning iw_mpa @VERSION@ is not built for $(KERNELRELEASE): $(iw-mpa-build))
endif
KBUILD_EXTRA_SYMBOLS += $(iw-mpa-symbols)
ccflags-y += -I$(iw-mpa-source)/include
include $(iw-mpa-source)/drivers/infiniband/sw/compat/Kbuild.include
