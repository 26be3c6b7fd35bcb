# SPDX-License-Identifier: GPL-2.0
#
# The Kbuild of a driver includes this file: it finds the headers of the installed iw_mpa, and what iw_mpa exports
# to the kernel that the driver is built for. DKMS has built that before the driver, if the driver's dkms.conf says
# BUILD_DEPENDS[0]="iw_mpa".

iw-mpa-symbols := $(wildcard /var/lib/dkms/iw_mpa/@VERSION@/$(KERNELRELEASE)/*/Module.symvers)
ifeq ($(iw-mpa-symbols),)
$(warning iw_mpa @VERSION@ is not built for $(KERNELRELEASE): dkms install iw_mpa/@VERSION@ -k $(KERNELRELEASE))
endif
KBUILD_EXTRA_SYMBOLS += $(iw-mpa-symbols)
ccflags-y += -I/usr/src/iw_mpa-@VERSION@/include
include /usr/src/iw_mpa-@VERSION@/drivers/infiniband/sw/compat/Kbuild.include
