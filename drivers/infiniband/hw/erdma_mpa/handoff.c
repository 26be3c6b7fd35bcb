// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * erdma's half of the hand-off. The device takes TCP over with addresses and sequence numbers. The
 * socket stays, and sees FIN and RST.
 *
 * The device has no CRC and no RTR message. It cannot hold TX back, nor report the first FPDU.
 * Documentation/infiniband/iw_mpa_driver.rst says what follows from that.
 */

#define ERDMA_MPA_OWN_FILE

#include "erdma_cm.h"
#include "erdma/erdma.h"
#include "erdma/erdma_verbs.h"

#include <linux/in.h>
#include <linux/slab.h>
#include <linux/string.h>

static void cep_release(struct kref *ref)
{
	struct erdma_cep *cep = container_of(ref, struct erdma_cep, ref);

	iw_mpa_ep_put(cep->ep);
	kfree(cep);
}

/**
 * erdma_cep_put - drop a reference on a connection
 * @cep: connection
 */
void erdma_cep_put(struct erdma_cep *cep)
{
	kref_put(&cep->ref, cep_release);
}

/**
 * erdma_qp_cm_drop - erdma gives a connection up
 * @qp: the QP, its state_lock held
 *
 * modify_qp calls this. It waits for nothing, since stop takes the state_lock.
 */
void erdma_qp_cm_drop(struct erdma_qp *qp)
{
	if (qp->cep)
		iw_mpa_disconnect(qp->cep->ep, true);
}

static void handoff_put_pd(struct ib_qp *ibqp, void *pd)
{
	struct erdma_qp *qp = to_eqp(ibqp);
	struct erdma_mpa_pd ours = {
		.cookie	= cpu_to_be32(qp->attrs.cookie),
		.cc	= cpu_to_be32(qp->attrs.cc),
	};

	memcpy(pd, &ours, sizeof(ours));
}

/* Both ends see both settings, so both choose the same. */
static enum erdma_cc_alg handoff_cc(const struct erdma_qp *qp,
				    const struct erdma_mpa_pd *peer)
{
	return be32_to_cpu(peer->cc) == qp->attrs.cc ? qp->attrs.cc : COMPROMISE_CC;
}

static int handoff_addresses(struct socket *sock, struct sockaddr_in *local,
			     struct sockaddr_in *remote)
{
	struct sockaddr_storage name;
	int len;

	len = kernel_getsockname(sock, (struct sockaddr *)&name);
	if (len < 0)
		return len;
	memcpy(local, &name, sizeof(*local));
	len = kernel_getpeername(sock, (struct sockaddr *)&name);
	if (len < 0)
		return len;
	memcpy(remote, &name, sizeof(*remote));
	if (local->sin_family != AF_INET || remote->sin_family != AF_INET)
		return -EAFNOSUPPORT;
	return 0;
}

/* Give TCP to the device: RX and TX are on when the command has returned. */
static int handoff_program(struct erdma_qp *qp, const struct iw_mpa_handoff *ho,
			   const struct erdma_mpa_pd *peer)
{
	struct erdma_cmdq_modify_qp_req req = {};
	struct sockaddr_in local, remote;
	int err;

	err = handoff_addresses(ho->sock, &local, &remote);
	if (err)
		return err;
	erdma_cmdq_build_reqhdr(&req.hdr, CMDQ_SUBMOD_RDMA,
				CMDQ_OPCODE_MODIFY_QP);
	req.cfg = FIELD_PREP(ERDMA_CMD_MODIFY_QP_STATE_MASK, ERDMA_QP_STATE_RTS) |
		  FIELD_PREP(ERDMA_CMD_MODIFY_QP_CC_MASK, handoff_cc(qp, peer)) |
		  FIELD_PREP(ERDMA_CMD_MODIFY_QP_QPN_MASK, QP_ID(qp));
	req.cookie = be32_to_cpu(peer->cookie);
	req.sip = local.sin_addr.s_addr;
	req.sport = local.sin_port;
	req.dip = remote.sin_addr.s_addr;
	req.dport = remote.sin_port;
	req.send_nxt = ho->snd_nxt;
	req.recv_nxt = ho->rcv_nxt;
	return erdma_post_cmd_wait(&qp->dev->cmdq, &req, sizeof(req), NULL, NULL);
}

static struct erdma_cep *handoff_make_cep(const struct iw_mpa_handoff *ho,
					  const struct erdma_mpa_pd *peer)
{
	struct erdma_cep *cep = kzalloc(sizeof(*cep), GFP_KERNEL);

	if (!cep)
		return NULL;
	kref_init(&cep->ref);
	cep->ep = iw_mpa_ep_get(ho->ep);
	cep->sock = ho->sock;
	cep->mpa.ext_data = *peer;
	return cep;
}

static void handoff_bound(struct erdma_qp *qp, struct erdma_cep *cep,
			  const struct iw_mpa_params *params)
{
	qp->cep = cep;
	qp->attrs.qp_type = params->initiator ? ERDMA_QP_ACTIVE : ERDMA_QP_PASSIVE;
	qp->attrs.cc = handoff_cc(qp, &cep->mpa.ext_data);
	qp->attrs.irq_size = params->ird;
	qp->attrs.orq_size = params->ord;
	qp->attrs.state = ERDMA_QP_STATE_RTS;
}

static int handoff_prepare(struct ib_qp *ibqp, const struct iw_mpa_handoff *ho)
{
	struct erdma_qp *qp = to_eqp(ibqp);
	struct erdma_mpa_pd peer;
	struct erdma_cep *cep;
	int err = -EINVAL;

	if (!ho->peer_pd)
		return -EPROTO;		/* no erdma */
	if (ho->params->crc)
		return -EOPNOTSUPP;
	memcpy(&peer, ho->peer_pd, sizeof(peer));
	cep = handoff_make_cep(ho, &peer);
	if (!cep)
		return -ENOMEM;

	down_write(&qp->state_lock);
	if (qp->attrs.state <= ERDMA_QP_STATE_RTR)
		err = handoff_program(qp, ho, &peer);
	if (!err)
		handoff_bound(qp, cep, ho->params);
	up_write(&qp->state_lock);
	if (err)
		erdma_cep_put(cep);
	return err;
}

/* prepare has opened TX already: the device cannot do it separately. */
static void handoff_open_tx(struct ib_qp *ibqp)
{
}

static void handoff_stop(struct ib_qp *ibqp, enum iw_mpa_reason why)
{
	struct erdma_qp_attrs attrs = { .state = ERDMA_QP_STATE_ERROR };
	struct erdma_qp *qp = to_eqp(ibqp);
	struct erdma_cep *cep;

	down_write(&qp->state_lock);
	cep = qp->cep;
	qp->cep = NULL;
	erdma_modify_qp_internal(qp, &attrs, ERDMA_QP_ATTR_STATE);
	up_write(&qp->state_lock);
	erdma_cep_put(cep);
}

const struct iw_mpa_driver_ops erdma_mpa_driver_ops = {
	.put_pd		= handoff_put_pd,
	.prepare	= handoff_prepare,
	.open_tx	= handoff_open_tx,
	.stop		= handoff_stop,
};
