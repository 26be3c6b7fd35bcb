/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_KUNIT_TEST_H
#define _COMPAT_KUNIT_TEST_H

#include_next <kunit/test.h>

/* Older kernels lack KUNIT_ARRAY_PARAM_DESC(): build it from KUNIT_ARRAY_PARAM(). */
#ifndef KUNIT_ARRAY_PARAM_DESC
#define KUNIT_ARRAY_PARAM_DESC(name, array, member)				\
	static void name##_param_desc(typeof(&(array)[0]) param, char *desc)	\
	{									\
		strscpy(desc, (*param).member, KUNIT_PARAM_DESC_SIZE);		\
	}									\
	KUNIT_ARRAY_PARAM(name, array, name##_param_desc)
#endif

#endif /* _COMPAT_KUNIT_TEST_H */
