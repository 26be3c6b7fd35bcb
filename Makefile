# SPDX-License-Identifier: GPL-2.0
#
# For people: every target calls one script. Kbuild is the kernel's side.

.PHONY: help modules install install-dev uninstall clean setup check static kunit fuzz wire soak interop e2e takeover dkms debug bench clock demo
.PHONY: check-all deb release package series patched refusals usage mutate suites device random

export T

help:
	@echo 'make demo      two hosts, real RDMA programs, and what they negotiated'
	@echo 'make check     fuzz, and a sample of static, kunit, wire, interop, bench, e2e and takeover'
	@echo 'make check-all what takes too long for make check, on more kernels: most of a day; PART=N/M: one part of M'
	@echo 'make modules   build iw_mpa.ko and srnic.ko for KREL (default: the kernel that runs)'
	@echo 'make install   the same, then put them below /lib/modules/KREL/updates; IW_MPA_SIW=y: siw_mpa, too'
	@echo 'make install-dev the same, and what authors of drivers build with: headers, driver.mk, skeleton, judge'
	@echo 'make uninstall remove what these have put there, for each kernel or for KREL'
	@echo 'make static    compiler warnings, sparse, checkpatch, kernel-doc, layers, style'
	@echo 'make kunit     unit tests on user mode Linux'
	@echo 'make fuzz      the protocol layer under libFuzzer, T=seconds (default 10)'
	@echo 'make wire      conformance: scripted peers, by rule: MPA startup, and the data path'
	@echo 'make device    wire over a device of another host, over ssh: two guests'
	@echo 'make soak      life-cycle storms and hostile load by the thousand; DEBUG=kasan is a choice'
	@echo 'make random    random system calls by a seed, under KASAN and lockdep'
	@echo 'make mutate    small faults made in the sources: do the tests find each of them?'
	@echo 'make interop   srnic against siw of 6.1 and 6.12, all settings: a table'
	@echo 'make e2e       end-to-end tests in guests that run the stock kernel'
	@echo 'make suites    suites that others wrote, for storage, MPI and the verbs; SUITE=name'
	@echo 'make takeover  TCP connections that leave the host for hardware, which is a second TCP'
	@echo 'make dkms      dkms.conf on 6.1 and 6.12: add, build, install, load, rping, remove'
	@echo 'make deb       the Debian packages iw-mpa-dkms, and iw-mpa-dev for authors of drivers'
	@echo 'make release   what a release page carries: these packages, RPMs, the sources, notes, checksums'
	@echo 'make package   the Debian package in guests: install, boot, use, upgrade, purge'
	@echo 'make series    the tree as patches for the newest kernel tree, and what proves them'
	@echo 'make patched   the patches for iw_cm and rdma_cm at work: end-to-end tests of a 6.12 that has them'
	@echo 'make refusals  what cannot be done fails with a one-line message: no root, no space, no network'
	@echo 'make usage     what make and the scripts offer, and no other suite runs, in a short form'
	@echo 'make debug     wire and e2e under a kernel with KASAN and lockdep; DEBUG=kasan|kcsan for each'
	@echo 'make bench     what connections cost in instructions, next to unmodified siw and bare TCP'
	@echo 'make clock     NVMe over srnic beside NVMe/TCP by the clock, in a kernel that is a process of the host'
	@echo 'make setup     install the Debian packages that make check and make dkms need (they do it, too)'
	@echo 'make clean     remove everything that was built: the cache outside the tree'

modules install install-dev: export ANY_KERNEL = y
modules:
	@scripts/lib/setup.sh modules
	@scripts/lib/build.sh modules

install install-dev:
	@scripts/lib/setup.sh modules
	@scripts/lib/build.sh $@

setup:
	@scripts/lib/setup.sh

check-all:
	@scripts/check.sh --all $(if $(PART),--part $(PART))

check static kunit wire e2e series bench mutate:
	@scripts/$@.sh

fuzz soak random interop takeover suites device dkms package patched refusals usage debug clock demo:
	@scripts/test/$@.sh

uninstall deb release:
	@scripts/lib/$@.sh

clean:
	@KERNEL=6.1 KERNELS= bash -c '. scripts/lib/lib.sh; clean_cache'
