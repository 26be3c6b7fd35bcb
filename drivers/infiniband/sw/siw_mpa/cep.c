// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* struct siw_cep, a QP's connection: its references, and how siw ends it. */

#define SIW_MPA_OWN_FILE

#include "siw/siw.h"
#include "siw_cm.h"

#include <linux/slab.h>

static void cep_release(struct kref *ref)
{
	struct siw_cep *cep = container_of(ref, struct siw_cep, ref);

	iw_mpa_ep_put(cep->ep);
	kfree_rcu(cep, rcu);
}

void siw_cep_put(struct siw_cep *cep)
{
	kref_put(&cep->ref, cep_release);
}

/* Returns a reference on the QP's connection, or NULL. Any context. */
struct siw_cep *siw_cep_get_of_qp(struct siw_qp *qp)
{
	struct siw_cep *cep;

	rcu_read_lock();
	cep = READ_ONCE(qp->cep);
	if (cep && !kref_get_unless_zero(&cep->ref))
		cep = NULL;
	rcu_read_unlock();
	return cep;
}

/* End the stream. siw records only the Terminate message of an error. */
static void cep_stream_down(const struct siw_qp *qp, struct siw_cep *cep)
{
	struct iw_mpa_fault fault = { .text = "siw gave the stream up" };

	if (qp->term_info.valid) {
		fault.text = "siw found an error";
		fault.term = cep->tx_open;
		fault.sent = true;
		fault.layer = qp->term_info.layer;
		fault.etype = qp->term_info.etype;
		fault.code = qp->term_info.ecode;
	}
	iw_mpa_stream_down(cep->ep, &fault);
}

/*
 * siw calls this to end a connection: after an error in TX or RX, or from
 * modify_qp with the state_lock held. @schedule asks for a work item if siw
 * must not sleep; this function never sleeps, and ignores @schedule.
 */
void siw_qp_cm_drop(struct siw_qp *qp, int schedule)
{
	struct siw_cep *cep;

	qp->rx_stream.rx_suspend = 1;
	qp->tx_ctx.tx_suspend = 1;

	cep = siw_cep_get_of_qp(qp);
	if (!cep)
		return;
	if (qp->attrs.state == SIW_QP_STATE_RTS)
		cep_stream_down(qp, cep);
	else
		iw_mpa_disconnect(cep->ep,
				  qp->attrs.state != SIW_QP_STATE_CLOSING);
	siw_cep_put(cep);
}
