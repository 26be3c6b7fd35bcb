/* SPDX-License-Identifier: GPL-2.0 */
/* Whether an end asks for CRC: by its device and its setting, in either role */
#ifndef _IW_MPA_CRC_CASES_H
#define _IW_MPA_CRC_CASES_H

#include <kunit/test.h>
#include <linux/string.h>
#include <rdma/iw_mpa.h>

/**
 * struct crc_case - a device, a setting, and what is to follow
 * @desc: in words
 * @caps: what the device can do, besides what the fake one can
 * @setting: net.iw_mpa.crc
 * @asked: the frame asks for CRC
 */
struct crc_case {
	const char	*desc;
	u32		caps;
	u8		setting;
	bool		asked;
};

static const struct crc_case crc_cases[] = {
	{ "on", IW_MPA_CAP_NO_CRC, 1, true },
	{ "off", IW_MPA_CAP_NO_CRC, 0, false },
	{ "off_and_the_device_cannot_do_without", 0, 0, true },
};

static void crc_desc(const struct crc_case *c, char *desc)
{
	strscpy(desc, c->desc, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(crc, crc_cases, crc_desc);

#endif /* _IW_MPA_CRC_CASES_H */
