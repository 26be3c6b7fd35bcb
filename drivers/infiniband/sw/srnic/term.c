// SPDX-License-Identifier: GPL-2.0
/* Errors of a stream, and Terminate messages: see term.h. No side effects */

#include "term.h"
#include "wire.h"

#include <linux/build_bug.h>
#include <linux/string.h>

const struct srnic_err_row srnic_errs[SRNIC_ERR_COUNT] = {
#define X(_name, _type, _code, _form, _tell, _text)			\
	[SRNIC_ERR_##_name] = {						\
		.name = #_name,						\
		.text = _text,						\
		.type = _type,						\
		.code = _code,						\
		.form = SRNIC_TERM_##_form,				\
		.tell = SRNIC_TELL_##_tell,				\
	},
	SRNIC_ERRORS(X)
#undef X
};

/*
 * Returns the error for a failed access to memory. DDP has no code for a
 * missing right (RFC 5041 7.1), so a Write without the right counts as one with
 * an invalid STag. So does a Read Response, if the ULP has made the sink
 * unwritable since it posted the Read.
 */
enum srnic_err srnic_err_of_mem(enum srnic_mem_use use,
				enum srnic_mem_fault fault)
{
	static const u8 table[][SRNIC_MEM_BOUNDS + 1] = {
		[SRNIC_USE_WRITE] = {
			[SRNIC_MEM_STAG]	= SRNIC_ERR_WRITE_STAG,
			[SRNIC_MEM_PD]		= SRNIC_ERR_WRITE_PD,
			[SRNIC_MEM_RIGHT]	= SRNIC_ERR_WRITE_RIGHT,
			[SRNIC_MEM_WRAP]	= SRNIC_ERR_WRITE_WRAP,
			[SRNIC_MEM_BOUNDS]	= SRNIC_ERR_WRITE_BOUNDS,
		},
		[SRNIC_USE_RESP] = {
			[SRNIC_MEM_STAG]	= SRNIC_ERR_RESP_STAG,
			[SRNIC_MEM_PD]		= SRNIC_ERR_RESP_PD,
			[SRNIC_MEM_RIGHT]	= SRNIC_ERR_RESP_STAG,
			[SRNIC_MEM_WRAP]	= SRNIC_ERR_RESP_BOUNDS,
			[SRNIC_MEM_BOUNDS]	= SRNIC_ERR_RESP_BOUNDS,
		},
		[SRNIC_USE_READ] = {
			[SRNIC_MEM_STAG]	= SRNIC_ERR_READ_STAG,
			[SRNIC_MEM_PD]		= SRNIC_ERR_READ_PD,
			[SRNIC_MEM_RIGHT]	= SRNIC_ERR_READ_RIGHT,
			[SRNIC_MEM_WRAP]	= SRNIC_ERR_READ_WRAP,
			[SRNIC_MEM_BOUNDS]	= SRNIC_ERR_READ_BOUNDS,
		},
	};

	return table[use][fault];
}

/* fault->hdr, headers as received, is part of the Terminate (RFC 5040 4.8). */
size_t srnic_term_build(const struct srnic_fault *fault,
			u8 payload[SRNIC_TERM_MAX])
{
	const struct srnic_err_row *row = &srnic_errs[fault->err];
	size_t copied = fault->ddp_len;
	u8 *p = payload;

	*p++ = row->type;
	*p++ = row->code;
	*p++ = row->form == SRNIC_TERM_BARE || !copied ? 0 :
	       row->form == SRNIC_TERM_MD ? SRNIC_TERM_M | SRNIC_TERM_D :
	       SRNIC_TERM_M | SRNIC_TERM_D | SRNIC_TERM_R;
	*p++ = 0;
	if (!payload[2])
		return SRNIC_TERM_CTRL;
	*p++ = fault->ulpdu_len >> 8;
	*p++ = fault->ulpdu_len;
	if (row->form == SRNIC_TERM_MDR)
		copied += SRNIC_TERM_RDMAP;
	memcpy(p, fault->hdr, copied);
	return SRNIC_TERM_CTRL + 2 + copied;
}

/*
 * Parse a Terminate message. Unknown layers, types and codes are reported as
 * they are. @term->ddp is set if the flags M and D announce a DDP header and
 * all of it is there.
 *
 * Returns false, and does not write @term, if Terminate Control is incomplete.
 */
bool srnic_term_parse(const u8 *payload, size_t len, struct srnic_term *term)
{
	const size_t ddp = SRNIC_TERM_CTRL + 2;
	size_t size;

	if (len < SRNIC_TERM_CTRL)
		return false;
	*term = (struct srnic_term) {
		.layer	= payload[0] >> 4,
		.etype	= payload[0] & 0xf,
		.code	= payload[1],
		.hdrct	= payload[2] &
			  (SRNIC_TERM_M | SRNIC_TERM_D | SRNIC_TERM_R),
	};
	if (!(term->hdrct & SRNIC_TERM_M) || !(term->hdrct & SRNIC_TERM_D) ||
	    len <= ddp)
		return true;
	size = payload[ddp] & SRNIC_DDP_T ? SRNIC_DDP_TAGGED_LEN :
					    SRNIC_DDP_UNTAGGED_LEN;
	if (len - ddp >= size) {
		term->ddp = payload + ddp;
		term->ddp_len = size;
	}
	return true;
}
