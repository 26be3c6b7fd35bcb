// SPDX-License-Identifier: GPL-2.0
/* Functions that bring a connection to the state in which a test begins: see iw_mpa_fakes.h. */

#include "ep.h"
#include "iw_mpa_fakes.h"
#include "sock.h"

#include <linux/atomic.h>
#include <linux/in.h>
#include <linux/sched/mm.h>

static void conn_init(struct fake_conn *c, struct fakes *f)
{
	*c = (struct fake_conn) {
		.f = f,
		.qp = &f->qps[0],
		.param = {
			.private_data		= "hello",
			.private_data_len	= 5,
			.ird			= CONN_IRD,
			.ord			= CONN_ORD,
			.qpn			= 1,
		},
	};
}

/* After iw_connect: have the peer accept the TCP connection and receive the Request. */
void conn_answer_dial(struct fake_conn *c)
{
	c->peer = peer_accept(c->f, c->listener);
	peer_recv_frame(c->f, c->peer, &c->frame);
}

/* Make a listening socket of the peer, and a cm_id with which the ULP can connect to it. */
void conn_aim(struct fake_conn *c, int family)
{
	c->fid = fake_id_create(c->f);
	c->listener = peer_listen(c->f, c->fid, family);
}

/* Have the ULP connect. When this function returns the peer has received the Request. */
void conn_dial(struct fake_conn *c)
{
	conn_init(c, c->f);
	conn_aim(c, AF_INET);
	KUNIT_ASSERT_EQ(c->f->test, 0, fake_connect(c->fid, &c->param));
	conn_answer_dial(c);
}

/* The peer sends a Reply for the peer-to-peer model, with Write as RTR type. */
void conn_send_good_reply(struct fake_conn *c)
{
	peer_make_v2(&c->frame, true, MPA_C, MPA_A | CONN_PEER_IRD,
		     MPA_CW | CONN_PEER_ORD, "world", 5);
	peer_send_frame(c->f, c->peer, &c->frame);
}

/* Have the peer send a good Reply, and wait for CONNECT_REPLY. */
void conn_connect(struct fake_conn *c)
{
	conn_send_good_reply(c);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_CONNECT_REPLY, 0);
}

/* Connect as initiator. When this function returns the peer has received the RTR message. */
void conn_active_up(struct fake_conn *c)
{
	conn_dial(c);
	conn_connect(c);
	peer_recv_rtr(c->f, c->peer, IW_MPA_RTR_WRITE);
}

struct fake_conn *conn_new(struct kunit *test)
{
	struct fake_conn *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	conn_init(c, test->priv);
	return c;
}

/* Listen on a port that no earlier test has used: TCP may still have connections on old ports. */
void conn_listen(struct fake_conn *c)
{
	static atomic_t port = ATOMIC_INIT(20000);
	struct sockaddr_in *sin;

	conn_init(c, c->f);
	c->lis = fake_id_create(c->f);
	sin = (struct sockaddr_in *)&c->lis->id.local_addr;
	sin->sin_port = htons(atomic_inc_return(&port));
	c->lis->id.m_local_addr = c->lis->id.local_addr;
	KUNIT_ASSERT_EQ(c->f->test, 0, fake_listen(c->lis));
}

/* Make a Request for the peer-to-peer model, with all RTR types. */
void conn_make_good_request(struct fake_conn *c)
{
	peer_make_v2(&c->frame, false, MPA_C, MPA_A | MPA_B | CONN_PEER_IRD,
		     MPA_CW | MPA_D | CONN_PEER_ORD, "world", 5);
}

/* Have the peer connect, and send a good Request. */
void conn_send_request(struct fake_conn *c)
{
	c->peer = peer_connect(c->f, c->lis);
	conn_make_good_request(c);
	peer_send_frame(c->f, c->peer, &c->frame);
}

/* Have the peer connect and send the Request in @c->frame, and wait for CONNECT_REQUEST. */
void conn_ask(struct fake_conn *c)
{
	c->peer = peer_connect(c->f, c->lis);
	peer_send_frame(c->f, c->peer, &c->frame);
	c->fid = fake_next_request(c->lis);
}

/*
 * Listen, and have the peer connect and send a Request of revision 2 for the peer-to-peer model.
 * Wait for CONNECT_REQUEST.
 */
void conn_call(struct fake_conn *c)
{
	conn_listen(c);
	conn_send_request(c);
	c->fid = fake_next_request(c->lis);
}

/* As conn_call(), with a Request of revision 1 */
void conn_call_v1(struct fake_conn *c)
{
	conn_listen(c);
	peer_make(&c->frame, false, MPA_C, 1, NULL, 0);
	conn_ask(c);
}

/* As conn_call(), with a Request for the client-server model whose flags are @flags */
void conn_call_v2(struct fake_conn *c, u8 flags)
{
	conn_listen(c);
	peer_make_v2(&c->frame, false, flags, CONN_PEER_IRD, CONN_PEER_ORD, NULL, 0);
	conn_ask(c);
}

/* Have the ULP accept, and have the peer receive the Reply. */
void conn_accept(struct fake_conn *c)
{
	KUNIT_ASSERT_EQ(c->f->test, 0, fake_accept(c->fid, &c->param));
	peer_recv_frame(c->f, c->peer, &c->frame);
}

void conn_send_rtr(struct fake_conn *c)
{
	u8 rtr[IW_MPA_FPDU_MAX];

	peer_send(c->f, c->peer, rtr, peer_make_rtr_write(rtr));
}

/* Have the peer send an RTR message, and wait for ESTABLISHED. */
void conn_establish(struct fake_conn *c)
{
	conn_send_rtr(c);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_ESTABLISHED, 0);
}

/*
 * Connect as responder. When this function returns, the RTR message has arrived, and iw_mpa has
 * reported ESTABLISHED.
 */
void conn_passive_up(struct fake_conn *c)
{
	conn_call(c);
	conn_accept(c);
	conn_establish(c);
}

/* Expect CONNECT_REPLY with @status as the only event, and that iw_mpa drops its references. */
void conn_expect_failed(struct fake_conn *c, int status)
{
	fake_expect_event(c->fid, 0, IW_CM_EVENT_CONNECT_REPLY, status);
	fake_expect_closed(c->fid, 1);
	KUNIT_EXPECT_EQ(c->f->test, c->qp->refs, 1);
}

/* Expect CLOSE as the second and last event of a connection, and that stop got @why. */
void conn_expect_closed(struct fake_conn *c, enum iw_mpa_reason why)
{
	fake_expect_event(c->fid, 1, IW_CM_EVENT_CLOSE, 0);
	fake_expect_closed(c->fid, 2);
	KUNIT_EXPECT_EQ(c->f->test, c->qp->why, why);
	KUNIT_EXPECT_EQ(c->f->test, c->qp->refs, 1);
}

/*
 * Expect a Reject with the private data @pd; then, if @term is not 0, a Terminate message with the
 * MPA error code @term, of layer 2 and error type 0 (RFC 6581 9.1 and 9.3); and FIN only after the
 * peer's FIN (RFC 5044 7.1.2).
 */
void conn_expect_refusal(struct fake_conn *c, const char *pd, u8 term)
{
	struct kunit *test = c->f->test;
	size_t len = strlen(pd);

	peer_recv_frame(c->f, c->peer, &c->frame);
	KUNIT_EXPECT_EQ(test, memcmp(c->frame.buf, "MPA ID Rep Frame", 16), 0);
	KUNIT_EXPECT_EQ(test, peer_frame_flags(&c->frame) & (MPA_R | MPA_S),
			MPA_R | MPA_S);
	KUNIT_EXPECT_EQ(test, (size_t)peer_frame_pd_len(&c->frame), 4 + len);
	KUNIT_EXPECT_EQ(test, memcmp(c->frame.buf + 24, pd, len), 0);
	if (term)
		peer_recv_term(c->f, c->peer, term);
	peer_expect_quiet(c->f, c->peer);
	peer_fin(c->peer);
	peer_expect_eof(c->f, c->peer);
}

/*
 * Expect a Reject, then FIN, from a device that is removed. Without a Reject the peer would
 * conclude that this end lacks the MPA revision of its Request. FIN follows at once, since no
 * endpoint is left to wait for the peer's FIN.
 */
void conn_expect_reject_and_fin(struct fake_conn *c)
{
	struct kunit *test = c->f->test;

	peer_recv_frame(c->f, c->peer, &c->frame);
	KUNIT_EXPECT_EQ(test, memcmp(c->frame.buf, "MPA ID Rep Frame", 16), 0);
	KUNIT_EXPECT_EQ(test, peer_frame_rev(&c->frame), 2);
	KUNIT_EXPECT_EQ(test, peer_frame_flags(&c->frame) & (MPA_R | MPA_S), MPA_R | MPA_S);
	KUNIT_EXPECT_TRUE(test, peer_frame_word(&c->frame, 0) & MPA_A);
	peer_expect_eof(c->f, c->peer);
}

/* Argument of fake_look(), which searches for the endpoint that reports events for a cm_id */
struct fake_search {
	const struct iw_cm_id	*id;
	struct iw_mpa_ep	*found;	/* the endpoint, with a reference, or NULL */
};

static void fake_look(struct iw_mpa_ep *ep, void *arg)
{
	struct fake_search *search = arg;

	if (READ_ONCE(ep->up.cm_id) == search->id && !search->found)
		search->found = iw_mpa_ep_hold(ep);
}

/* Return the endpoint that reports events for a cm_id, with a reference, or NULL. */
struct iw_mpa_ep *fake_ep(struct fake_id *fid)
{
	struct fake_search search = { .id = &fid->id };
	unsigned int i;

	for (i = 0; i < IW_MPA_EP_BUCKETS; i++)
		iw_mpa_ep_look(i, fake_look, &search);
	return search.found;
}

/*
 * Make an endpoint look as if another context were handling its events: then iw_mpa handles none of
 * them, and a test finds them in @ep->events.
 */
void fake_ep_setup(struct iw_mpa_ep *ep)
{
	spin_lock_init(&ep->lock);
	ep->busy = true;
	ep->found = IW_MPA_EV_NONE;
	atomic_set(&ep->held, 1);
}

void fake_sock_ignore(struct iw_mpa_sock *ms, enum iw_mpa_event event, int err)
{
}

int fake_sock_connect(struct fake_id *fid, struct iw_mpa_sock *ms)
{
	struct iw_mpa_sock_opts opts = {
		.net	= &init_net,
		.local	= iw_mpa_addr(&fid->id.m_local_addr),
		.remote	= iw_mpa_addr(&fid->id.m_remote_addr),
	};

	return iw_mpa_sock_connect(ms, &opts);
}

/*
 * Connect @ms to the peer in a memalloc_noio scope, as iw_mpa does for its calls of TCP. The scope
 * lasts until the task of the test ends. Return the peer's socket.
 */
struct socket *fake_sock_open(struct fakes *f, struct iw_mpa_sock *ms)
{
	struct fake_id *fid = fake_id_create(f);
	struct socket *listener = peer_listen(f, fid, AF_INET);

	memalloc_noio_save();
	ms->report = fake_sock_ignore;
	KUNIT_ASSERT_EQ(f->test, 0, fake_sock_connect(fid, ms));
	return peer_accept(f, listener);
}

/* Return a wildcard listener for the port of @c->lis. */
struct fake_id *conn_wildcard(const struct fake_conn *c, struct fakes *f)
{
	struct fake_id *lis = fake_id_create(f);
	struct sockaddr_in *sin = (struct sockaddr_in *)&lis->id.local_addr;

	sin->sin_addr.s_addr = htonl(INADDR_ANY);
	sin->sin_port = ((struct sockaddr_in *)&c->lis->id.local_addr)->sin_port;
	lis->id.m_local_addr = lis->id.local_addr;
	return lis;
}
