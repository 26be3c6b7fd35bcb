// SPDX-License-Identifier: GPL-2.0
/*
 * The question to the ULP, CONNECT_REQUEST, and its answers, iw_accept and iw_reject.
 *
 * The state table says whether the question is open. This file says which connection an answer is
 * for. The word provider_data of a passive cm_id is read and written here alone; it is
 *
 *	the number of the connection		until iw_accept is handled
 *	the QP of the last iw_accept		from then on
 *	the number of that QP, shifted, | 2	likewise, if nobody finds the QP any more
 *	NULL					if iw_accept has failed
 *
 * A number leads to an endpoint as long as that lives, and to no other one later: iw_cm may drop
 * a question without a word, and answer one that is void.
 *
 * Behind the first iw_accept the word does not lead to the connection, whatever becomes of it, but
 * to the reference on a QP that iw_cm has. iw_cm lets a ULP accept again until it has handled
 * ESTABLISHED, takes a reference on the QP of that call, and forgets the one before. An error
 * would have it believe that no event follows, and then crash on the event. So a further iw_accept
 * gives back the reference that was forgotten, with success. The reference keeps the QP's memory,
 * so the pointer holds as long as it is needed, also when the connection has ended and the endpoint
 * is gone. iw_cm's accepts of one cm_id do not overlap: rdma_cm has a mutex.
 */

#include "question.h"
#include "backlog.h"
#include "ep.h"
#include "event.h"
#include "offload.h"
#include "qp.h"
#include "rnic.h"
#include "upcall.h"

#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>

#define QUESTION_NUMBER		BIT(0)	/* the word is the number of a connection */
#define QUESTION_LOST_QP	BIT(1)	/* the word has the number of a QP */
#define QUESTION_QPN_SHIFT	2

static unsigned long question_word(const struct iw_cm_id *id)
{
	return (unsigned long)READ_ONCE(id->provider_data);
}

static void question_set_word(struct iw_cm_id *id, unsigned long word)
{
	WRITE_ONCE(id->provider_data, (void *)word);
}

/**
 * iw_mpa_question_ask - raise CONNECT_REQUEST
 * @ep: responder with a complete Request
 *
 * The ULP may answer on another CPU before this has returned: see iw_mpa_event_claim().
 *
 * Context: the runner.
 *
 * Return: IW_MPA_EV_ASKED; IW_MPA_EV_NO_ROOM if iw_cm has no room or no memory, or if others
 * wait in front; IW_MPA_EV_LISTENER_GONE.
 */
enum iw_mpa_event iw_mpa_question_ask(struct iw_mpa_ep *ep)
{
	const struct iw_mpa_upcall_info info = {
		.peer		= &ep->peer,
		.tuple		= &ep->tuple,
		.max_ird	= ep->local.max_ird,
		.max_ord	= ep->local.max_ord,
	};
	struct iw_cm_id *listen_id;
	enum iw_mpa_event event;

	event = iw_mpa_backlog_turn(ep, &listen_id);
	if (event != IW_MPA_EV_NONE)
		return event;
	event = IW_MPA_EV_ASKED;
	if (iw_mpa_upcall_request(listen_id, ep->id, &info))
		event = IW_MPA_EV_NO_ROOM;
	else
		iw_mpa_backlog_asked(ep);
	listen_id->rem_ref(listen_id);
	return event;
}

/* Become the runner for a call, or be too late for it. Consumes the reference on @ep if so. */
static struct iw_mpa_ep *question_claim(struct iw_mpa_ep *ep, struct iw_mpa_call *call,
					enum iw_mpa_event answer)
{
	if (iw_mpa_event_claim(ep, answer)) {
		ep->call = call;
		return ep;
	}
	/* Somebody else is the runner, and may be about to raise an event that is too much. */
	if (answer == IW_MPA_EV_ULP_REJECTED)
		iw_mpa_raise(ep, answer);
	iw_mpa_ep_put(ep);
	return NULL;
}

/**
 * iw_mpa_question_answer - the ULP answers
 * @call: its call
 * @answer: IW_MPA_EV_ULP_ACCEPTED or IW_MPA_EV_ULP_REJECTED
 *
 * Context: process, may sleep.
 *
 * Return: the endpoint with a reference, and the caller is its runner, for iw_mpa_run() with
 * @answer; or NULL: the answer is late, the connection has ended.
 */
struct iw_mpa_ep *iw_mpa_question_answer(struct iw_mpa_call *call, enum iw_mpa_event answer)
{
	unsigned long word = question_word(call->id);
	struct iw_mpa_ep *ep;

	if (!(word & QUESTION_NUMBER))
		return NULL;
	ep = iw_mpa_ep_find(word);
	if (ep)
		ep = question_claim(ep, call, answer);
	if (ep)
		iw_mpa_backlog_answered(ep);
	return ep;
}

/**
 * iw_mpa_question_accepted - the question is answered with yes
 * @id: the cm_id
 * @qp: the QP that it was accepted with: iw_cm has a reference on it
 */
void iw_mpa_question_accepted(struct iw_cm_id *id, struct ib_qp *qp)
{
	question_set_word(id, (unsigned long)qp);
}

/**
 * iw_mpa_question_void - iw_accept fails: iw_cm gives its reference back, and waits for nothing
 * @id: the cm_id
 */
void iw_mpa_question_void(struct iw_cm_id *id)
{
	question_set_word(id, 0);
}

/**
 * iw_mpa_question_is_accepted - was the question of a cm_id answered with yes?
 * @id: passive cm_id
 *
 * Return: true if it was.
 */
bool iw_mpa_question_is_accepted(const struct iw_cm_id *id)
{
	unsigned long word = question_word(id);

	return word && !(word & QUESTION_NUMBER);
}

/**
 * iw_mpa_question_withdraw - the ULP rejects what it has accepted
 * @call: its iw_reject; of a cm_id that was accepted
 *
 * Whoever runs the connection raises no event behind that, whether it is coming up or ending.
 *
 * Context: process, may sleep.
 *
 * Return: as iw_mpa_question_answer(), for iw_mpa_run() with IW_MPA_EV_ULP_REJECTED.
 */
struct iw_mpa_ep *iw_mpa_question_withdraw(struct iw_mpa_call *call)
{
	struct iw_mpa_ep *ep = iw_mpa_ep_find_cm_id(call->id);

	return ep ? question_claim(ep, call, IW_MPA_EV_ULP_REJECTED) : NULL;
}

/*
 * The QP of a further iw_accept; NULL if nobody finds it any more: it is being destroyed, and waits
 * for the reference that iw_cm has.
 */
static struct ib_qp *question_qp(const struct iw_cm_id *id, u32 qpn)
{
	unsigned long word = question_word(id);
	struct ib_qp *before = word & QUESTION_LOST_QP ? NULL : (struct ib_qp *)word;

	/* While iw_cm had a reference no other QP could get the number. */
	if (before && before->qp_num == qpn)
		return before;
	return iw_mpa_offload_find_qp(id->device, qpn);
}

/**
 * iw_mpa_question_replace - iw_cm has replaced its reference on a QP by one on another
 * @dev: the device
 * @id: cm_id that was accepted
 * @qpn: number of the other QP
 *
 * The reference on the one before is given back, or will be as soon as its driver calls
 * iw_mpa_qp_gone().
 *
 * Context: process.
 */
void iw_mpa_question_replace(struct iw_mpa_device *dev, struct iw_cm_id *id, u32 qpn)
{
	unsigned long before = question_word(id);
	struct ib_qp *qp = question_qp(id, qpn);

	if (qp)
		question_set_word(id, (unsigned long)qp);
	else
		question_set_word(id, (unsigned long)qpn << QUESTION_QPN_SHIFT |
				      QUESTION_LOST_QP);
	if (before & QUESTION_LOST_QP)
		iw_mpa_qp_owe(dev, before >> QUESTION_QPN_SHIFT);
	else
		iw_mpa_offload_put_qp((struct ib_qp *)before);
}
