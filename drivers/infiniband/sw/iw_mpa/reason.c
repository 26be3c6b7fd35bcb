// SPDX-License-Identifier: GPL-2.0
/* Reasons why connections end: name, text, errno and Terminate code of each */

#include "reason.h"

#include <linux/errno.h>
#include <linux/export.h>

static const struct {
	const char	*name;
	const char	*text;
	s16		err;
	u8		term;
} reasons[IW_MPA_R_COUNT] = {
#define X(n, e, t, s)							\
	[IW_MPA_R_##n] = { .name = #n, .text = s, .err = e, .term = t },
	IW_MPA_REASONS(X)
#undef X
};

static bool reason_is_known(enum iw_mpa_reason reason)
{
	return (unsigned int)reason < IW_MPA_R_COUNT;
}

/* Return: a reason's name, as in counters and traces; "?" if not a reason. */
const char *iw_mpa_reason_name(enum iw_mpa_reason reason)
{
	return reason_is_known(reason) ? reasons[reason].name : "?";
}

/* Return: a reason in words, for the log; "unknown" if it is no reason. */
const char *iw_mpa_reason_text(enum iw_mpa_reason reason)
{
	return reason_is_known(reason) ? reasons[reason].text : "unknown";
}

/**
 * iw_mpa_reason_errno - the errno that the ULP gets
 * @reason: any value
 *
 * rdma_cm reports -ECONNREFUSED and -ECONNRESET to the ULP as REJECTED,
 * -ETIMEDOUT as UNREACHABLE, and all other errors as CONNECT_ERROR.
 *
 * Context: any.
 *
 * Return: 0 or a negative errno; -EIO if @reason is no reason.
 */
int iw_mpa_reason_errno(enum iw_mpa_reason reason)
{
	return reason_is_known(reason) ? reasons[reason].err : -EIO;
}
EXPORT_SYMBOL_GPL(iw_mpa_reason_errno);

/**
 * iw_mpa_reason_term_code - the code of the TERM message that the peer gets
 * @reason: any value
 *
 * Context: any.
 *
 * Return: the error code of a TERM message of layer 2, type 0 (RFC 6581 8), or
 * 0 if no such message is due.
 */
u8 iw_mpa_reason_term_code(enum iw_mpa_reason reason)
{
	return reason_is_known(reason) ? reasons[reason].term : 0;
}
EXPORT_SYMBOL_GPL(iw_mpa_reason_term_code);
