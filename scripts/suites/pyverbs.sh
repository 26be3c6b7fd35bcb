# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="rdma-core's tests in Python that 245-pyverbs.sh does not run: Debian's python3-pyverbs"
SAMPLED='^test_(cqex|fork|relaxed_ordering|shared_pd)$'

# Tests of mlx5 and EFA are left out: they test the libraries of these providers, and need their cards.
groups() {
	printf 'test_%s\n' addr atomic cqex cuda_dmabuf flow fork odp parent_domain qpex relaxed_ordering \
		rss_traffic shared_pd tag_matching
}

huge_pages() { on "$CLIENT" "echo $1 >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"; }

# Both ends of each test are on one host. Some tests need huge pages.
check() {
	huge_pages 8
	client "python3 /host$TOP/scripts/lib/guest/pyverbs.py /host$CACHE/tools siw0 eth0 inet - $VARIANT" 300
	huge_pages 0
}
