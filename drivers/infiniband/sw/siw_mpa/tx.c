// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * At most one context sends for a QP of siw at a time.
 *
 * post_send of an application sends at once if no WQE of the QP is in progress.
 * If TCP's send buffer has no room, siw's TX thread sends the rest of the FPDU,
 * once TCP's write_space has woken it. That may be before the poster has
 * recorded how much it has sent: then both would send the same bytes. So
 * posters hold tx_lock. The thread serves many QPs, and must not wait for one:
 * if tx_lock is taken it sets TX_MISSED, and the poster wakes the thread again.
 * A poster need not wait for the thread: while that sends, a WQE is in
 * progress, and post_send only queues.
 */

#define SIW_MPA_OWN_FILE

#include "siw/siw.h"
#include "siw/siw_verbs.h"
#include "siw_cm.h"
#include "tx.h"

/* Bits of siw_cep.tx_flags */
enum {
	TX_QUEUED,	/* the QP is in the thread's list */
	TX_MISSED,	/* the thread has found tx_lock taken */
};

/*
 * post_send for an application, and repeat_rtr, call this before they send in
 * place of siw's TX thread. Process context; sleeps; must not hold the QP's
 * state_lock.
 */
void siw_mpa_tx_begin(struct siw_cep *cep)
{
	mutex_lock(&cep->tx_lock);
}

/*
 * post_send for an application, and repeat_rtr, call this after they have sent:
 * it wakes siw's TX thread if that has found tx_lock taken. cep->qp must still
 * exist.
 */
void siw_mpa_tx_end(struct siw_cep *cep)
{
	mutex_unlock(&cep->tx_lock);
	/* Pairs with tx_try(): unlock first, then read TX_MISSED. */
	smp_mb();
	if (test_and_clear_bit(TX_MISSED, &cep->tx_flags))
		siw_sq_start(cep->qp);
}

/* False if tx_lock is taken: then its holder will find TX_MISSED set. */
static bool tx_try(struct siw_cep *cep)
{
	if (mutex_trylock(&cep->tx_lock))
		return true;
	set_bit(TX_MISSED, &cep->tx_flags);
	/* Pairs with siw_mpa_tx_end(): set TX_MISSED, then try the lock. */
	smp_mb__after_atomic();
	if (!mutex_trylock(&cep->tx_lock))
		return false;
	clear_bit(TX_MISSED, &cep->tx_flags);
	return true;
}

/* Without a WQE in progress siw would complete the last WQE once more. */
static bool tx_is_active(struct siw_qp *qp)
{
	unsigned long flags;
	bool active;

	spin_lock_irqsave(&qp->sq_lock, flags);
	active = tx_wqe(qp)->wr_status != SIW_WR_IDLE;
	spin_unlock_irqrestore(&qp->sq_lock, flags);
	return active;
}

/*
 * siw's TX thread calls this in place of down_read_trylock(), for a QP of its
 * list. Returns 1 with @state_lock held if a WQE is in progress; 0 if none is,
 * or another context sends: then the thread skips the QP.
 */
int siw_mpa_tx_resume(struct rw_semaphore *state_lock)
{
	struct siw_qp *qp = container_of(state_lock, struct siw_qp, state_lock);
	struct siw_cep *cep = siw_cep_get_of_qp(qp);
	bool active = false;

	if (!cep)
		return 0;
	clear_bit(TX_QUEUED, &cep->tx_flags);
	/* Before the WQE's status is read: a later post queues the QP again. */
	smp_mb__after_atomic();
	if (tx_try(cep)) {
		active = tx_is_active(qp);
		mutex_unlock(&cep->tx_lock);
	}
	siw_cep_put(cep);
	return active && down_read_trylock(state_lock);
}

/*
 * siw calls this in place of llist_add(), to pass a QP to a TX thread, which
 * gets the caller's reference on the QP. If the QP is in @queue already,
 * llist_add() would cut off the QPs after it. Returns whether @queue was
 * empty. Any context.
 */
bool siw_mpa_tx_queue(struct llist_node *tx_list, struct llist_head *queue)
{
	struct siw_qp *qp = container_of(tx_list, struct siw_qp, tx_list);
	struct siw_cep *cep = siw_cep_get_of_qp(qp);
	bool queued;

	/* Without a connection the thread would do nothing with the QP. */
	queued = !cep || test_and_set_bit(TX_QUEUED, &cep->tx_flags);
	if (cep)
		siw_cep_put(cep);
	if (!queued)
		return llist_add(tx_list, queue);
	siw_qp_put(qp);
	return false;
}

/*
 * siw's module exit calls this in place of kthread_stop(), before siw's own
 * removal of its devices. So this function removes the devices itself before it
 * stops the thread: a kernel ULP may post work requests when it loses its
 * device, and would wait for ever for a TX thread that has ended, as would
 * destroy_qp.
 */
int siw_mpa_tx_stop(struct task_struct *thread)
{
	ib_unregister_driver(RDMA_DRIVER_SIW);
	return kthread_stop(thread);
}

/* post_send; that of an application's QP sends at once with tx_lock: sleeps. */
int siw_mpa_post_send(struct ib_qp *base_qp, const struct ib_send_wr *wr,
		      const struct ib_send_wr **bad_wr)
{
	struct siw_cep *cep = NULL;
	int err;

	if (!rdma_is_kernel_res(&base_qp->res))
		cep = siw_cep_get_of_qp(to_siw_qp(base_qp));
	if (!cep)
		return siw_post_send(base_qp, wr, bad_wr);
	siw_mpa_tx_begin(cep);
	err = siw_post_send(base_qp, wr, bad_wr);
	siw_mpa_tx_end(cep);
	siw_cep_put(cep);
	return err;
}
