// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Pass received bytes from TCP to siw, in portions that siw can handle. */

#define SIW_MPA_OWN_FILE

#include "siw/siw.h"
#include "siw_cm.h"

/* most bytes of padding and CRC */
#define RX_TRAILER_MAX	(3 + MPA_CRC_SIZE)

/*
 * Pass @bytes, which are in no skb of TCP, to siw, in an skb of their own.
 * Softirqs have to be off for siw_tcp_rx_data(). Returns 0 or -ENOMEM.
 */
int siw_mpa_rx_octets(read_descriptor_t *desc, const void *bytes,
		      unsigned int len)
{
	struct sk_buff *skb = alloc_skb(len, GFP_ATOMIC);

	if (!skb)
		return -ENOMEM;
	skb_put_data(skb, bytes, len);
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
 * TCP has delivered an FPDU's trailer, its padding and CRC, in parts. siw would
 * write the second part over the first. So add the next bytes here, and pass
 * siw the trailer once it is whole.
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

/*
 * siw passes this to tcp_read_sock() in place of siw_tcp_rx_data(), which reads
 * @skb to its end. If @len is less than that, urgent data follows, which no
 * RNIC sends: end the stream. At the end of its window TCP may also split a
 * trailer: see rx_rest_of_trailer(). Softirqs are off. Returns how many bytes
 * were consumed.
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
