/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The QP under test (the victim), with memory regions of all kinds, and rows that describe FPDUs
 * which tests send to it
 */
#ifndef _SRNIC_VICTIM_H
#define _SRNIC_VICTIM_H

#include "srnic_pair.h"

#define BASE	0x100000ULL
#define SIZE	64U

/* The victim's STags. A row has a number of this enum, since the STags themselves are random. */
enum fault_stag {
	STAG_WRITE,		/* SIZE bytes at BASE, remote write */
	STAG_READ,		/* SIZE bytes at BASE, remote read */
	STAG_NONE,		/* SIZE bytes at BASE, no remote right */
	STAG_OTHER,		/* region of another protection domain */
	STAG_DEAD,		/* region that was invalidated */
	STAG_KEY,		/* STAG_WRITE with another key */
	STAG_INDEX,		/* index of no region */
	STAG_ZERO,
	STAG_DMA,		/* SRNIC_LOCAL_DMA_LKEY, for all memory */
	STAG_LOCAL,		/* region of get_dma_mr(), of all memory */
	STAG_COUNT
};

/* An FPDU: a tagged one has @stag and @to, an untagged one @qn, @msn, @mo, a Read Request all */
struct fault_row {
	const char	*desc;
	enum srnic_err	err;
	u8		ddp, rdmap;
	u8		stag;
	u64		to;
	u32		qn, msn, mo;
	u32		len;		/* bytes of payload */
	u32		size;		/* Read Request: RDMA Read Message Size */
	u32		recv;		/* bytes of the victim's receive, or 0 for no receive */
	u8		term[4];	/* Terminate Control, if there is a Terminate message */
	u8		term_len;
};

#define T_STAG	{ 0x11, 0x00, 0xc0, 0 }
#define MD_T	20
#define MD_U	24
#define MDR	52

#define A_WRITE(_desc, _err, _stag, _to, _len, ...) {			\
	.desc = _desc, .err = SRNIC_ERR_##_err, .ddp = 0xc1, .rdmap = 0x40,	\
	.stag = _stag, .to = _to, .len = _len, .term = __VA_ARGS__, .term_len = MD_T }
#define A_READ(_desc, _err, _stag, _to, _size, ...) {			\
	.desc = _desc, .err = SRNIC_ERR_##_err, .ddp = 0x41, .rdmap = 0x41,	\
	.qn = 1, .msn = 1, .stag = _stag, .to = _to, .len = 28, .size = _size,	\
	.term = __VA_ARGS__, .term_len = MDR }
#define A_SEND(_desc, _err, _msn, _mo, _len, _recv, ...) {		\
	.desc = _desc, .err = SRNIC_ERR_##_err, .ddp = 0x41, .rdmap = 0x43,	\
	.msn = _msn, .mo = _mo, .len = _len, .recv = _recv,			\
	.term = __VA_ARGS__, .term_len = MD_U }
#define A_SINV(_desc, _err, _stag, ...) {					\
	.desc = _desc, .err = SRNIC_ERR_##_err, .ddp = 0x41, .rdmap = 0x44,	\
	.msn = 1, .stag = _stag, .recv = SIZE, .term = __VA_ARGS__, .term_len = MD_U }

/* End 1 is the victim. */
struct fault_world {
	struct pair	*p;
	u8		*mem;		/* SIZE bytes, with guard bytes on both sides */
	u32		stags[STAG_COUNT];
};

struct fault_world *fault_begin(struct kunit *test);
u16 fault_ulpdu(const struct fault_world *w, const struct fault_row *row, u8 *ulpdu);
u32 fault_term(struct pair *p, u8 *payload);
void fault_expect_term(struct pair *p, const struct fault_row *row, const u8 *ulpdu, u16 len);

#endif /* _SRNIC_VICTIM_H */
