/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _FUZZ_UNALIGNED_H
#define _FUZZ_UNALIGNED_H

#include "shim.h"

static inline u16 get_unaligned_be16(const void *p)
{
	u16 n;

	memcpy(&n, p, sizeof(n));
	return be16toh(n);
}

static inline u32 get_unaligned_be32(const void *p)
{
	u32 n;

	memcpy(&n, p, sizeof(n));
	return be32toh(n);
}

static inline u64 get_unaligned_be64(const void *p)
{
	u64 n;

	memcpy(&n, p, sizeof(n));
	return be64toh(n);
}

static inline void put_unaligned_be16(u16 n, void *p)
{
	n = htobe16(n);
	memcpy(p, &n, sizeof(n));
}

static inline void put_unaligned_be32(u32 n, void *p)
{
	n = htobe32(n);
	memcpy(p, &n, sizeof(n));
}

static inline void put_unaligned_be64(u64 n, void *p)
{
	n = htobe64(n);
	memcpy(p, &n, sizeof(n));
}

#endif /* _FUZZ_UNALIGNED_H */
