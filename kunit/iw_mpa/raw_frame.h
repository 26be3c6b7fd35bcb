/* SPDX-License-Identifier: GPL-2.0 */
/*
 * MPA Requests and Replies as bytes, valid and malformed, for the suites that test frame.c.
 * raw_alloc() writes each into memory of its exact size, so that KASAN detects a read beyond its
 * end. The name of a table row may begin with a label for a requirement of an RFC: E-6-4 is the
 * fourth requirement of RFC 6581 section 6, M-7.1.1-2 the second one of RFC 5044 section 7.1.1.
 */
#ifndef _RAW_FRAME_H
#define _RAW_FRAME_H

#include <kunit/test.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <rdma/iw_mpa_proto.h>

#define KEY_ROLE_AT	9	/* index of the only byte in which the two keys differ */

#define REQ	"MPA ID Req Frame"
#define REP	"MPA ID Rep Frame"

/* A frame as it is on the wire */
struct raw {
	const char	*key;
	u8		flags;
	u8		rev;
	u16		pd_length;	/* PD_Length of the header */
	u16		pd_octets;	/* number of bytes after the header */
	u16		word0;		/* IRD and ORD words, if @pd_octets is 4 or more */
	u16		word1;
};

static inline u8 raw_pd(size_t i)
{
	return 0x80 + 7 * i;
}

static inline size_t raw_len(const struct raw *raw)
{
	return IW_MPA_HDR_SIZE + raw->pd_octets;
}

static inline void raw_put(const struct raw *raw, u8 *buf)
{
	u8 *pd = buf + IW_MPA_HDR_SIZE;
	size_t i;

	memcpy(buf, raw->key, 16);
	buf[16] = raw->flags;
	buf[17] = raw->rev;
	put_unaligned_be16(raw->pd_length, buf + 18);
	for (i = 0; i < raw->pd_octets; i++)
		pd[i] = raw_pd(i);
	if (raw->pd_octets < 4)
		return;
	put_unaligned_be16(raw->word0, pd);
	put_unaligned_be16(raw->word1, pd + 2);
}

static inline u8 *raw_alloc(struct kunit *test, const struct raw *raw)
{
	u8 *buf = kunit_kmalloc(test, raw_len(raw), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, buf);
	raw_put(raw, buf);
	return buf;
}

/* Well-formed frames */

struct good_row {
	const char		*desc;
	struct raw		raw;
	struct iw_mpa_frame	want;
};

#define V1(...)		{ .rev = 1, __VA_ARGS__ }
#define V2(...)		{ .rev = 2, __VA_ARGS__ }
#define ENH(...)	{ .rev = 2, .enhanced = true, __VA_ARGS__ }
#define P2P(...)	ENH(.p2p = true, .ird = 1, .ord = 2, __VA_ARGS__)

static const struct good_row good_rows[] = {
	{ "M-7.1.1-12_request_v1", { REQ, 0, 1, 0, 0 }, V1() },
	{ "M-7.1.1-12_reply_v1", { REP, 0, 1, 0, 0 }, V1(.reply = true) },
	{ "rfc5044_7_1_1_m_in_request", { REQ, 0x80, 1, 0, 0 }, V1(.markers = true) },
	{ "rfc5044_7_1_1_c_in_request", { REQ, 0x40, 1, 0, 0 }, V1(.crc = true) },
	{ "rfc5044_7_1_1_m_in_reply", { REP, 0x80, 1, 0, 0 }, V1(.reply = true, .markers = true) },
	{ "rfc5044_7_1_1_c_in_reply", { REP, 0x40, 1, 0, 0 }, V1(.reply = true, .crc = true) },
	{ "rfc5044_7_1_1_r_in_reply", { REP, 0x20, 1, 0, 0 }, V1(.reply = true, .reject = true) },
	{ "M-7.1.1-9_r_in_request_not_checked", { REQ, 0x20, 1, 0, 0 }, V1() },
	{ "M-7.1.1-10_res_in_v1_not_checked", { REQ, 0x17, 1, 0, 0 }, V1() },
	{ "M-7.1.1-10_res_in_v1_reply_not_checked", { REP, 0x1b, 1, 3, 3 },
	  V1(.reply = true, .pd_len = 3) },
	{ "M-7.1.1-16_pd_1", { REQ, 0, 1, 1, 1 }, V1(.pd_len = 1) },
	{ "M-7.1.1-16_pd_256", { REQ, 0, 1, 256, 256 }, V1(.pd_len = 256) },
	{ "M-7.1.1-16_pd_511", { REQ, 0, 1, 511, 511 }, V1(.pd_len = 511) },
	{ "M-7.1.1-16_pd_512", { REP, 0, 1, 512, 512 }, V1(.reply = true, .pd_len = 512) },
	{ "E-10-4_v2_without_s", { REQ, 0x40, 2, 0, 0 }, V2(.crc = true) },
	{ "E-10-4_v2_without_s_pd_kept", { REQ, 0, 2, 8, 8 }, V2(.pd_len = 8) },
	{ "E-6-1_res_in_v2_not_checked", { REQ, 0x17, 2, 4, 4 }, ENH() },
	{ "large_in_request", { REQ, 0x08, 1, 0, 0 }, V1(.large_fpdu = true) },
	{ "large_in_reply", { REP, 0x14, 2, 4, 4 }, ENH(.reply = true, .large_fpdu = true) },
	{ "E-6-2_s_in_v1_is_reserved", { REQ, 0x10, 1, 4, 4, 0x8001, 0xc002 },
	  V1(.pd_len = 4) },
	{ "E-6-4_no_ulp_pd", { REQ, 0x10, 2, 4, 4, 5, 6 }, ENH(.ird = 5, .ord = 6) },
	{ "E-6-4_ulp_pd_1", { REP, 0x10, 2, 5, 5, 5, 6 },
	  ENH(.reply = true, .ird = 5, .ord = 6, .pd_len = 1) },
	{ "E-6-4_ulp_pd_252", { REQ, 0x10, 2, 256, 256 }, ENH(.pd_len = 252) },
	{ "E-6-4_ulp_pd_255", { REQ, 0x10, 2, 259, 259 }, ENH(.pd_len = 255) },
	{ "E-6-4_ulp_pd_508", { REQ, 0x10, 2, 512, 512 }, ENH(.pd_len = 508) },
	{ "E-9-1_depths_3ffe", { REQ, 0x10, 2, 4, 4, 0x3ffe, 0x3ffe },
	  ENH(.ird = 0x3ffe, .ord = 0x3ffe) },
	{ "E-9-1_depths_3fff", { REP, 0x10, 2, 4, 4, 0x3fff, 0x3fff },
	  ENH(.reply = true, .ird = 0x3fff, .ord = 0x3fff) },
	{ "rfc6581_9_1_reject_with_depths", { REP, 0x30, 2, 4, 4, 1, 2 },
	  ENH(.reply = true, .reject = true, .ird = 1, .ord = 2) },
	{ "E-9-1_a", { REQ, 0x10, 2, 4, 4, 0x8001, 2 }, P2P() },
	{ "E-9-1_a_b", { REQ, 0x10, 2, 4, 4, 0xc001, 2 }, P2P(.rtr = IW_MPA_RTR_SEND) },
	{ "E-9-1_a_c", { REQ, 0x10, 2, 4, 4, 0x8001, 0x8002 },
	  P2P(.rtr = IW_MPA_RTR_WRITE) },
	{ "E-9-1_a_d", { REQ, 0x10, 2, 4, 4, 0x8001, 0x4002 }, P2P(.rtr = IW_MPA_RTR_READ) },
	{ "E-9-1_a_b_c_d", { REP, 0x10, 2, 4, 4, 0xc001, 0xc002 },
	  P2P(.reply = true, .rtr = IW_MPA_RTR_ALL) },
	{ "E-9.2-13_without_a_bcd_ignored", { REP, 0x10, 2, 4, 4, 0x4001, 0xc002 },
	  ENH(.reply = true, .ird = 1, .ord = 2) },
	{ "E-6-1_all_ones", { REP, 0xff, 2, 4, 4, 0xffff, 0xffff },
	  ENH(.reply = true, .markers = true, .crc = true, .reject = true, .p2p = true,
	      .large_fpdu = true, .rtr = IW_MPA_RTR_ALL, .ird = 0x3fff, .ord = 0x3fff) },
};

KUNIT_ARRAY_PARAM_DESC(good, good_rows, desc);

/* Malformed frames: the header alone shows the error */

static const struct bad_row {
	const char		*desc;
	struct raw		raw;
	bool			reply;
	enum iw_mpa_reason	reason;
} bad_rows[] = {
	{ "M-7.1.1-2_key_first_octet", { "mPA ID Req Frame", 0, 1, 0, 0 }, false,
	  IW_MPA_R_BAD_KEY },
	{ "M-7.1.1-2_key_last_octet", { "MPA ID Req Framf", 0, 1, 0, 0 }, false,
	  IW_MPA_R_BAD_KEY },
	{ "M-7.1.1-2_key_role_octet", { "MPA ID Res Frame", 0, 1, 0, 0 }, false,
	  IW_MPA_R_BAD_KEY },
	{ "M-7.1.1-4_key_of_reply_garbled", { "MPA ID Rep frame", 0, 1, 0, 0 }, true,
	  IW_MPA_R_BAD_KEY },
	{ "M-7.1.1-4_key_zeroes", { "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 0, 1, 0, 0 }, true,
	  IW_MPA_R_BAD_KEY },
	{ "M-7.1.1-2_key_of_http", { "GET / HTTP/1.1\r\n", 0, 1, 0, 0 }, false,
	  IW_MPA_R_BAD_KEY },
	{ "M-7.1.2-14_two_initiators", { REQ, 0, 1, 0, 0 }, true, IW_MPA_R_SAME_ROLE },
	{ "M-7.1.2-14_two_responders", { REP, 0, 1, 0, 0 }, false, IW_MPA_R_SAME_ROLE },
	{ "M-7.1.1-12_rev_0", { REQ, 0, 0, 0, 0 }, false, IW_MPA_R_BAD_REV },
	{ "M-7.1.1-12_rev_3", { REQ, 0, 3, 0, 0 }, false, IW_MPA_R_BAD_REV },
	{ "M-7.1.1-12_rev_3_in_reply", { REP, 0, 3, 0, 0 }, true, IW_MPA_R_BAD_REV },
	{ "M-7.1.1-12_rev_129", { REQ, 0, 129, 0, 0 }, false, IW_MPA_R_BAD_REV },
	{ "M-7.1.1-12_rev_255", { REQ, 0, 255, 0, 0 }, false, IW_MPA_R_BAD_REV },
	{ "M-7.1.1-15_pd_513", { REQ, 0, 1, 513, 513 }, false, IW_MPA_R_BAD_PD_LENGTH },
	{ "M-7.1.1-15_pd_513_in_v2", { REQ, 0, 2, 513, 513 }, false, IW_MPA_R_BAD_PD_LENGTH },
	{ "E-7-4_M-7.1.1-15_pd_513_with_s", { REP, 0x10, 2, 513, 513 }, true,
	  IW_MPA_R_BAD_PD_LENGTH },
	{ "M-7.1.1-15_pd_768", { REP, 0, 1, 768, 768 }, true, IW_MPA_R_BAD_PD_LENGTH },
	{ "M-7.1.1-15_pd_65535", { REQ, 0, 1, 0xffff, 0xffff }, false, IW_MPA_R_BAD_PD_LENGTH },
	{ "E-6-4_s_without_pd", { REQ, 0x10, 2, 0, 0 }, false, IW_MPA_R_SHORT_ENHANCED },
	{ "E-6-4_s_with_pd_1", { REQ, 0x10, 2, 1, 1 }, false, IW_MPA_R_SHORT_ENHANCED },
	{ "E-6-4_s_with_pd_3", { REQ, 0x10, 2, 3, 3 }, false, IW_MPA_R_SHORT_ENHANCED },
	{ "E-6-4_s_with_pd_3_in_reply", { REP, 0x30, 2, 3, 3 }, true,
	  IW_MPA_R_SHORT_ENHANCED },
	/* If the header has several errors, the reason is that of the first one */
	{ "M-7.1.1-2_key_before_rev", { "MPA ID Req frame", 0, 9, 513, 513 }, false,
	  IW_MPA_R_BAD_KEY },
	{ "M-7.1.2-14_role_before_rev", { REP, 0, 9, 513, 513 }, false, IW_MPA_R_SAME_ROLE },
	{ "M-7.1.1-12_rev_before_pd", { REQ, 0, 9, 513, 513 }, false, IW_MPA_R_BAD_REV },
};

KUNIT_ARRAY_PARAM_DESC(bad, bad_rows, desc);

#endif /* _RAW_FRAME_H */
