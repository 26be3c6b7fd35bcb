// SPDX-License-Identifier: GPL-2.0
/* All other suites need a kernel with a correct crc32c(), and without the RDMA core. */

#include <kunit/test.h>
#include <linux/crc32c.h>
#include <linux/kconfig.h>

/*
 * The CRC of 32 zero bytes in RFC 3720 B.4, which lists it as it is sent, least significant byte
 * first.
 */
static void crc32c_rfc3720_b4_zeroes_matches(struct kunit *test)
{
	static const u8 zeroes[32];

	KUNIT_EXPECT_EQ(test, ~crc32c(~0, zeroes, sizeof(zeroes)), 0x8a9136aaU);
}

/* These suites replace functions of the RDMA core, so the kernel must not have it. */
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
