/* SPDX-License-Identifier: GPL-2.0 */
/* What the layers under test use of the kernel's headers, for user space: byte order, CRC32c etc. */
#ifndef _FUZZ_SHIM_H
#define _FUZZ_SHIM_H

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8, __u8;
typedef uint16_t u16, __be16;
typedef int16_t s16;
typedef uint32_t u32, __be32, __le32;
typedef uint64_t u64, __be64;

#define BIT(n)			(1UL << (n))
#define EXPORT_SYMBOL_GPL(name)	_Static_assert(1, #name)
#define BUILD_BUG_ON(cond)	_Static_assert(!(cond), #cond)
#define __packed		__attribute__((packed))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define max_t(t, a, b)		max((t)(a), (t)(b))
#define min_t(t, a, b)		min((t)(a), (t)(b))
#define U8_MAX			UINT8_MAX
#define U32_MAX			UINT32_MAX

#define be16_to_cpu		be16toh
#define be32_to_cpu		be32toh
#define be64_to_cpu		be64toh
#define cpu_to_be16		htobe16
#define cpu_to_be32		htobe32
#define cpu_to_be64		htobe64
#define cpu_to_le32		htole32

static inline u32 crc32c(u32 crc, const void *data, unsigned int len)
{
	const u8 *p = data;
	int i;

	for (; len; len--) {
		crc ^= *p++;
		for (i = 0; i < 8; i++)
			crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return crc;
}

#endif /* _FUZZ_SHIM_H */
