// SPDX-License-Identifier: GPL-2.0
/*
 * The runner of an endpoint: it takes events, looks their cells of the state table up, and has
 * done what they say. It decides nothing itself.
 */

#include "run.h"
#include "action.h"
#include "config.h"
#include "ep.h"
#include "event.h"
#include "rnic.h"
#include "trace.h"

#include <linux/ratelimit.h>
#include <linux/sched/mm.h>
#include <rdma/ib_verbs.h>

static enum iw_mpa_reason run_tcp_reason(const struct iw_mpa_ep *ep)
{
	switch (READ_ONCE(ep->tcp_err)) {
	case ECONNREFUSED:
		return IW_MPA_R_TCP_REFUSED;
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EHOSTDOWN:
	case ENETDOWN:
		return IW_MPA_R_TCP_UNREACHABLE;
	}
	return IW_MPA_R_TCP_ERROR;
}

/*
 * An orderly end has its reason as it begins. If it fails, with octets of this end on their way,
 * the failure is the reason. A driver that gives the stream up behind the peer's FIN says that the
 * FIN was within an FPDU: that is how the peer has closed.
 */
static bool run_orderly_end_fails(enum iw_mpa_state state, enum iw_mpa_event event)
{
	switch (state) {
	case IW_MPA_ST_FINISHING:
	case IW_MPA_ST_HALF_CLOSED:
		return event == IW_MPA_EV_PEER_RESET || event == IW_MPA_EV_TCP_FAILED ||
		       event == IW_MPA_EV_STREAM_DOWN || event == IW_MPA_EV_STALLED;
	case IW_MPA_ST_PEER_FINISHED:
		return event == IW_MPA_EV_PEER_RESET || event == IW_MPA_EV_TCP_FAILED ||
		       event == IW_MPA_EV_STALLED;
	default:
		return false;
	}
}

/* The event may be why the connection ends, unless an action has found a better reason. */
static void run_note_reason(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	enum iw_mpa_reason reason = iw_mpa_fsm_reason(ep->state, event);
	int err = 0;

	if (event == IW_MPA_EV_TCP_FAILED && reason != IW_MPA_R_OK)
		reason = run_tcp_reason(ep);
	if (event == IW_MPA_EV_TCP_FAILED || event == IW_MPA_EV_PEER_RESET)
		err = -READ_ONCE(ep->tcp_err);
	if (run_orderly_end_fails(ep->state, event))
		ep->reason = IW_MPA_R_OK;
	iw_mpa_ep_set_error(ep, reason, err);
}

/*
 * Is the end of a connection that never came up news? Not if a ULP at either end
 * wanted it, if nobody listens, or if a client said nothing, as scanners do.
 */
static bool run_is_news(const struct iw_mpa_ep *ep)
{
	switch (ep->reason) {
	case IW_MPA_R_OK:
	case IW_MPA_R_REJECTED:
	case IW_MPA_R_TCP_REFUSED:
	case IW_MPA_R_ULP_REJECT:
	case IW_MPA_R_ULP_CLOSE:
	case IW_MPA_R_QP_GONE:
	case IW_MPA_R_DEVICE_GONE:
	case IW_MPA_R_LISTENER_GONE:
		return false;
	case IW_MPA_R_PEER_CLOSED:
	case IW_MPA_R_PEER_RESET:
		return ep->initiator || ep->reader.have;
	default:
		return true;
	}
}

/* The limit is the device's: what its peers do takes nobody else's lines away. */
static void run_log_failure(const struct iw_mpa_ep *ep)
{
	char err[sizeof(", errno -2147483648")] = "";

	/* What iw_connect cannot even begin is told by its errno. */
	if (ep->up.phase == IW_MPA_UP_CLOSE || (ep->initiator && ep->call) || !run_is_news(ep) ||
	    !READ_ONCE(ep->config->log) || !___ratelimit(&ep->dev->log_limit, "iw_mpa"))
		return;
	if (ep->err)
		snprintf(err, sizeof(err), ", errno %d", ep->err);
	pr_notice("iw_mpa: %s: connection %lu: %s %pISpc, peer %pISpc: %s%s (%s)\n",
		  dev_name(&ep->dev->ibdev->dev), ep->id,
		  ep->initiator ? "initiator" : "responder",
		  &ep->tuple.local.sa, &ep->tuple.remote.sa,
		  iw_mpa_reason_name(ep->reason), err,
		  iw_mpa_reason_text(ep->reason));
}

/* Do a transition's actions. The event that one ended in is the result; the rest is not done. */
static enum iw_mpa_event run_actions(struct iw_mpa_ep *ep, u32 actions)
{
	enum iw_mpa_event event = IW_MPA_EV_NONE;

	while (actions && event == IW_MPA_EV_NONE) {
		enum iw_mpa_action_nr nr = __ffs(actions);

		actions &= ~BIT(nr);
		event = iw_mpa_actions[nr](ep);
	}
	return event;
}

/* Handle one event. Return what follows from it: what an action finds out always has a cell. */
static enum iw_mpa_event run_step(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	const struct iw_mpa_transition *tr = iw_mpa_fsm_step(ep->state, event);

	if (WARN_ON_ONCE(!tr->defined))
		return IW_MPA_EV_NONE;
	if (tr->next >= IW_MPA_ST_FINISHING) {
		run_note_reason(ep, event);
		if (ep->state < IW_MPA_ST_FINISHING)
			run_log_failure(ep);
	}
	trace_iw_mpa_state(ep->id, ep->state, event, tr->next, ep->reason);
	iw_mpa_event_enter(ep, tr->next);
	return run_actions(ep, tr->actions);
}

/*
 * Storage reconnects through us: what is allocated below, also by a driver, must not wait for
 * storage to be written.
 */
static void run_events(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	unsigned int noio = memalloc_noio_save();

	while (event != IW_MPA_EV_NONE) {
		while (event != IW_MPA_EV_NONE)
			event = run_step(ep, event);
		ep->call = NULL;
		event = iw_mpa_event_next(ep, true);
	}
	memalloc_noio_restore(noio);
}

/**
 * iw_mpa_run - handle an event, and then those that were raised
 * @ep: endpoint, on which the caller has a reference; the caller is its runner, and ceases to be
 * @event: one that has a cell in the state
 *
 * Context: process, may sleep.
 */
void iw_mpa_run(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	run_events(ep, event);
}

static void run_work(struct iw_mpa_ep *ep)
{
	run_events(ep, iw_mpa_event_next(ep, false));
}

/**
 * iw_mpa_run_init - make endpoints possible
 *
 * Return: 0 or -ENOMEM.
 */
int iw_mpa_run_init(void)
{
	return iw_mpa_event_init(run_work, run_step);
}

/** iw_mpa_run_exit - wait for work that still holds a reference */
void iw_mpa_run_exit(void)
{
	iw_mpa_event_exit();
}
