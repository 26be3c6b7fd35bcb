// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* This file gives siw what comes from TCP, in portions that siw can take. */

#define SIW_MPA_OWN_FILE

#include "siw/siw.h"
#include "siw_cm.h"

/* Padding and CRC */
#define RX_TRAILER_MAX	(3 + MPA_CRC_SIZE)

/**
 * siw_mpa_rx_octets - give siw octets that are in no skb of TCP
 * @desc: with the QP
 * @octets: the next ones of the stream
 * @len: how many
 *
 * Context: softirqs off, as siw_tcp_rx_data().
 *
 * Return: 0 or -ENOMEM.
 */
int siw_mpa_rx_octets(read_descriptor_t *desc, const void *octets,
		      unsigned int len)
{
	struct sk_buff *skb = alloc_skb(len, GFP_ATOMIC);

	if (!skb)
		return -ENOMEM;
	skb_put_data(skb, octets, len);
	siw_tcp_rx_data(desc, skb, 0, len);
	kfree_skb(skb);
	return 0;
}

static bool rx_trailer_is_cut(const struct siw_rx_stream *srx)
{
	return srx->state == SIW_GET_TRAILER &&
	       srx->fpdu_part_rem < srx->pad + MPA_CRC_SIZE;
}

/*
 * siw has the beginning of the trailer, and would write the rest over it. So the rest is put where
 * it belongs. When the trailer is whole siw gets all of it once more.
 */
static int rx_rest_of_trailer(read_descriptor_t *desc, struct sk_buff *skb,
			      unsigned int off, size_t len)
{
	struct siw_qp *qp = desc->arg.data;
	struct siw_rx_stream *srx = &qp->rx_stream;
	int size = srx->pad + MPA_CRC_SIZE;
	u8 *trailer = (u8 *)&srx->trailer.crc - srx->pad;
	int used = min_t(size_t, len, srx->fpdu_part_rem);
	u8 whole[RX_TRAILER_MAX];

	skb_copy_bits(skb, off, trailer + size - srx->fpdu_part_rem, used);
	srx->fpdu_part_rem -= used;
	if (srx->fpdu_part_rem)
		return used;
	srx->fpdu_part_rem = size;
	memcpy(whole, trailer, size);
	if (siw_mpa_rx_octets(desc, whole, size))
		siw_qp_cm_drop(qp, 1);
	return used;
}

/**
 * siw_mpa_rx_data - siw's siw_tcp_rx_data(), for all that TCP may do
 * @desc: as there
 * @skb: as there
 * @off: as there
 * @len: octets of @skb that may be read
 *
 * siw reads to the end of @skb. But TCP may have urgent data in @skb, where siw has to stop; no
 * RNIC sends any. And TCP may cut a trailer in two, where its window ends.
 *
 * Context: softirqs off.
 *
 * Return: octets consumed.
 */
int siw_mpa_rx_data(read_descriptor_t *desc, struct sk_buff *skb,
		    unsigned int off, size_t len)
{
	struct siw_qp *qp = desc->arg.data;
	int used = 0;

	if (unlikely(len != skb->len - off)) {
		siw_qp_cm_drop(qp, 1);
		return len;
	}
	if (unlikely(rx_trailer_is_cut(&qp->rx_stream)) &&
	    !qp->rx_stream.rx_suspend) {
		used = rx_rest_of_trailer(desc, skb, off, len);
		if (used == len)
			return used;
	}
	return used + siw_tcp_rx_data(desc, skb, off + used, len - used);
}
