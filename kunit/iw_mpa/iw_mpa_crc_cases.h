/* SPDX-License-Identifier: GPL-2.0 */
/* Cases for both roles: whether a Request or Reply has C set, by device and net.iw_mpa.crc */
#ifndef _IW_MPA_CRC_CASES_H
#define _IW_MPA_CRC_CASES_H

#include <kunit/test.h>
#include <linux/string.h>
#include <rdma/iw_mpa.h>

static const struct crc_case {
	const char	*desc;		/* name of the case */
	/* capabilities of the device, besides those of every fake device */
	u32		caps;
	u8		setting;	/* value of net.iw_mpa.crc */
	bool		asked;		/* expected: C is set */
} crc_cases[] = {
	{ "on", IW_MPA_CAP_NO_CRC, 1, true },
	{ "off", IW_MPA_CAP_NO_CRC, 0, false },
	{ "off_and_the_device_cannot_do_without", 0, 0, true },
};

KUNIT_ARRAY_PARAM_DESC(crc, crc_cases, desc);

#endif /* _IW_MPA_CRC_CASES_H */
