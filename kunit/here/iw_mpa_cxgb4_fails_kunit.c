// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of cxgb4_mpa, the MPA startup code for iw_cxgb4, with a fake adapter: failures of which a
 * malformed frame is not the cause; MPA revision 1; two instances of cxgb4_mpa that connect to each
 * other.
 */

#include "cxgb4_adapter.h"

#include <linux/unaligned.h>

#define OK	IW_MPA_R_OK

static const struct raw request_v1 = { REQ, 0x40, 1, 3, 3 };
static const struct raw request_v2 = { REQ, 0x50, 2, 7, 7, 0x8004, 0x4002 };
static const struct raw reply_v1 = { REP, 0x40, 1, 3, 3 };
static const struct raw reply_v2 = { REP, 0x50, 2, 7, 7, 0x8004, 0x4002 };
static const struct raw reject_v2 = { REP, 0x70, 2, 7, 7, 0x8004, 0x4002 };
static const struct raw reply_send_only = { REP, 0x50, 2, 4, 4, 0xc004, 0x0002 };

static enum c4mpa_verdict rx(struct kunit *test, struct adapter *a, const struct raw *raw)
{
	return adapter_rx(test, a, raw_alloc(test, raw), raw_len(raw), OUT_SIZE);
}

static struct adapter *connecting(struct kunit *test)
{
	struct adapter *a = adapter_new(test, true);

	adapter_connect(test, a);
	return a;
}

/* Return a responder that has received the Request @raw, and raised CONNECT_REQUEST for iw_cm */
static struct adapter *asked(struct kunit *test, const struct raw *raw)
{
	struct adapter *a = adapter_new(test, false);

	KUNIT_ASSERT_EQ(test, rx(test, a, raw), C4MPA_GO_ON);
	KUNIT_ASSERT_EQ(test, a->events, 1);
	return a;
}

static void expect_failed(struct kunit *test, const struct adapter *a, enum iw_mpa_reason why,
			  int status)
{
	KUNIT_EXPECT_EQ(test, a->conn.why, why);
	KUNIT_ASSERT_EQ(test, a->events, 1);
	KUNIT_EXPECT_EQ(test, a->event[0].type, C4MPA_CONNECT_REPLY);
	KUNIT_EXPECT_EQ(test, a->event[0].status, status);
	KUNIT_EXPECT_EQ(test, a->event[0].pd_len, 0);
}

/*
 * Bytes that follow a startup frame in the same buffer are FPDUs for the QP. cxgb4_mpa cannot give
 * them back to the device, which processes FPDUs itself. So cxgb4_mpa aborts the connection.
 */
static void cxgb4_octets_behind_a_frame_abort(struct kunit *test)
{
	u8 octets[IW_MPA_FRAME_MAX + 1] = {};
	struct adapter *a = connecting(test);

	raw_put(&reply_v2, octets);
	KUNIT_EXPECT_EQ(test, adapter_rx(test, a, octets, raw_len(&reply_v2) + 1, OUT_SIZE),
			C4MPA_ABORT);
	expect_failed(test, a, IW_MPA_R_EARLY_DATA, -EIO);
	KUNIT_EXPECT_EQ(test, a->starts, 0);

	adapter_reset(a, &settings_plain, false);
	raw_put(&request_v2, octets);
	KUNIT_EXPECT_EQ(test, adapter_rx(test, a, octets, raw_len(&request_v2) + 1, OUT_SIZE),
			C4MPA_ABORT);
	KUNIT_EXPECT_EQ(test, a->conn.why, IW_MPA_R_EARLY_DATA);
	KUNIT_EXPECT_EQ(test, a->events, 0);
	KUNIT_EXPECT_FALSE(test, a->armed);
}

/*
 * Bytes that arrive after the Request and before the ULP has answered cannot be kept until the QP
 * is bound, so cxgb4_mpa aborts the connection.
 */
static void cxgb4_octets_while_the_ulp_thinks_abort(struct kunit *test)
{
	struct adapter *a = connecting(test);
	u8 octet = 0;

	adapter_reset(a, &settings_plain, false);
	KUNIT_EXPECT_EQ(test, rx(test, a, &request_v2), C4MPA_GO_ON);
	KUNIT_EXPECT_EQ(test, a->events, 1);
	KUNIT_EXPECT_TRUE(test, a->armed);
	KUNIT_EXPECT_EQ(test, adapter_rx(test, a, &octet, 1, OUT_SIZE), C4MPA_ABORT);
	KUNIT_EXPECT_EQ(test, a->conn.why, IW_MPA_R_EARLY_DATA);
	KUNIT_EXPECT_EQ(test, a->events, 1);
	KUNIT_EXPECT_FALSE(test, a->armed);
	KUNIT_EXPECT_EQ(test, a->out_len, 0);
}

/*
 * If the initiator's timer has expired when a Reply arrives, cxgb4_mpa ignores the Reply and raises
 * no event: the timer's handler ends the connection, and raises the one CONNECT_REPLY.
 */
static void cxgb4_reply_behind_the_timer_is_left_alone(struct kunit *test)
{
	static const struct raw * const rows[] = { &reply_v2, &reject_v2, &reply_send_only };
	struct adapter *a;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		a = connecting(test);
		a->expired = true;
		KUNIT_EXPECT_EQ(test, rx(test, a, rows[i]), C4MPA_GO_ON);
		KUNIT_EXPECT_EQ(test, a->events, 0);
		KUNIT_EXPECT_EQ(test, a->starts, 0);
		KUNIT_EXPECT_EQ(test, a->out_len, 0);
	}
}

static void cxgb4_bad_frame_behind_the_timer_is_told_to_nobody(struct kunit *test)
{
	const struct bad_row *row = test->param_value;
	struct adapter *a = adapter_new(test, row->reply);

	if (row->reply)
		adapter_connect(test, a);
	a->expired = true;
	KUNIT_EXPECT_EQ(test, rx(test, a, &row->raw), row->reply ? C4MPA_GO_ON : C4MPA_ABORT);
	KUNIT_EXPECT_EQ(test, a->events, 0);
	KUNIT_EXPECT_EQ(test, a->out_len, 0);
}

/* While the peer's startup frame is incomplete cxgb4_mpa raises no event, and does not answer. */
static void cxgb4_part_of_a_frame_waits_for_the_rest(struct kunit *test)
{
	const struct good_row *row = test->param_value;
	struct adapter *a = adapter_new(test, row->want.reply);
	u8 *octets = raw_alloc(test, &row->raw);
	size_t len;

	for (len = 1; len < raw_len(&row->raw); len++) {
		adapter_reset(a, &settings_plain, row->want.reply);
		if (row->want.reply)
			adapter_connect(test, a);
		KUNIT_EXPECT_EQ(test, adapter_rx(test, a, octets, len, OUT_SIZE), C4MPA_GO_ON);
		KUNIT_EXPECT_EQ(test, a->events, 0);
		KUNIT_EXPECT_EQ(test, a->out_len, 0);
		KUNIT_EXPECT_TRUE(test, a->armed);
	}
}

static void cxgb4_device_that_does_not_start_fails_the_connection(struct kunit *test)
{
	struct adapter *a = connecting(test);

	a->no_start = true;
	KUNIT_EXPECT_EQ(test, rx(test, a, &reply_v2), C4MPA_ABORT);
	expect_failed(test, a, IW_MPA_R_DRIVER, -EIO);

	a = asked(test, &request_v2);
	a->no_start = true;
	KUNIT_EXPECT_EQ(test, c4mpa_accept(&a->conn, 4, 2, NULL, 0), -ENOSPC);
	KUNIT_EXPECT_EQ(test, a->conn.why, IW_MPA_R_DRIVER);
	KUNIT_EXPECT_EQ(test, a->out_len, 0);
	KUNIT_EXPECT_EQ(test, a->events, 1);
}

static void cxgb4_device_that_does_not_send_fails_the_connection(struct kunit *test)
{
	struct adapter *a = adapter_new(test, true);

	a->no_send = true;
	KUNIT_EXPECT_EQ(test, c4mpa_connect(&a->conn, 4, 2, NULL, 0), -ENOBUFS);

	a = connecting(test);
	a->no_send = true;
	KUNIT_EXPECT_EQ(test, rx(test, a, &reply_send_only), C4MPA_ABORT);
	expect_failed(test, a, IW_MPA_R_NO_RTR, -EPROTO);

	a = asked(test, &request_v2);
	a->no_send = true;
	KUNIT_EXPECT_EQ(test, c4mpa_accept(&a->conn, 4, 2, NULL, 0), -ENOBUFS);
	KUNIT_EXPECT_EQ(test, a->conn.why, IW_MPA_R_SEND);
	KUNIT_EXPECT_EQ(test, a->events, 1);

	a = asked(test, &request_v2);
	a->no_send = true;
	KUNIT_EXPECT_EQ(test, c4mpa_reject(&a->conn, NULL, 0), -ENOBUFS);
}

/*
 * c4mpa_connect() refuses private data that does not fit into a Request of revision 2, more than
 * 508 bytes. No ULP reaches this limit, since rdma_cm takes at most 255 bytes.
 */
static void cxgb4_private_data_beyond_a_frame_are_refused(struct kunit *test)
{
	struct adapter *a = adapter_new(test, true);
	u8 *pd = kunit_kzalloc(test, 513, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, pd);
	KUNIT_EXPECT_EQ(test, c4mpa_connect(&a->conn, 4, 2, pd, 509), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, a->sends, 0);
	KUNIT_EXPECT_EQ(test, c4mpa_connect(&a->conn, 4, 2, pd, 508), 0);
	KUNIT_EXPECT_EQ(test, a->out_len, IW_MPA_FRAME_MAX);
}

/*
 * A peer that asks for Markers cannot parse an FPDU without them, and cxgb4_mpa cannot insert
 * Markers into a Terminate message. So cxgb4_mpa sends no Terminate message, and aborts the
 * connection.
 */
static void cxgb4_no_terminate_message_to_a_peer_that_wants_markers(struct kunit *test)
{
	static const struct raw raw = { REP, 0xd0, 2, 4, 4, 0xc004, 0x0002 };
	struct adapter *a = connecting(test);

	KUNIT_EXPECT_EQ(test, rx(test, a, &raw), C4MPA_ABORT);
	expect_failed(test, a, IW_MPA_R_NO_RTR, -EPROTO);
	KUNIT_EXPECT_EQ(test, a->out_len, 0);
}

static void cxgb4_event_lost_ends_the_connection(struct kunit *test)
{
	struct adapter *a = connecting(test);

	/* iw_cm refuses CONNECT_REPLY: a second one, without private data, reports -ENOMEM. */
	a->events_lost = 1;
	KUNIT_EXPECT_EQ(test, rx(test, a, &reply_v2), C4MPA_ABORT);
	KUNIT_EXPECT_EQ(test, a->conn.why, IW_MPA_R_EVENT_LOST);
	KUNIT_ASSERT_EQ(test, a->events, 2);
	KUNIT_EXPECT_EQ(test, a->event[0].status, 0);
	KUNIT_EXPECT_EQ(test, a->event[0].pd_len, 3);
	KUNIT_EXPECT_EQ(test, a->event[1].status, -ENOMEM);
	KUNIT_EXPECT_EQ(test, a->event[1].pd_len, 0);

	/* iw_cm refuses CONNECT_REPLY of a Reject: it is raised again, without private data. */
	a = connecting(test);
	a->events_lost = 1;
	KUNIT_EXPECT_EQ(test, rx(test, a, &reject_v2), C4MPA_CLOSE);
	KUNIT_EXPECT_EQ(test, a->conn.why, IW_MPA_R_REJECTED);
	KUNIT_ASSERT_EQ(test, a->events, 2);
	KUNIT_EXPECT_EQ(test, a->event[1].status, -ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, a->event[1].pd_len, 0);

	/* iw_cm refuses CONNECT_REQUEST: cxgb4_mpa aborts, since no ULP will answer. */
	a = adapter_new(test, false);
	a->events_lost = 1;
	KUNIT_EXPECT_EQ(test, rx(test, a, &request_v2), C4MPA_ABORT);
	KUNIT_EXPECT_EQ(test, a->conn.why, IW_MPA_R_EVENT_LOST);
	KUNIT_EXPECT_FALSE(test, a->armed);

	a = asked(test, &request_v2);
	a->events_lost = 1;
	KUNIT_EXPECT_EQ(test, c4mpa_accept(&a->conn, 4, 2, NULL, 0), -ENOMEM);
	KUNIT_EXPECT_EQ(test, a->conn.why, IW_MPA_R_EVENT_LOST);
}

/* Revision 1 */

static void cxgb4_revision_above_its_own_is_aborted_without_a_reply(struct kunit *test)
{
	struct c4mpa_settings settings = settings_plain;
	struct adapter *a = adapter_new(test, false);

	settings.rev = 1;
	adapter_reset(a, &settings, false);
	KUNIT_EXPECT_EQ(test, rx(test, a, &request_v2), C4MPA_ABORT);
	KUNIT_EXPECT_EQ(test, a->conn.why, IW_MPA_R_BAD_REV);
	KUNIT_EXPECT_EQ(test, a->events, 0);
	KUNIT_EXPECT_EQ(test, a->out_len, 0);

	adapter_reset(a, &settings, false);
	KUNIT_EXPECT_EQ(test, rx(test, a, &request_v1), C4MPA_GO_ON);
	KUNIT_EXPECT_EQ(test, a->events, 1);
}

static void cxgb4_falls_back_to_revision_1_once(struct kunit *test)
{
	struct c4mpa_settings settings = settings_plain;
	struct adapter *a = connecting(test);
	u8 octet = 'M';

	KUNIT_EXPECT_TRUE(test, c4mpa_may_fall_back(&a->conn));
	KUNIT_EXPECT_EQ(test, adapter_rx(test, a, &octet, 1, 1), C4MPA_GO_ON);
	KUNIT_EXPECT_FALSE(test, c4mpa_may_fall_back(&a->conn));

	settings.rev = 1;
	adapter_reset(a, &settings, true);
	adapter_connect(test, a);
	KUNIT_EXPECT_FALSE(test, c4mpa_may_fall_back(&a->conn));
	KUNIT_EXPECT_EQ(test, rx(test, a, &reply_v1), C4MPA_GO_ON);
	KUNIT_EXPECT_EQ(test, a->event[0].status, 0);
	KUNIT_EXPECT_EQ(test, a->program.rev, 1);
}

/*
 * A FIN in place of a Reply shows that the peer does not support MPA revision 2: the initiator
 * connects once more, with revision 1. A FIN in the middle of a Reply ends the connection.
 */
static void cxgb4_fin_in_place_of_a_reply_falls_back(struct kunit *test)
{
	struct c4mpa_settings settings = settings_plain;
	struct adapter *a = connecting(test);
	u8 octet = 'M';

	KUNIT_EXPECT_EQ(test, c4mpa_rx_fin(&a->conn), C4MPA_FIN_AGAIN);
	KUNIT_EXPECT_EQ(test, a->aborts, 1);
	KUNIT_EXPECT_FALSE(test, a->armed);
	KUNIT_EXPECT_EQ(test, a->events, 0);
	KUNIT_EXPECT_TRUE(test, c4mpa_take_again(&a->conn));

	adapter_reset(a, &settings, true);
	adapter_connect(test, a);
	KUNIT_EXPECT_EQ(test, adapter_rx(test, a, &octet, 1, 1), C4MPA_GO_ON);
	KUNIT_EXPECT_EQ(test, c4mpa_rx_fin(&a->conn), C4MPA_FIN_ENDS);
	KUNIT_EXPECT_TRUE(test, a->armed);

	/* If the timer has expired, its handler ends the connection: there is no second attempt. */
	adapter_reset(a, &settings, true);
	adapter_connect(test, a);
	a->expired = true;
	KUNIT_EXPECT_EQ(test, c4mpa_rx_fin(&a->conn), C4MPA_FIN_ENDS);

	settings.rev = 1;
	adapter_reset(a, &settings, true);
	adapter_connect(test, a);
	KUNIT_EXPECT_EQ(test, c4mpa_rx_fin(&a->conn), C4MPA_FIN_ENDS);
	KUNIT_EXPECT_TRUE(test, a->armed);
	KUNIT_EXPECT_EQ(test, a->aborts, 0);
	KUNIT_EXPECT_FALSE(test, c4mpa_take_again(&a->conn));
}

/*
 * After a FIN in place of a Reply the initiator connects once more, with revision 1. It does so
 * only once, even if that second attempt fails before it has sent a Request.
 */
static void cxgb4_fin_is_an_answer_once(struct kunit *test)
{
	struct adapter *a = connecting(test);

	KUNIT_EXPECT_EQ(test, c4mpa_rx_fin(&a->conn), C4MPA_FIN_AGAIN);
	KUNIT_EXPECT_TRUE(test, c4mpa_take_again(&a->conn));
	KUNIT_EXPECT_FALSE(test, c4mpa_take_again(&a->conn));
}

/*
 * Before an initiator connects once more with revision 1, it aborts the first connection. If the
 * abort fails the device never reports the end of that connection. So there is no second attempt,
 * and CONNECT_REPLY with an error is raised at once.
 */
static void cxgb4_fin_is_the_end_without_an_abort(struct kunit *test)
{
	struct adapter *a = connecting(test);

	a->no_abort = true;
	KUNIT_EXPECT_EQ(test, c4mpa_rx_fin(&a->conn), C4MPA_FIN_LOST);
	KUNIT_EXPECT_FALSE(test, c4mpa_take_again(&a->conn));
	KUNIT_ASSERT_EQ(test, a->events, 1);
	KUNIT_EXPECT_EQ(test, a->event[0].type, C4MPA_CONNECT_REPLY);
	KUNIT_EXPECT_EQ(test, a->event[0].status, -ECONNRESET);
	KUNIT_EXPECT_NULL(test, a->event[0].pd);
}

/*
 * RFC 5044 (MPA revision 1) has no RTR message. With revision 1 the settings of cxgb4_mpa say
 * whether the initiator's QP is to send one, and the responder's QP to await one, and of which
 * type.
 */
static void cxgb4_revision_1_has_the_rtr_of_the_settings(struct kunit *test)
{
	struct c4mpa_settings settings = settings_plain;
	struct adapter *a = adapter_new(test, false);

	KUNIT_ASSERT_EQ(test, rx(test, a, &request_v1), C4MPA_GO_ON);
	KUNIT_ASSERT_EQ(test, c4mpa_accept(&a->conn, 0, 0, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, a->program.rtr, R);
	KUNIT_EXPECT_EQ(test, a->program.ird, 1);

	settings.rtr = W;
	adapter_reset(a, &settings, false);
	KUNIT_ASSERT_EQ(test, rx(test, a, &request_v1), C4MPA_GO_ON);
	KUNIT_ASSERT_EQ(test, c4mpa_accept(&a->conn, 0, 0, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, a->program.rtr, W);
	KUNIT_EXPECT_EQ(test, a->program.ird, 0);

	settings.p2p = false;
	adapter_reset(a, &settings, false);
	KUNIT_ASSERT_EQ(test, rx(test, a, &request_v1), C4MPA_GO_ON);
	KUNIT_ASSERT_EQ(test, c4mpa_accept(&a->conn, 0, 0, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, a->program.rtr, 0);

	settings = settings_plain;
	settings.rev = 1;
	adapter_reset(a, &settings, true);
	KUNIT_ASSERT_EQ(test, c4mpa_connect(&a->conn, 0, 0, NULL, 0), 0);
	KUNIT_ASSERT_EQ(test, rx(test, a, &reply_v1), C4MPA_GO_ON);
	KUNIT_EXPECT_EQ(test, a->program.rtr, R);
	KUNIT_EXPECT_EQ(test, a->program.ord, 1);
	KUNIT_EXPECT_EQ(test, a->program.ird, 0);
}

/*
 * RFC 6581 9.2: a Request with bit A gets a Reply with bit A, even if this end's settings ask for
 * no RTR message.
 */
static void cxgb4_peer_to_peer_is_the_initiators_to_ask(struct kunit *test)
{
	struct c4mpa_settings settings = settings_plain;
	struct adapter *a = adapter_new(test, false);

	settings.p2p = false;
	adapter_reset(a, &settings, false);
	KUNIT_ASSERT_EQ(test, rx(test, a, &request_v2), C4MPA_GO_ON);
	KUNIT_ASSERT_EQ(test, c4mpa_accept(&a->conn, 4, 2, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, a->program.rtr, R);
	KUNIT_EXPECT_EQ(test, a->out[20] & 0x80, 0x80);
}

/*
 * A ULP that rejects gives no IRD and ORD. So the Reject has the ORD of the Request as IRD, and the
 * IRD of the Request as ORD, but not more than the device's limits.
 */
static void cxgb4_reject_has_the_depths_that_were_asked_for(struct kunit *test)
{
	static const struct raw few = { REQ, 0x50, 2, 4, 4, 0x8009, 0x4005 };
	static const struct raw many = { REQ, 0x50, 2, 4, 4, 0x8000 | 200, 0x4000 | 300 };
	struct adapter *a = asked(test, &few);

	KUNIT_ASSERT_EQ(test, c4mpa_reject(&a->conn, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, get_unaligned_be16(a->out + 20), 0x8005);
	KUNIT_EXPECT_EQ(test, get_unaligned_be16(a->out + 22), 0x4009);
	a = asked(test, &many);
	KUNIT_ASSERT_EQ(test, c4mpa_reject(&a->conn, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, get_unaligned_be16(a->out + 20), 0x8000 | MAX_IRD);
	KUNIT_EXPECT_EQ(test, get_unaligned_be16(a->out + 22), 0x4000 | MAX_ORD);
}

/* Two instances */

static void connect_pair(struct kunit *test, struct adapter *ini, struct adapter *res, size_t piece)
{
	KUNIT_ASSERT_EQ(test, c4mpa_connect(&ini->conn, 4, 2, "hello", 5), 0);
	KUNIT_ASSERT_EQ(test, adapter_rx(test, res, ini->out, ini->out_len, piece), C4MPA_GO_ON);
	KUNIT_ASSERT_EQ(test, res->events, 1);
	KUNIT_EXPECT_EQ(test, memcmp(res->event[0].pd, "hello", 5), 0);
	KUNIT_ASSERT_EQ(test, c4mpa_accept(&res->conn, 3, 9, "welcome", 7), 0);
	KUNIT_ASSERT_EQ(test, adapter_rx(test, ini, res->out, res->out_len, piece), C4MPA_GO_ON);
	KUNIT_ASSERT_EQ(test, ini->events, 1);
	KUNIT_EXPECT_EQ(test, ini->event[0].status, 0);
	KUNIT_EXPECT_EQ(test, memcmp(ini->event[0].pd, "welcome", 7), 0);
}

static void expect_pair(struct kunit *test, const struct adapter *ini, const struct adapter *res)
{
	const struct iw_mpa_params *i = &ini->program, *r = &res->program;
	bool enhanced = ini->settings.rev == 2;

	KUNIT_EXPECT_EQ(test, ini->starts, 1);
	KUNIT_EXPECT_EQ(test, res->starts, 1);
	KUNIT_EXPECT_EQ(test, i->rev, r->rev);
	KUNIT_EXPECT_EQ(test, i->crc, r->crc);
	KUNIT_EXPECT_EQ(test, i->tx_markers, r->rx_markers);
	KUNIT_EXPECT_EQ(test, i->rx_markers, r->tx_markers);
	KUNIT_EXPECT_EQ(test, i->rx_markers, ini->settings.markers);
	if (!enhanced)
		return;
	KUNIT_EXPECT_EQ(test, i->rtr, r->rtr);
	KUNIT_EXPECT_EQ(test, i->rtr, ini->settings.p2p ? ini->settings.rtr : 0);
	KUNIT_EXPECT_LE(test, i->ord, r->ird);
	KUNIT_EXPECT_LE(test, r->ord, i->ird);
	KUNIT_EXPECT_EQ(test, r->ord, 4);
}

/*
 * Two instances of cxgb4_mpa connect to each other, with all combinations of the initiator's
 * setting of the MPA revision and of both ends' settings of RTR type, peer-to-peer model, CRC and
 * Markers. Each instance receives the other's frame as a whole or in pieces.
 */
static void cxgb4_two_of_them_connect(struct kunit *test)
{
	struct c4mpa_settings settings[2] = { settings_plain, settings_plain };
	struct adapter *ini = adapter_new(test, true), *res = adapter_new(test, false);
	unsigned int i;

	for (i = 0; i < 512; i++) {
		settings[0].rev = i & 1 ? 1 : 2;
		settings[0].rtr = i & 2 ? W : R;
		settings[1].rtr = i & 4 ? W : R;
		settings[0].p2p = i & 8;
		settings[1].p2p = i & 16;
		settings[0].crc = i & 32;
		settings[1].crc = i & 64;
		settings[0].markers = i & 128;
		settings[1].markers = i & 256;
		adapter_reset(ini, &settings[0], true);
		adapter_reset(res, &settings[1], false);
		connect_pair(test, ini, res, pieces[i % ARRAY_SIZE(pieces)]);
		expect_pair(test, ini, res);
	}
}

static struct kunit_case cxgb4_fails_cases[] = {
	KUNIT_CASE(cxgb4_octets_behind_a_frame_abort),
	KUNIT_CASE(cxgb4_octets_while_the_ulp_thinks_abort),
	KUNIT_CASE(cxgb4_reply_behind_the_timer_is_left_alone),
	KUNIT_CASE_PARAM(cxgb4_bad_frame_behind_the_timer_is_told_to_nobody, bad_gen_params),
	KUNIT_CASE_PARAM(cxgb4_part_of_a_frame_waits_for_the_rest, good_gen_params),
	KUNIT_CASE(cxgb4_device_that_does_not_start_fails_the_connection),
	KUNIT_CASE(cxgb4_device_that_does_not_send_fails_the_connection),
	KUNIT_CASE(cxgb4_private_data_beyond_a_frame_are_refused),
	KUNIT_CASE(cxgb4_no_terminate_message_to_a_peer_that_wants_markers),
	KUNIT_CASE(cxgb4_event_lost_ends_the_connection),
	KUNIT_CASE(cxgb4_revision_above_its_own_is_aborted_without_a_reply),
	KUNIT_CASE(cxgb4_falls_back_to_revision_1_once),
	KUNIT_CASE(cxgb4_fin_in_place_of_a_reply_falls_back),
	KUNIT_CASE(cxgb4_fin_is_an_answer_once),
	KUNIT_CASE(cxgb4_fin_is_the_end_without_an_abort),
	KUNIT_CASE(cxgb4_revision_1_has_the_rtr_of_the_settings),
	KUNIT_CASE(cxgb4_peer_to_peer_is_the_initiators_to_ask),
	KUNIT_CASE(cxgb4_reject_has_the_depths_that_were_asked_for),
	KUNIT_CASE(cxgb4_two_of_them_connect),
	{}
};

static struct kunit_suite cxgb4_fails_suite = {
	.name = "iw_mpa_cxgb4_fails",
	.test_cases = cxgb4_fails_cases,
};

kunit_test_suite(cxgb4_fails_suite);
