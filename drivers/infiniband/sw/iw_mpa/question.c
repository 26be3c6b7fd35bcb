// SPDX-License-Identifier: GPL-2.0
/*
 * The question to the ULP, CONNECT_REQUEST, and its answers, iw_accept and iw_reject.
 *
 * The state table says whether the question is open. This file says which connection an answer is
 * for. Only this file reads and writes the word provider_data of a passive cm_id. The word is a
 * number:
 *
 *	of the connection, odd		until iw_accept has returned
 *	of a QP, even			from then on: the QP of the last iw_accept
 *	0				if iw_accept has failed, or has not returned when iw_reject
 *					begins
 *
 * A number needs no reference and no end. This matters since iw_cm may drop a question silently,
 * may answer a question that is void, and does not say when it frees a cm_id. The number of a
 * connection leads to its endpoint while the endpoint lives, and never to another one. The number
 * of a QP leads to the reference that iw_cm has on it. While there is this reference, no other QP
 * can get the number.
 *
 * iw_cm lets a ULP accept again until it has handled ESTABLISHED. It then takes a reference on the
 * QP of the new call, and forgets the reference of the call before. If iw_accept returned an error,
 * iw_cm would believe that no event follows, and crash on the event. So a further iw_accept returns
 * success, and gives the forgotten reference back, even if the connection has ended and the
 * endpoint is gone.
 *
 * Accepts of one cm_id do not overlap: the callers of rdma_cm ensure that. iw_reject may overlap
 * with iw_accept. When iw_cm calls iw_reject it has left CONN_RECV, the only state in which it
 * takes an error of iw_accept; in any other the error is a BUG there. So iw_reject clears the word
 * first, and an iw_accept that finds its number gone returns 0. iw_cm then expects no event.
 *
 * That covers an iw_reject that begins before iw_accept has settled the word. It cannot cover one
 * that begins later, while iw_accept returns an error. rdma_ucm has one mutex for both calls, and
 * iw_cm waits for the end of iw_accept before it destroys a cm_id. So this concerns a ULP in the
 * kernel alone: it must not reject a connection while its own rdma_accept() of it runs.
 */

#include "question.h"
#include "backlog.h"
#include "end.h"
#include "ep.h"
#include "event.h"
#include "qp.h"
#include "rnic.h"
#include "stats.h"
#include "upcall.h"

#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

static unsigned long question_word(const struct iw_cm_id *id)
{
	return (unsigned long)READ_ONCE(id->provider_data);
}

/* Return: whether the word was @from, and has become @to. */
static bool question_change_word(struct iw_cm_id *id, unsigned long from, unsigned long to)
{
	return cmpxchg(&id->provider_data, (void *)from, (void *)to) == (void *)from;
}

static bool question_is_connection(unsigned long word)
{
	return word & 1;
}

/* Numbers of QPs have 24 bits. */
static unsigned long question_of_qp(u32 qpn)
{
	return ((unsigned long)qpn + 1) << 1;
}

static u32 question_qpn(unsigned long word)
{
	return (word >> 1) - 1;
}

/**
 * iw_mpa_question_ask - raise CONNECT_REQUEST
 * @ep: responder with a complete Request
 *
 * The ULP may answer on another CPU before this has returned: see iw_mpa_event_claim().
 *
 * Context: the runner.
 *
 * Return: see IW_MPA_ACTIONS().
 */
enum iw_mpa_event iw_mpa_question_ask(struct iw_mpa_ep *ep)
{
	struct iw_cm_id *listen_id;
	enum iw_mpa_event event;

	if (ep->stray) {
		iw_mpa_end_set_reason(ep, IW_MPA_R_WRONG_DEVICE, 0);
		return IW_MPA_EV_LISTENER_GONE;
	}
	event = iw_mpa_backlog_turn(ep, &listen_id);
	if (event != IW_MPA_EV_NONE)
		return event;
	event = IW_MPA_EV_ASKED;
	if (iw_mpa_upcall_request(&ep->up, listen_id, &ep->peer, &ep->tuple))
		event = IW_MPA_EV_NO_ROOM;
	else
		iw_mpa_backlog_asked(ep);
	listen_id->rem_ref(listen_id);
	return event;
}

/*
 * @word: what provider_data is, or was when the answer began
 *
 * Return: the connection of a passive cm_id, with a reference; NULL if it has ended.
 */
static struct iw_mpa_ep *question_find(const struct iw_cm_id *id, unsigned long word)
{
	if (question_is_connection(word))
		return iw_mpa_ep_find(word);
	return word ? iw_mpa_ep_find_cm_id(id) : NULL;
}

/* Have the ULP's call handled, if it is not too late. */
static bool question_answer(struct iw_mpa_call *call, unsigned long word, enum iw_mpa_event answer)
{
	struct iw_mpa_ep *ep = question_find(call->id, word);

	if (!ep)
		return false;
	if (answer == IW_MPA_EV_ULP_REJECTED)
		iw_mpa_upcall_rejected(&ep->up);
	if (!iw_mpa_event_claim(ep, answer)) {
		iw_mpa_ep_put(ep);
		return false;
	}
	iw_mpa_backlog_answered(ep);
	ep->call = call;
	iw_mpa_event_run(ep, answer);
	return true;
}

/*
 * iw_cm has replaced its reference on the QP that @word names by one on the QP of number @qpn. With
 * the QP of the connection a further iw_accept says nothing new.
 */
static int question_accept_again(struct iw_cm_id *id, unsigned long word, u32 qpn)
{
	struct iw_mpa_device *dev = iw_mpa_device_get(id->device);
	struct iw_mpa_ep *ep;

	if (!dev)
		return 0;	/* removed: iw_cm must not even call */
	iw_mpa_count_for(dev->stats, IW_MPA_CNT_accepted_again);
	question_change_word(id, word, question_of_qp(qpn));
	iw_mpa_qp_give_back(dev, question_qpn(word));
	ep = question_find(id, word);
	if (ep && ep->off.qpn != qpn)
		iw_mpa_raise(ep, IW_MPA_EV_ULP_CHANGED_QP);
	if (ep)
		iw_mpa_ep_put(ep);
	iw_mpa_device_put(dev);
	return 0;
}

/**
 * iw_mpa_accept - iw_cm's iw_accept
 * @id: the new connection's cm_id
 * @param: the ULP's wishes; not kept
 *
 * The hand-off is done in the caller's context. If it fails, the peer gets a Reject. iw_cm lets a
 * ULP call again until it has handled ESTABLISHED: a further call with the same QP changes nothing,
 * one with another QP ends the connection.
 *
 * Context: process; does not wait for the peer.
 *
 * Return: 0, then exactly one ESTABLISHED follows, maybe before the return, but none behind or
 * beside iw_reject; or a negative errno, then no event follows: -ECONNRESET if the connection has
 * ended meanwhile; -EINVAL, -EBUSY, -ENOMEM as for iw_mpa_connect(); others as the hand-off failed.
 */
int iw_mpa_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct iw_mpa_call call = {
		.id = id, .param = param,
		.pd = param->private_data,
		.pd_len = param->private_data ? param->private_data_len : 0,
	};
	unsigned long word = question_word(id);

	if (!word)	/* iw_reject has begun */
		return 0;
	if (!question_is_connection(word))
		return question_accept_again(id, word, param->qpn);
	/* With the last event of the connection its reference on the cm_id goes. */
	id->add_ref(id);
	if (!question_answer(&call, word, IW_MPA_EV_ULP_ACCEPTED))
		call.err = -ECONNRESET;
	if (!question_change_word(id, word, call.err ? 0 : question_of_qp(param->qpn)))
		call.err = 0;
	id->rem_ref(id);
	return call.err;
}

/**
 * iw_mpa_reject - iw_cm's iw_reject
 * @id: the new connection's cm_id
 * @pd: private data, or NULL; not kept
 * @pd_len: octets at @pd
 *
 * A connection that was accepted is ended; iw_cm does not expect an event any more then. On return
 * nobody uses the cm_id: iw_cm may free it in its work queue, which would wait for itself if it had
 * to wait for a user. So this function waits for the runner, which may be within an op.
 *
 * Context: process; does not wait for the peer.
 *
 * Return: 0; -ECONNRESET if the connection has ended meanwhile. No event follows.
 */
int iw_mpa_reject(struct iw_cm_id *id, const void *pd, u8 pd_len)
{
	struct iw_mpa_call call = { .id = id, .pd = pd, .pd_len = pd ? pd_len : 0 };
	unsigned long word = question_word(id);

	/* Pairs with iw_mpa_accept() */
	if (question_is_connection(word) && !question_change_word(id, word, 0))
		word = question_word(id);
	return question_answer(&call, word, IW_MPA_EV_ULP_REJECTED) ? 0 : -ECONNRESET;
}
