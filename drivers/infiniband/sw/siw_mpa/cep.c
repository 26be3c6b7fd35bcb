// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A QP's connection: who holds it, and how siw gives it up. */

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

/**
 * siw_cep_put - drop a reference on a connection
 * @cep: connection
 */
void siw_cep_put(struct siw_cep *cep)
{
	kref_put(&cep->ref, cep_release);
}

/**
 * siw_cep_get_of_qp - take a reference on a QP's connection
 * @qp: the QP
 *
 * Context: any.
 *
 * Return: the connection, or NULL.
 */
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

/**
 * siw_qp_cm_drop - siw gives a connection up
 * @qp: the QP
 * @schedule: not used: nothing here waits
 *
 * siw calls this after an error in TX or RX, or from modify_qp with the state_lock held.
 *
 * Context: any.
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
		iw_mpa_stream_down(cep->ep);
	else
		iw_mpa_disconnect(cep->ep, qp->attrs.state != SIW_QP_STATE_CLOSING);
	siw_cep_put(cep);
}
