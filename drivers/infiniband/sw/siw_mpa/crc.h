/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Does a QP of siw compute CRCs? Newer versions of siw have a flag for that,
 * mpa_crc_enabled: Kbuild looks for it and sets SIW_HAS_CRC_FLAG. In Linux 6.1
 * and 6.12 a QP has state of the crypto layer for each direction, mpa_crc_hd,
 * which is allocated only if CRC is on.
 */
#ifndef _SIW_MPA_CRC_H
#define _SIW_MPA_CRC_H

#include <linux/slab.h>

#include "siw/siw.h"

#ifdef SIW_HAS_CRC_FLAG

static inline bool siw_mpa_crc_is_on(const struct siw_qp *qp)
{
	return qp->tx_ctx.mpa_crc_enabled;
}

static inline void siw_mpa_crc_off(struct siw_qp *qp)
{
	qp->tx_ctx.mpa_crc_enabled = false;
	qp->rx_stream.mpa_crc_enabled = false;
}

#else

static inline bool siw_mpa_crc_is_on(const struct siw_qp *qp)
{
	return qp->tx_ctx.mpa_crc_hd;
}

static inline void siw_mpa_crc_off(struct siw_qp *qp)
{
	kfree(qp->tx_ctx.mpa_crc_hd);
	kfree(qp->rx_stream.mpa_crc_hd);
	qp->tx_ctx.mpa_crc_hd = NULL;
	qp->rx_stream.mpa_crc_hd = NULL;
}

#endif

#endif
