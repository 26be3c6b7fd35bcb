/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fake adapter (an RNIC with its own TCP), shared by the suites of cxgb4_mpa, which is the MPA
 * startup code for iw_cxgb4. A test passes bytes to cxgb4_mpa as if the peer had sent them, and
 * reads the bytes that cxgb4_mpa sends. The adapter records the events for iw_cm, and a test can
 * make each function of struct c4mpa_ops fail.
 */
#ifndef _CXGB4_ADAPTER_H
#define _CXGB4_ADAPTER_H

#include "../../drivers/infiniband/hw/cxgb4_mpa/mpa.h"
#include "raw_frame.h"

#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>

#define OUT_SIZE	1200
#define EVENTS_MAX	4
#define MAX_IRD		16
#define MAX_ORD		12

#define W	IW_MPA_RTR_WRITE
#define R	IW_MPA_RTR_READ

/* A fake adapter with one connection */
struct adapter {
	struct c4mpa_conn	conn;
	struct c4mpa_settings	settings;		/* settings of the module */
	/* bytes that cxgb4_mpa has sent, and that the test has not read yet */
	u8			out[OUT_SIZE];
	size_t			out_len;		/* number of bytes in @out */
	unsigned int		sends;			/* successful calls of adapter_send() */
	unsigned int		starts;			/* successful calls of adapter_start() */
	/* MPA parameters at the last successful call of adapter_start() */
	struct iw_mpa_params	program;
	struct c4mpa_event	event[EVENTS_MAX];	/* the events for iw_cm, in order */
	unsigned int		events;			/* number of elements of @event */
	bool			armed;
	bool			expired;
	bool			no_send;		/* adapter_send() fails */
	bool			no_start;		/* adapter_start() fails */
	bool			no_abort;		/* adapter_abort() fails */
	unsigned int		aborts;		/* successful calls of adapter_abort() */
	unsigned int		events_lost;	/* iw_cm refuses this many further events */
};

static struct adapter *adapter_of(struct c4mpa_conn *conn)
{
	return container_of(conn, struct adapter, conn);
}

static int adapter_send(struct c4mpa_conn *conn, const void *head, size_t head_len,
			const void *pd, size_t pd_len)
{
	struct adapter *a = adapter_of(conn);

	if (a->no_send || a->out_len + head_len + pd_len > OUT_SIZE)
		return -ENOBUFS;
	memcpy(a->out + a->out_len, head, head_len);
	if (pd_len)
		memcpy(a->out + a->out_len + head_len, pd, pd_len);
	a->out_len += head_len + pd_len;
	a->sends++;
	return 0;
}

static int adapter_start(struct c4mpa_conn *conn)
{
	struct adapter *a = adapter_of(conn);

	if (a->no_start)
		return -ENOSPC;
	a->starts++;
	a->program = conn->params;
	return 0;
}

static int adapter_event(struct c4mpa_conn *conn, const struct c4mpa_event *event)
{
	struct adapter *a = adapter_of(conn);

	if (a->events < EVENTS_MAX)
		a->event[a->events++] = *event;
	if (!a->events_lost)
		return 0;
	a->events_lost--;
	return -ENOMEM;
}

static bool adapter_disarm(struct c4mpa_conn *conn)
{
	struct adapter *a = adapter_of(conn);

	a->armed = false;
	return !a->expired;
}

static int adapter_abort(struct c4mpa_conn *conn)
{
	struct adapter *a = adapter_of(conn);

	if (a->no_abort)
		return -EIO;
	a->aborts++;
	return 0;
}

static const struct c4mpa_ops adapter_ops = {
	.send	= adapter_send,
	.start	= adapter_start,
	.event	= adapter_event,
	.disarm	= adapter_disarm,
	.abort	= adapter_abort,
};

static const struct c4mpa_settings settings_plain = {
	.max_ird	= MAX_IRD,
	.max_ord	= MAX_ORD,
	.rev		= 2,
	.rtr		= R,
	.p2p		= true,
	.crc		= true,
};

static inline void adapter_reset(struct adapter *a, const struct c4mpa_settings *settings,
				 bool initiator)
{
	memset(a, 0, sizeof(*a));
	a->settings = *settings;
	a->armed = true;
	c4mpa_init(&a->conn, &adapter_ops, settings, initiator);
}

static inline struct adapter *adapter_new(struct kunit *test, bool initiator)
{
	struct adapter *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, a);
	adapter_reset(a, &settings_plain, initiator);
	return a;
}

/*
 * Have the adapter @a send its MPA Request as initiator. Then empty @a->out, its record of sent
 * bytes, so that only bytes that are sent later are in it.
 */
static inline void adapter_connect(struct kunit *test, struct adapter *a)
{
	KUNIT_ASSERT_EQ(test, c4mpa_connect(&a->conn, 4, 2, "hello", 5), 0);
	KUNIT_ASSERT_EQ(test, a->sends, 1);
	a->out_len = 0;
	a->sends = 0;
}

/*
 * Pass @octets to cxgb4_mpa as received bytes, in pieces of at most @piece bytes. Each piece is in
 * an allocation of exactly its size, so that KASAN detects a read beyond its end.
 */
static inline enum c4mpa_verdict adapter_rx(struct kunit *test, struct adapter *a,
					    const u8 *octets, size_t len, size_t piece)
{
	enum c4mpa_verdict verdict = C4MPA_GO_ON;
	size_t done, n;
	u8 *buf;

	for (done = 0; done < len && !verdict; done += n) {
		n = min(piece, len - done);
		buf = kunit_kmalloc(test, n, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, buf);
		memcpy(buf, octets + done, n);
		verdict = a->conn.reader.reply ? c4mpa_rx_reply(&a->conn, buf, n) :
						 c4mpa_rx_request(&a->conn, buf, n);
		kunit_kfree(test, buf);
	}
	return verdict;
}

static const size_t pieces[] = { 1, 7, 20, 24, OUT_SIZE };

#endif /* _CXGB4_ADAPTER_H */
