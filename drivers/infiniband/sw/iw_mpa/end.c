// SPDX-License-Identifier: GPL-2.0
/* Why a connection ends, or comes up without what was asked for, and whether the log says so. */

#include "end.h"
#include "config.h"
#include "ep.h"
#include "rnic.h"

#include <linux/errno.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <rdma/ib_verbs.h>

static enum iw_mpa_reason end_tcp_reason(const struct iw_mpa_ep *ep)
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
 * The log is for administrators. It does not name what a ULP at either end wanted, a port on which
 * nobody listens, and a client that says nothing, as port scanners do.
 */
static bool end_is_news(const struct iw_mpa_ep *ep)
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

/*
 * One line about a connection. Each device has a rate limit of its own: its peers cannot suppress
 * the lines of other devices.
 */
static void end_log(const struct iw_mpa_ep *ep, const char *what, const char *err, const char *why)
{
	if (!READ_ONCE(ep->config->log) || !___ratelimit(&ep->dev->log_limit, "iw_mpa"))
		return;
	pr_notice("iw_mpa: %s: connection %lu: %s %pISpc, peer %pISpc: %s%s (%s)\n",
		  dev_name(&ep->dev->ibdev->dev), ep->id,
		  ep->initiator ? "initiator" : "responder",
		  &ep->tuple.local.sa, &ep->tuple.remote.sa, what, err, why);
}

static void end_log_failure(const struct iw_mpa_ep *ep)
{
	char err[sizeof(", errno -2147483648")] = "";

	/* If iw_connect fails at once, its errno has already told the caller. */
	if (ep->up.phase == IW_MPA_UP_CLOSE || (ep->initiator && ep->call) || !end_is_news(ep))
		return;
	if (ep->err)
		snprintf(err, sizeof(err), ", errno %d", ep->err);
	end_log(ep, iw_mpa_reason_name(ep->reason), err, iw_mpa_reason_text(ep->reason));
}

/**
 * iw_mpa_end_log_loss - have the log say what an initiator does without
 * @ep: initiator with a good Reply, and @lost not empty
 *
 * Context: the runner.
 */
void iw_mpa_end_log_loss(const struct iw_mpa_ep *ep)
{
	static const char * const what[] = {
		[IW_MPA_LOST_P2P]	= "comes up without the peer-to-peer model",
		[IW_MPA_LOST_DEPTHS]	= "comes up without depths",
		[IW_MPA_LOST_ALL]	= "comes up without the peer-to-peer model and depths",
	};
	const char *why = "its Reply declines";

	if (!ep->sent.enhanced)
		why = "it closed on revision 2";
	else if (!ep->peer.enhanced)
		why = "its Reply is not enhanced";
	end_log(ep, what[ep->lost], "", why);
}

/**
 * iw_mpa_end_set_reason - say why the connection ends, and which errno is behind the reason
 * @ep: endpoint
 * @reason: why; without effect if the endpoint has a reason already
 * @err: negative errno for people, or 0
 *
 * Context: the runner.
 */
void iw_mpa_end_set_reason(struct iw_mpa_ep *ep, enum iw_mpa_reason reason, int err)
{
	if (ep->reason)
		return;
	ep->reason = reason;
	ep->err = err;
}

/**
 * iw_mpa_end_note - an event ends the connection
 * @ep: endpoint, still in the state that met the event
 * @event: the event; it is the reason unless an action has found a better one
 *
 * Context: the runner.
 */
void iw_mpa_end_note(struct iw_mpa_ep *ep, enum iw_mpa_event event)
{
	enum iw_mpa_reason reason = iw_mpa_fsm_reason(ep->state, event);
	int err = 0;

	if (event == IW_MPA_EV_TCP_FAILED && reason != IW_MPA_R_OK)
		reason = end_tcp_reason(ep);
	if (event == IW_MPA_EV_TCP_FAILED || event == IW_MPA_EV_PEER_RESET)
		err = -READ_ONCE(ep->tcp_err);
	if (iw_mpa_fsm_step(ep->state, event)->fails)
		ep->reason = IW_MPA_R_OK;
	iw_mpa_end_set_reason(ep, reason, err);
	if (iw_mpa_fsm_states[ep->state].phase != IW_MPA_PHASE_END)
		end_log_failure(ep);
}
