// SPDX-License-Identifier: GPL-2.0
/* Checks of the kernel's options on which every other suite relies. */

#include <kunit/test.h>
#include <linux/crc32c.h>
#include <linux/kconfig.h>

/* RFC 3720 B.4: 32 bytes of zeroes; the CRC goes out least significant byte first. */
static void crc32c_rfc3720_b4_zeroes_matches(struct kunit *test)
{
	static const u8 zeroes[32];

	KUNIT_EXPECT_EQ(test, ~crc32c(~0, zeroes, sizeof(zeroes)), 0x8a9136aaU);
}

/* The suites must not depend on the RDMA core, so the kernel must not have it. */
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
