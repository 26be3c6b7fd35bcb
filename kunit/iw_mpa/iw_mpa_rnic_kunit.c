// SPDX-License-Identifier: GPL-2.0
/* iw_mpa's list of registered devices. */

#include "device.h"

#include <kunit/test.h>
#include <rdma/ib_verbs.h>

struct rnic_look {
	int	count;
	int	err;	/* result of the call for the second device */
};

static int rnic_count(struct iw_mpa_device *dev, void *arg)
{
	struct rnic_look *look = arg;

	return ++look->count == 2 ? look->err : 0;
}

/* iw_mpa_device_for_each() visits each device once, stops at an error, and unlocks its mutex. */
static void rnic_list_of_devices(struct kunit *test)
{
	static struct ib_device ib[3];
	static struct iw_mpa_device dev[3];
	struct rnic_look look = {};
	int i, more;

	KUNIT_EXPECT_EQ(test, iw_mpa_device_for_each(rnic_count, &look), 0);
	more = look.count;
	for (i = 0; i < 3; i++) {
		dev[i].ibdev = &ib[i];
		KUNIT_EXPECT_EQ(test, iw_mpa_device_add(&dev[i]), 0);
		KUNIT_EXPECT_EQ(test, iw_mpa_device_add(&dev[i]), -EEXIST);
	}
	look = (struct rnic_look) {};
	KUNIT_EXPECT_EQ(test, iw_mpa_device_for_each(rnic_count, &look), 0);
	KUNIT_EXPECT_EQ(test, look.count, more + 3);
	look = (struct rnic_look) { .err = -EINTR };
	KUNIT_EXPECT_EQ(test, iw_mpa_device_for_each(rnic_count, &look), -EINTR);
	KUNIT_EXPECT_EQ(test, look.count, 2);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_PTR_EQ(test, iw_mpa_device_remove(&ib[i]), &dev[i]);
		KUNIT_EXPECT_PTR_EQ(test, iw_mpa_device_remove(&ib[i]), NULL);
	}
	look = (struct rnic_look) {};
	KUNIT_EXPECT_EQ(test, iw_mpa_device_for_each(rnic_count, &look), 0);
	KUNIT_EXPECT_EQ(test, look.count, more);
}

static struct kunit_case rnic_cases[] = {
	KUNIT_CASE(rnic_list_of_devices),
	{}
};

static struct kunit_suite rnic_suite = {
	.name = "iw_mpa_rnic",
	.test_cases = rnic_cases,
};

kunit_test_suite(rnic_suite);
