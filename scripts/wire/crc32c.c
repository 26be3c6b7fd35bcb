// SPDX-License-Identifier: GPL-2.0
/* CRC32c for fpdu.py, in C for speed; not the drivers' code, whose mistakes the tests must find. */

#include <stddef.h>
#include <stdint.h>

#define POLYNOMIAL 0x82f63b78

static uint32_t table[256];

static void __attribute__((constructor)) make_table(void)
{
	uint32_t i, value;
	int bit;

	for (i = 0; i < 256; i++) {
		value = i;
		for (bit = 0; bit < 8; bit++)
			value = value >> 1 ^ (value & 1 ? POLYNOMIAL : 0);
		table[i] = value;
	}
}

uint32_t crc32c(const uint8_t *data, size_t size)
{
	uint32_t crc = ~0u;

	while (size--)
		crc = crc >> 8 ^ table[(crc ^ *data++) & 0xff];
	return ~crc;
}
