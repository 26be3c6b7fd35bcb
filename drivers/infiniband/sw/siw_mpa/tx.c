// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * One sender at a time.
 *
 * Whoever posts sends at once, if nothing is being sent. If TCP has no room, the rest is left to
 * siw's TX thread, which TCP wakes up. TCP may do so before the poster has noted where it stopped,
 * and then both would go on with the same FPDU. So posters hold tx_lock. Many QPs share the thread,
 * so it does not wait for the lock. If the lock is taken the thread leaves a note, and the poster
 * wakes it again. A poster need not wait for the thread: as long as something is being sent, a post
 * only queues.
 */

#define SIW_MPA_OWN_FILE

#include "siw/siw.h"
#include "siw/siw_verbs.h"
#include "siw_cm.h"
#include "tx.h"

/* Bits of siw_cep.tx_flags */
enum {
	TX_QUEUED,	/* for the thread; it has not looked yet */
	TX_MISSED,	/* the thread came while somebody else was sending */
};

/**
 * siw_mpa_tx_begin - send in the place of siw's TX thread
 * @cep: connection
 *
 * Context: process, sleeps; without the QP's state_lock.
 */
void siw_mpa_tx_begin(struct siw_cep *cep)
{
	mutex_lock(&cep->tx_lock);
}

/**
 * siw_mpa_tx_end - end what siw_mpa_tx_begin() began, and wake the thread if it came meanwhile
 * @cep: connection, from siw_mpa_tx_begin(); its QP has not been given up
 */
void siw_mpa_tx_end(struct siw_cep *cep)
{
	mutex_unlock(&cep->tx_lock);
	/* Pairs with the barrier in tx_try() */
	smp_mb();
	if (test_and_clear_bit(TX_MISSED, &cep->tx_flags))
		siw_sq_start(cep->qp);
}

/* If this fails, the note was left before the lock is released. Otherwise the lock is free. */
static bool tx_try(struct siw_cep *cep)
{
	if (mutex_trylock(&cep->tx_lock))
		return true;
	set_bit(TX_MISSED, &cep->tx_flags);
	/* Pairs with the barrier in siw_mpa_tx_end() */
	smp_mb__after_atomic();
	if (!mutex_trylock(&cep->tx_lock))
		return false;
	clear_bit(TX_MISSED, &cep->tx_flags);
	return true;
}

/* Is there a WQE to go on with? Otherwise siw would complete an old one once more. */
static bool tx_is_active(struct siw_qp *qp)
{
	unsigned long flags;
	bool active;

	spin_lock_irqsave(&qp->sq_lock, flags);
	active = tx_wqe(qp)->wr_status != SIW_WR_IDLE;
	spin_unlock_irqrestore(&qp->sq_lock, flags);
	return active;
}

/**
 * siw_mpa_tx_resume - siw's TX thread wants to go on with a QP
 * @state_lock: the QP's; locked for reading if there is something to send
 *
 * siw calls this in the place of down_read_trylock().
 *
 * Context: process.
 *
 * Return: 1 if @state_lock was taken, else 0: leave the QP alone.
 */
int siw_mpa_tx_resume(struct rw_semaphore *state_lock)
{
	struct siw_qp *qp = container_of(state_lock, struct siw_qp, state_lock);
	struct siw_cep *cep = siw_cep_get_of_qp(qp);
	bool active = false;

	if (!cep)
		return 0;
	clear_bit(TX_QUEUED, &cep->tx_flags);
	/* Pairs with test_and_set_bit(): a post that comes now queues the QP anew. */
	smp_mb__after_atomic();
	if (tx_try(cep)) {
		active = tx_is_active(qp);
		mutex_unlock(&cep->tx_lock);
	}
	siw_cep_put(cep);
	return active && down_read_trylock(state_lock);
}

/**
 * siw_mpa_tx_queue - give a QP to siw's TX thread
 * @tx_list: the QP's; the caller has taken a reference for the thread
 * @queue: the thread's
 *
 * siw calls this in the place of llist_add(). If the QP were in the list already, llist_add() would
 * lose the QPs in front of it.
 *
 * Context: any.
 *
 * Return: whether @queue was empty.
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

/**
 * siw_mpa_tx_stop - siw, which is being unloaded, stops a TX thread
 * @thread: the thread
 *
 * siw calls this in the place of kthread_stop(), and would remove its devices only after that. This
 * removes the devices first. Otherwise a consumer in the kernel, which may post work when it lets
 * go of a device, would wait for a thread that has ended, and so would whoever destroys the QP.
 *
 * Context: process, sleeps.
 *
 * Return: what the thread returned.
 */
int siw_mpa_tx_stop(struct task_struct *thread)
{
	ib_unregister_driver(RDMA_DRIVER_SIW);
	return kthread_stop(thread);
}

/**
 * siw_mpa_post_send - siw's siw_post_send()
 * @base_qp: as there
 * @wr: as there
 * @bad_wr: as there
 *
 * Context: process for a QP of user space, else any.
 *
 * Return: 0 or a negative errno.
 */
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
