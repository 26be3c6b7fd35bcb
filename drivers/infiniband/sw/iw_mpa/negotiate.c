// SPDX-License-Identifier: GPL-2.0
/*
 * Negotiation: compute a connection's parameters from those of this end and
 * from the peer's Request or Reply (RFC 6581 9 and 10, RFC 5044 7.1.1). The
 * functions are in the order of RFC 6581 9.3.
 */

#include "negotiate.h"

#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/string.h>

/* Return: the RTR types that this end can send; a Read needs a max_ord > 0. */
static u8 neg_can_send(const struct iw_mpa_local *local)
{
	return local->max_ord ? local->rtr_send :
				local->rtr_send & ~IW_MPA_RTR_READ;
}

/**
 * iw_mpa_make_request - fill in the MPA Request that an initiator sends
 * @local: what this end can do, and what its ULP asks for
 * @req: result: the Request, without private data
 *
 * Context: any.
 */
void iw_mpa_make_request(const struct iw_mpa_local *local,
			 struct iw_mpa_frame *req)
{
	memset(req, 0, sizeof(*req));
	req->rev = local->rev;
	req->crc = local->crc;
	req->markers = local->rx_markers;
	req->large_fpdu = local->large_fpdu && !local->rx_markers;
	if (local->rev < IW_MPA_REV_2)
		return;
	req->enhanced = true;
	req->ird = local->ird;
	req->ord = local->ord;
	req->rtr = local->p2p ? neg_can_send(local) : 0;
	req->p2p = req->rtr;
}
EXPORT_SYMBOL_GPL(iw_mpa_make_request);

/*
 * Return: the ORD of this end. It must not exceed the peer's IRD, unless the
 * peer leaves IRD and ORD to the ULPs (IW_MPA_DEPTH_ULP). A local ORD of
 * IW_MPA_DEPTH_ULP is above any device's limit, so min() gives that limit.
 */
static u16 neg_ord(const struct iw_mpa_local *local, u16 peer_ird)
{
	u16 ord = min(local->ord, local->max_ord);

	return peer_ird == IW_MPA_DEPTH_ULP ? ord : min(ord, peer_ird);
}

/*
 * RFC 5044 7.1.1: CRC is on if either end asks for it; Markers are sent only if
 * the receiver asks for them. Markers are for receivers that place each TCP
 * segment by itself. Large FPDUs, of more than one TCP segment, are for the
 * other receivers, so they exclude Markers.
 */
static void neg_stream(const struct iw_mpa_local *local,
		       const struct iw_mpa_frame *own,
		       const struct iw_mpa_frame *peer,
		       struct iw_mpa_params *params)
{
	params->crc = own->crc || peer->crc;
	params->tx_markers = peer->markers;
	params->rx_markers = own->markers;
	params->large_fpdu = own->large_fpdu && peer->large_fpdu &&
			     !peer->markers;
	params->ird = min(local->ird, local->max_ird);
	params->ord = min(local->ord, local->max_ord);
	if (peer->enhanced) {
		params->peer_ird = peer->ird;
		params->peer_ord = peer->ord;
	}
}

/* RFC 6581 9.1: set the responder's IRD and ORD, in @params and in @rep. */
static enum iw_mpa_reason neg_responder_depths(const struct iw_mpa_local *local,
					       const struct iw_mpa_frame *req,
					       struct iw_mpa_frame *rep,
					       struct iw_mpa_params *params)
{
	u16 wanted = params->ord;

	if (req->ord != IW_MPA_DEPTH_ULP && !local->strict)
		params->ird = max_t(u16, params->ird,
				    min(req->ord, local->max_ird));
	if ((params->rtr & IW_MPA_RTR_READ) && !params->ird)
		params->ird = min_t(u16, 1, local->max_ird);
	rep->ird = req->ord == IW_MPA_DEPTH_ULP ? IW_MPA_DEPTH_ULP :
						  params->ird;

	params->ord = neg_ord(local, req->ird);
	rep->ord = req->ird == IW_MPA_DEPTH_ULP ? IW_MPA_DEPTH_ULP :
						  params->ord;

	if (local->strict && params->ord < wanted) {
		rep->ord = wanted;
		return IW_MPA_R_INSUFFICIENT_IRD;
	}
	return IW_MPA_R_OK;
}

/*
 * RFC 6581 9.2. Return: the RTR types that both ends support or, if they have
 * no type in common, those that this end accepts. A Read as RTR message needs
 * an IRD of at least 1. So Read is left out if the device's limit of IRD is 0;
 * or if the ULP asks for an IRD of 0, and the peer's ORD leaves IRD and ORD to
 * the ULPs. But if Read is the only type that the device accepts, it is kept.
 */
static u8 neg_responder_rtr(const struct iw_mpa_local *local,
			    const struct iw_mpa_frame *req, u16 ird)
{
	u8 accept = local->rtr_accept;

	if (!local->max_ird || (!ird && req->ord == IW_MPA_DEPTH_ULP))
		accept &= ~IW_MPA_RTR_READ;
	if (!accept)
		accept = local->rtr_accept;
	return (req->rtr & accept) ?: accept;
}

/**
 * iw_mpa_negotiate_request - decide on a Request, as responder
 * @local: what this end can do, and what its ULP asks for
 * @req: the Request received
 * @rep: result: the Reply, without private data; always filled in, with
 *	@rep->reject set unless the return value is IW_MPA_R_OK
 * @params: result: parameters for the device. On error enhanced, crc and
 *	tx_markers are valid, for the Terminate message after the Reject, and
 *	the rest is within @local's limits
 *
 * Context: any.
 *
 * Return: IW_MPA_R_OK; BAD_REV if the revision is above @local->rev; MARKERS if
 * the peer wants Markers and this end cannot send them; INSUFFICIENT_IRD if
 * @local->strict and the peer's IRD is below @local->ord: then @rep->ord is the
 * ORD that this end wants.
 */
enum iw_mpa_reason iw_mpa_negotiate_request(const struct iw_mpa_local *local,
					    const struct iw_mpa_frame *req,
					    struct iw_mpa_frame *rep,
					    struct iw_mpa_params *params)
{
	enum iw_mpa_reason reason = IW_MPA_R_OK;

	memset(rep, 0, sizeof(*rep));
	memset(params, 0, sizeof(*params));

	rep->reply = true;
	rep->rev = req->rev;
	rep->enhanced = req->enhanced;
	rep->crc = local->crc || req->crc;
	rep->markers = local->rx_markers;
	rep->large_fpdu = local->large_fpdu && req->large_fpdu &&
			  !rep->markers && !req->markers;

	params->rev = rep->rev;
	params->enhanced = rep->enhanced;
	neg_stream(local, rep, req, params);

	if (req->enhanced) {
		if (req->p2p) {
			params->p2p = true;
			params->rtr =
				neg_responder_rtr(local, req, params->ird);
		}
		rep->p2p = params->p2p;
		rep->rtr = params->rtr;
		reason = neg_responder_depths(local, req, rep, params);
	}
	if (req->markers && !local->tx_markers)
		reason = IW_MPA_R_MARKERS;
	if (req->rev > local->rev)
		reason = IW_MPA_R_BAD_REV;

	rep->reject = reason != IW_MPA_R_OK;
	return reason;
}
EXPORT_SYMBOL_GPL(iw_mpa_negotiate_request);

/* RFC 6581 9.1: set the initiator's IRD and ORD as the Reply requires. */
static enum iw_mpa_reason neg_initiator_depths(const struct iw_mpa_local *local,
					       const struct iw_mpa_frame *rep,
					       struct iw_mpa_params *params)
{
	u16 wanted = params->ord;

	params->ord = neg_ord(local, rep->ird);
	if (local->strict && params->ord < wanted)
		return IW_MPA_R_INSUFFICIENT_IRD;

	if (rep->ord == IW_MPA_DEPTH_ULP || rep->ord <= params->ird)
		return IW_MPA_R_OK;
	if (local->strict || rep->ord > local->max_ird)
		return IW_MPA_R_INSUFFICIENT_IRD;
	params->ird = rep->ord;
	return IW_MPA_R_OK;
}

/*
 * RFC 6581 9.2: the initiator chooses one RTR type that the Reply names and the
 * device can generate: Write, which needs no resource; else Read, which needs a
 * queue entry at both ends; else Send, which uses up a receive of the peer.
 */
static enum iw_mpa_reason neg_initiator_rtr(const struct iw_mpa_local *local,
					    const struct iw_mpa_frame *rep,
					    struct iw_mpa_params *params)
{
	u8 both = neg_can_send(local) & rep->rtr;
	bool may_raise = rep->ird && rep->ird != IW_MPA_DEPTH_ULP;

	if (!params->ord && !may_raise)
		both &= ~IW_MPA_RTR_READ;
	params->rtr = (both & IW_MPA_RTR_WRITE) ?: (both & IW_MPA_RTR_READ) ?:
		      (both & IW_MPA_RTR_SEND);
	if (!params->rtr)
		return IW_MPA_R_NO_RTR;
	if (params->rtr == IW_MPA_RTR_READ)
		params->ord = max_t(u16, params->ord, 1);
	params->p2p = true;
	params->rtr_single = !(rep->rtr & (rep->rtr - 1));
	return IW_MPA_R_OK;
}

/**
 * iw_mpa_negotiate_reply - decide on a Reply, as initiator
 * @local: what this end can do, and what its ULP asks for
 * @req: the Request that was sent
 * @rep: the Reply received
 * @params: result: parameters for the device. On error crc is valid, for a
 *	Terminate message, and the rest is within @local's limits
 *
 * An unenhanced Reply to an enhanced Request is accepted: the connection then
 * lacks the features of RFC 6581. A Reply without flag A to a Request with A is
 * accepted, too: then no RTR message is sent.
 *
 * Context: any.
 *
 * Return: IW_MPA_R_OK; REJECTED if the Reply has flag R; BAD_REV if the Reply
 * is enhanced and the Request was not; MARKERS if the peer asks for Markers and
 * this end cannot send them; INSUFFICIENT_IRD if one end's IRD is too small for
 * the other's ORD, NO_RTR if the ends have no usable RTR type in common: in
 * both cases a Terminate message is due.
 */
enum iw_mpa_reason iw_mpa_negotiate_reply(const struct iw_mpa_local *local,
					  const struct iw_mpa_frame *req,
					  const struct iw_mpa_frame *rep,
					  struct iw_mpa_params *params)
{
	enum iw_mpa_reason reason;

	memset(params, 0, sizeof(*params));
	params->initiator = true;
	params->rev = rep->rev;
	params->enhanced = rep->enhanced;
	neg_stream(local, req, rep, params);

	if (rep->reject)
		return IW_MPA_R_REJECTED;
	if (rep->enhanced && !req->enhanced)
		return IW_MPA_R_BAD_REV;
	if (rep->markers && !local->tx_markers)
		return IW_MPA_R_MARKERS;
	if (!rep->enhanced)
		return IW_MPA_R_OK;

	reason = neg_initiator_depths(local, rep, params);
	if (!reason && req->p2p && rep->p2p)
		reason = neg_initiator_rtr(local, rep, params);
	return reason;
}
EXPORT_SYMBOL_GPL(iw_mpa_negotiate_reply);

/*
 * Return: the features that an initiator asked for and lacks, IW_MPA_LOST_*.
 * @req: the first Request that the initiator sent. @params: what was agreed on
 *	in the end, maybe by a further Request.
 */
u8 iw_mpa_lost(const struct iw_mpa_frame *req,
	       const struct iw_mpa_params *params)
{
	u8 lost = 0;

	if (req->p2p && !params->p2p)
		lost |= IW_MPA_LOST_P2P;
	if (req->enhanced && !params->enhanced)
		lost |= IW_MPA_LOST_DEPTHS;
	return lost;
}
