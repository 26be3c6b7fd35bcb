// SPDX-License-Identifier: GPL-2.0
/* All other suites need a kernel whose crc32c() is correct, and which is without the RDMA core. */

#include <kunit/test.h>
#include <linux/crc32c.h>
#include <linux/kconfig.h>

/*
 * The CRC32c of 32 zero bytes is a test vector of RFC 3720 B.4. The RFC lists the four bytes of the
 * CRC in the order in which they are sent, least significant byte first: aa 36 91 8a.
 */
static void crc32c_rfc3720_b4_zeroes_matches(struct kunit *test)
{
	static const u8 zeroes[32];

	KUNIT_EXPECT_EQ(test, ~crc32c(~0, zeroes, sizeof(zeroes)), 0x8a9136aaU);
}

/* The other suites define functions of the RDMA core, so CONFIG_INFINIBAND must be off. */
static void kernel_without_infiniband_is_used(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, IS_ENABLED(CONFIG_INFINIBAND));
	KUNIT_EXPECT_EQ(test, IS_ENABLED(CONFIG_NET), IS_ENABLED(CONFIG_IW_MPA));
}

static struct kunit_case build_cases[] = {
	KUNIT_CASE(crc32c_rfc3720_b4_zeroes_matches),
	KUNIT_CASE(kernel_without_infiniband_is_used),
	{}
};

static struct kunit_suite build_suite = {
	.name = "iw_mpa_build",
	.test_cases = build_cases,
};

kunit_test_suite(build_suite);
