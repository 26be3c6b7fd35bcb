// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * This file replaces the MPA functions of iw_cxgb4's cm.c by calls of mpa.c.
 * scripts/lib/stage-edit.py takes those functions out of a copy of cm.c, as the
 * file "edits" says, and makes the copy include this file in its last line. So
 * static functions of cm.c can be used here.
 *
 * Callers of this file's functions hold com.mutex of the endpoint, with these
 * exceptions: rx_data(), peer_close(), abort_rpl() and c4iw_accept_cr() take
 * the mutex themselves; cm_begin_anew() runs without it; some callers of
 * connect_reply_upcall() do not hold it.
 */

static struct c4iw_ep *cm_ep(struct c4mpa_conn *conn)
{
	return container_of(conn, struct c4iw_ep, mpa);
}

/* Make a work request that has the device send the bytes of @head and @pd. */
static struct sk_buff *cm_make_data(struct c4iw_ep *ep, const void *head,
				    size_t head_len, const void *pd,
				    size_t pd_len)
{
	size_t len = head_len + pd_len;
	size_t size = roundup(sizeof(struct fw_ofld_tx_data_wr) + len, 16);
	struct sk_buff *skb = get_skb(NULL, size, GFP_KERNEL);
	struct fw_ofld_tx_data_wr *wr;
	u8 *octets;

	if (!skb)
		return NULL;
	set_wr_txq(skb, CPL_PRIORITY_DATA, ep->txq_idx);
	wr = skb_put_zero(skb, size);
	wr->op_to_immdlen = cpu_to_be32(FW_WR_OP_V(FW_OFLD_TX_DATA_WR) |
					FW_WR_COMPL_F | FW_WR_IMMDLEN_V(len));
	wr->flowid_len16 = cpu_to_be32(FW_WR_FLOWID_V(ep->hwtid) |
				       FW_WR_LEN16_V(size / 16));
	wr->plen = cpu_to_be32(len);
	wr->tunnel_to_proxy = cpu_to_be32(FW_OFLD_TX_DATA_WR_FLUSH_F |
					  FW_OFLD_TX_DATA_WR_SHOVE_F);
	octets = (u8 *)(wr + 1);
	memcpy(octets, head, head_len);
	if (pd_len)
		memcpy(octets + head_len, pd, pd_len);
	t4_set_arp_err_handler(skb, NULL, arp_failure_discard);
	return skb;
}

/* ep->mpa_skb keeps one frame until it was sent: then fw4_ack() frees it. */
static int cm_send(struct c4mpa_conn *conn, const void *head, size_t head_len,
		   const void *pd, size_t pd_len)
{
	struct c4iw_ep *ep = cm_ep(conn);
	struct sk_buff *skb;
	int err;

	skb = cm_make_data(ep, head, head_len, pd, pd_len);
	if (!skb)
		return -ENOMEM;
	if (!ep->mpa_skb)
		ep->mpa_skb = skb_get(skb);
	err = c4iw_l2t_send(&ep->com.dev->rdev, skb, ep->l2t);
	if (!err)
		ep->snd_seq += head_len + pd_len;
	return err;
}

static u8 cm_p2p_type(u8 rtr)
{
	switch (rtr) {
	case IW_MPA_RTR_WRITE:
		return FW_RI_INIT_P2PTYPE_RDMA_WRITE;
	case IW_MPA_RTR_READ:
		return FW_RI_INIT_P2PTYPE_READ_REQ;
	}
	return FW_RI_INIT_P2PTYPE_DISABLED;
}

static int cm_start(struct c4mpa_conn *conn)
{
	const struct iw_mpa_params *params = &conn->params;
	struct c4iw_ep *ep = cm_ep(conn);
	struct c4iw_qp_attributes attrs = {};

	ep->mpa_attr.initiator = params->initiator;
	ep->mpa_attr.crc_enabled = params->crc;
	ep->mpa_attr.recv_marker_enabled = params->rx_markers;
	ep->mpa_attr.xmit_marker_enabled = params->tx_markers;
	ep->mpa_attr.enhanced_rdma_conn = params->enhanced;
	ep->mpa_attr.version = params->rev;
	ep->mpa_attr.p2p_type = cm_p2p_type(params->rtr);
	ep->ird = params->ird;
	ep->ord = params->ord;
	if (params->initiator)
		__state_set(&ep->com, FPDU_MODE);

	attrs.mpa_attr = ep->mpa_attr;
	attrs.max_ird = ep->ird;
	attrs.max_ord = ep->ord;
	attrs.llp_stream_handle = ep;
	attrs.next_state = C4IW_QP_STATE_RTS;
	return c4iw_modify_qp(ep->com.qp->rhp, ep->com.qp,
			      C4IW_QP_ATTR_NEXT_STATE |
			      C4IW_QP_ATTR_LLP_STREAM_HANDLE |
			      C4IW_QP_ATTR_MPA_ATTR | C4IW_QP_ATTR_MAX_IRD |
			      C4IW_QP_ATTR_MAX_ORD,
			      &attrs, 1);
}

/*
 * Raise CONNECT_REQUEST, and drop the reference that the new endpoint has had
 * on the listener's endpoint (parent_ep) until now.
 */
static int cm_raise_request(struct c4iw_ep *ep, struct iw_cm_event *event)
{
	struct c4iw_ep *parent = ep->parent_ep;
	int err = -ECONNABORTED;

	__state_set(&ep->com, MPA_REQ_RCVD);
	set_bit(CONNREQ_UPCALL, &ep->com.history);
	event->provider_data = ep;
	mutex_lock_nested(&parent->com.mutex, SINGLE_DEPTH_NESTING);
	if (parent->com.state != DEAD) {
		c4iw_get_ep(&ep->com);
		err = parent->com.cm_id->event_handler(parent->com.cm_id,
						       event);
		if (err)
			c4iw_put_ep(&ep->com);
	}
	mutex_unlock(&parent->com.mutex);
	c4iw_put_ep(&parent->com);
	return err;
}

/*
 * Raise CONNECT_REPLY. An event with an error is the last one, so the reference
 * on the cm_id is dropped then; but not if iw_cm had no memory to copy private
 * data: c4mpa_tell_reply() then raises the event again, without private data.
 */
static int cm_raise_reply(struct c4iw_ep *ep, struct iw_cm_event *event)
{
	struct iw_cm_id *cm_id = ep->com.cm_id;
	int err;

	if (!cm_id)
		return 0;
	set_bit(CONN_RPL_UPCALL, &ep->com.history);
	err = cm_id->event_handler(cm_id, event);
	if (event->status && (!err || !event->private_data_len))
		deref_cm_id(&ep->com);
	return err;
}

static int cm_raise_established(struct c4iw_ep *ep, struct iw_cm_event *event)
{
	set_bit(ESTAB_UPCALL, &ep->com.history);
	return ep->com.cm_id->event_handler(ep->com.cm_id, event);
}

static int cm_event(struct c4mpa_conn *conn, const struct c4mpa_event *what)
{
	struct c4iw_ep *ep = cm_ep(conn);
	struct iw_cm_event event = {
		.status			= what->status,
		.local_addr		= ep->com.local_addr,
		.remote_addr		= ep->com.remote_addr,
		.private_data		= (void *)what->pd,
		.private_data_len	= what->pd_len,
		.ird			= what->depths.ird,
		.ord			= what->depths.ord,
	};

	switch (what->type) {
	case C4MPA_CONNECT_REQUEST:
		event.event = IW_CM_EVENT_CONNECT_REQUEST;
		return cm_raise_request(ep, &event);
	case C4MPA_CONNECT_REPLY:
		event.event = IW_CM_EVENT_CONNECT_REPLY;
		return cm_raise_reply(ep, &event);
	case C4MPA_ESTABLISHED:
		break;
	}
	event.event = IW_CM_EVENT_ESTABLISHED;
	return cm_raise_established(ep, &event);
}

static bool cm_disarm(struct c4mpa_conn *conn)
{
	return !stop_ep_timer(cm_ep(conn));
}

/*
 * The op abort() of struct c4mpa_ops: send RST. c4iw_ep_disconnect() cannot be
 * used for that:
 *  - it takes com.mutex itself: if the mutex were dropped for the call, another
 *    context could end the connection first;
 *  - it leaves the flag CLOSE_SENT set: so it could not close the endpoint's
 *    next connection, with revision 1, if the peer closed that one first;
 *  - if the adapter has failed it raises CLOSE, although the ULP waits for
 *    CONNECT_REPLY.
 * c4iw_ep_disconnect() also calls read_tcb() before the abort, if the QP has an
 * SRQ. This is not needed here, since no QP has the stream yet.
 */
static int cm_abort(struct c4mpa_conn *conn)
{
	struct c4iw_ep *ep = cm_ep(conn);
	int err;

	__state_set(&ep->com, ABORTING);
	set_bit(EP_DISC_ABORT, &ep->com.history);
	err = send_abort_req(ep);
	if (err) {
		set_bit(EP_DISC_FAIL, &ep->com.history);
		__state_set(&ep->com, DEAD);
	}
	return err;
}

static const struct c4mpa_ops cm_ops = {
	.send	= cm_send,
	.start	= cm_start,
	.event	= cm_event,
	.disarm	= cm_disarm,
	.abort	= cm_abort,
};

/* @rev, a parameter of the module, may be 0: that means revision 1. */
static void cm_init(struct c4iw_ep *ep, bool initiator, int rev)
{
	struct c4iw_dev *dev = ep->com.dev;
	const struct c4mpa_settings settings = {
		.max_ird	= min_t(u32, dev->rdev.lldi.max_ordird_qp,
					IW_MPA_DEPTH_MAX),
		.max_ord	= min_t(u32, cur_max_read_depth(dev),
					IW_MPA_DEPTH_MAX),
		.rev		= rev >= IW_MPA_REV_2 ? IW_MPA_REV_2 :
							IW_MPA_REV_1,
		.rtr		= p2p_type == FW_RI_INIT_P2PTYPE_RDMA_WRITE ?
				  IW_MPA_RTR_WRITE : IW_MPA_RTR_READ,
		.p2p		= peer2peer,
		.crc		= crc_enabled,
		.markers	= markers_enabled,
	};

	c4mpa_init(&ep->mpa, &cm_ops, &settings, initiator);
}

/*
 * act_establish() calls this when TCP is connected. c4iw_connect() has stored
 * the ULP's IRD, ORD and private data in @ep.
 */
static int send_mpa_req(struct c4iw_ep *ep, struct sk_buff *skb,
			u8 mpa_rev_to_use)
{
	int err;

	cm_init(ep, true, mpa_rev_to_use);
	if (ep->mpa.local.rev == IW_MPA_REV_1) {
		ep->tried_with_mpa_v1 = 1;
		ep->retry_with_mpa_v1 = 0;
	}
	err = c4mpa_connect(&ep->mpa, ep->ird, ep->ord,
			    ep->mpa_pkt + sizeof(struct mpa_message), ep->plen);
	if (err)
		return err;
	start_ep_timer(ep);
	__state_set(&ep->com, MPA_REQ_SENT);
	return 0;
}

/* c4iw_reject_cr() calls this, and then closes the connection. */
static int send_mpa_reject(struct c4iw_ep *ep, const void *pdata, u8 plen)
{
	return c4mpa_reject(&ep->mpa, pdata, plen);
}

/* rx_data() of cm.c gets the result, one of enum c4mpa_verdict. */
static int process_mpa_reply(struct c4iw_ep *ep, struct sk_buff *skb)
{
	return c4mpa_rx_reply(&ep->mpa, skb->data, skb_headlen(skb));
}

static int process_mpa_request(struct c4iw_ep *ep, struct sk_buff *skb)
{
	enum c4mpa_verdict verdict;

	if (!ep->mpa.ops)
		cm_init(ep, false, mpa_rev);
	verdict = c4mpa_rx_request(&ep->mpa, skb->data, skb_headlen(skb));
	/* cm_raise_request() has not dropped the reference on the listener. */
	if (verdict == C4MPA_ABORT &&
	    !test_bit(CONNREQ_UPCALL, &ep->com.history))
		c4iw_put_ep(&ep->parent_ep->com);
	return verdict;
}

/* cm.c calls this for failures outside of MPA, such as TCP's. */
static void connect_reply_upcall(struct c4iw_ep *ep, int status)
{
	const struct c4mpa_event event = {
		.type = C4MPA_CONNECT_REPLY, .status = status,
	};

	cm_event(&ep->mpa, &event);
}

/**
 * c4mpa_reset_is_final - TCP was aborted before the Reply: does connect fail?
 * @ep: endpoint of an initiator
 * @status: the device's code for the cause, CPL_ERR_CONN_RESET for a peer's RST
 *
 * Return: true if the ULP gets an error; false if the peer has sent RST, and
 * revision 1 is to be tried.
 */
bool c4mpa_reset_is_final(struct c4iw_ep *ep, u8 status)
{
	return status != CPL_ERR_CONN_RESET || !c4mpa_may_fall_back(&ep->mpa);
}

static int cm_accept(struct c4iw_ep *ep, struct iw_cm_id *cm_id,
		     const struct iw_cm_conn_param *param)
{
	struct c4iw_qp *qp = get_qhp(to_c4iw_dev(cm_id->device), param->qpn);
	u32 limit = cur_max_read_depth(ep->com.dev);
	int err;

	if (!qp || param->ird > limit || param->ord > limit)
		return -EINVAL;
	ep->com.cm_id = cm_id;
	ref_cm_id(&ep->com);
	ep->com.qp = qp;
	ref_qp(ep);
	/* fw4_ack() then stops the timer when the Reply was sent. */
	set_bit(STOP_MPA_TIMER, &ep->com.flags);
	err = c4mpa_accept(&ep->mpa, param->ird, param->ord,
			   param->private_data, param->private_data_len);
	if (err)
		deref_cm_id(&ep->com);
	else
		__state_set(&ep->com, FPDU_MODE);
	return err;
}

/**
 * c4iw_accept_cr - the verb iw_accept of iw_cxgb4
 * @cm_id: the cm_id of the CONNECT_REQUEST
 * @conn_param: QP number, IRD, ORD and private data
 *
 * Return: 0 or a negative errno.
 */
int c4iw_accept_cr(struct iw_cm_id *cm_id, struct iw_cm_conn_param *conn_param)
{
	struct c4iw_ep *ep = to_ep(cm_id);
	int err = -ECONNRESET;
	bool asked;

	mutex_lock(&ep->com.mutex);
	asked = ep->com.state == MPA_REQ_RCVD;
	if (asked) {
		set_bit(ULP_ACCEPT, &ep->com.history);
		err = cm_accept(ep, cm_id, conn_param);
	}
	mutex_unlock(&ep->com.mutex);
	if (asked && err)
		c4iw_ep_disconnect(ep, 1, GFP_KERNEL);
	c4iw_put_ep(&ep->com);
	return err;
}

/*
 * The device has received bytes. If they arrive after the Request, before the
 * ULP has answered it, the connection ends: cm_rx_data(), which is cm.c's own
 * rx_data(), would drop the bytes, though the device has acknowledged them.
 */
static int rx_data(struct c4iw_dev *dev, struct sk_buff *skb)
{
	struct cpl_rx_data *hdr = cplhdr(skb);
	struct c4iw_ep *ep = get_ep_from_tid(dev, GET_TID(hdr));
	enum c4mpa_verdict verdict = C4MPA_GO_ON;
	bool early;

	if (!ep)
		return 0;
	mutex_lock(&ep->com.mutex);
	early = ep->com.state == MPA_REQ_RCVD && hdr->len;
	if (early)
		verdict = c4mpa_rx_request(&ep->mpa, hdr + 1, ntohs(hdr->len));
	mutex_unlock(&ep->com.mutex);
	if (verdict == C4MPA_ABORT)
		c4iw_ep_disconnect(ep, 1, GFP_KERNEL);
	c4iw_put_ep(&ep->com);
	return early ? 0 : cm_rx_data(dev, skb);
}

static int peer_close(struct c4iw_dev *dev, struct sk_buff *skb)
{
	struct cpl_peer_close *hdr = cplhdr(skb);
	struct c4iw_ep *ep = get_ep_from_tid(dev, GET_TID(hdr));
	enum c4mpa_fin fin = C4MPA_FIN_ENDS;

	if (!ep)
		return 0;
	mutex_lock(&ep->com.mutex);
	if (ep->com.state == MPA_REQ_SENT)
		fin = c4mpa_rx_fin(&ep->mpa);
	mutex_unlock(&ep->com.mutex);
	if (fin == C4MPA_FIN_LOST)
		release_ep_resources(ep);
	c4iw_put_ep(&ep->com);
	return fin == C4MPA_FIN_ENDS ? cm_peer_close(dev, skb) : 0;
}

/*
 * TCP was aborted to connect again with revision 1: release the old TID and its
 * route, then connect. c4iw_reconnect() reports a failure to the ULP.
 * retry_with_mpa_v1 is set only now. If it were set together with the abort,
 * and the peer sent RST at that time, peer_abort() would connect again, though
 * the device still has the TID.
 */
static void cm_begin_anew(struct c4iw_ep *ep)
{
	const struct sockaddr_in6 *local =
		(const struct sockaddr_in6 *)&ep->com.local_addr;
	struct cxgb4_lld_info *lldi = &ep->com.dev->rdev.lldi;

	ep->retry_with_mpa_v1 = 1;
	if (local->sin6_family == AF_INET6)
		cxgb4_clip_release(lldi->ports[0],
				   (const u32 *)&local->sin6_addr, 1);
	remove_ep_tid(ep);
	cxgb4_remove_tid(lldi->tids, 0, ep->hwtid,
			 ep->com.local_addr.ss_family);
	dst_release(ep->dst);
	cxgb4_l2t_release(ep->l2t);
	c4iw_reconnect(ep);
}

static int abort_rpl(struct c4iw_dev *dev, struct sk_buff *skb)
{
	struct cpl_abort_rpl_rss6 *rpl = cplhdr(skb);
	struct c4iw_ep *ep = get_ep_from_tid(dev, GET_TID(rpl));
	bool again;

	if (!ep)
		return cm_abort_rpl(dev, skb);
	mutex_lock(&ep->com.mutex);
	again = ep->com.state == ABORTING && c4mpa_take_again(&ep->mpa);
	if (again)
		__state_set(&ep->com, DEAD);
	mutex_unlock(&ep->com.mutex);
	if (again)
		cm_begin_anew(ep);
	c4iw_put_ep(&ep->com);
	return again ? 0 : cm_abort_rpl(dev, skb);
}
