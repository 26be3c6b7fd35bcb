// SPDX-License-Identifier: GPL-2.0
/*
 * iw_mpa's layer L0 (MPA frames and negotiation), without I/O, locks or allocations, under
 * libFuzzer. The input is any bytes from a peer, split in any way, and any local policy. What must
 * hold for each input:
 * - the reader gives the same result for every split, and consumes no byte after the frame;
 * - a frame that can be decoded can be encoded, and decodes to the same again;
 * - the result of a negotiation is within the limits of the device and of the RFCs.
 * The sanitizers find other errors.
 *
 * Input: byte 0 role, 1 seed of the splits, 2..9 local policy, then the frame.
 */

#include <rdma/iw_mpa_proto.h>

#include <stdlib.h>

#define FUZZ_HEAD	10

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void must(bool cond)
{
	if (!cond)
		abort();
}

/* Feed a frame to the reader, in pieces by @seed, or at once if it is 0. Return the bytes taken. */
static size_t feed(struct iw_mpa_reader *rd, const u8 *data, size_t size, u32 seed,
		   enum iw_mpa_reason *reason)
{
	size_t taken = 0;

	if (!seed)
		return iw_mpa_reader_feed(rd, data, size, reason);
	*reason = IW_MPA_R_OK;
	while (!*reason && rd->need && taken < size) {
		size_t n = min((size_t)rd->need, size - taken);

		seed = seed * 1103515245 + 12345;
		n = min(n, (size_t)1 + (seed >> 16) % 7);
		taken += iw_mpa_reader_feed(rd, data + taken, n, reason);
	}
	return taken;
}

static void check_round_trip(const struct iw_mpa_frame *frame)
{
	u8 buf[IW_MPA_FRAME_MAX];
	struct iw_mpa_frame again;
	int len;

	len = iw_mpa_frame_encode(frame, buf, sizeof(buf));
	must(len >= IW_MPA_HDR_SIZE && len <= IW_MPA_FRAME_MAX);
	must(!iw_mpa_frame_decode(buf, len, frame->reply, &again));
	must(again.pd_len == frame->pd_len);
	must(!again.pd_len || !memcmp(again.pd, frame->pd, again.pd_len));
	must(again.ird == frame->ird && again.ord == frame->ord);
	must(again.p2p == frame->p2p && again.rtr == frame->rtr);
	must(again.crc == frame->crc && again.markers == frame->markers);
	must(again.reject == frame->reject && again.rev == frame->rev);
}

static struct iw_mpa_local make_local(const u8 *head)
{
	struct iw_mpa_local local = {
		.max_ird	= head[2] << 6 | (head[3] >> 2),
		.max_ord	= head[4] << 6 | (head[5] >> 2),
		.rev		= head[6] & 1 ? IW_MPA_REV_2 : IW_MPA_REV_1,
		.p2p		= head[6] & 2,
		.crc		= head[6] & 4,
		.rx_markers	= head[6] & 8,
		.tx_markers	= head[6] & 16,
		.strict		= head[6] & 32,
		.rtr_send	= head[7] & IW_MPA_RTR_ALL,
		.rtr_accept	= (head[7] >> 3 & IW_MPA_RTR_ALL) ?: IW_MPA_RTR_WRITE,
		.ird		= head[8],
		.ord		= head[9],
	};

	local.max_ird = min(local.max_ird, IW_MPA_DEPTH_MAX);
	local.max_ord = min(local.max_ord, IW_MPA_DEPTH_MAX);
	return local;
}

/* Check the parameters that a negotiation, good or failed, has returned */
static void check_limits(const struct iw_mpa_local *local,
			 const struct iw_mpa_params *params)
{
	must(params->ird <= local->max_ird && params->ord <= local->max_ord);
	must(!(params->rtr & ~(params->initiator ? local->rtr_send : local->rtr_accept)));
}

static void check_params(const struct iw_mpa_local *local,
			 const struct iw_mpa_params *params,
			 const struct iw_mpa_frame *peer)
{
	must(!peer->enhanced || peer->ird == IW_MPA_DEPTH_ULP ||
	     params->ord <= peer->ird);
	must(!params->crc || peer->crc || local->crc);
	must(!peer->markers || local->tx_markers);
	must(params->p2p == !!params->rtr);
}

static void check_responder(const struct iw_mpa_local *local,
			    const struct iw_mpa_frame *req)
{
	struct iw_mpa_params params;
	struct iw_mpa_frame rep;
	enum iw_mpa_reason reason;

	reason = iw_mpa_negotiate_request(local, req, &rep, &params);
	must(rep.reject == (reason != IW_MPA_R_OK));
	must(rep.enhanced == req->enhanced && rep.rev == req->rev);
	must(!rep.enhanced || rep.p2p == req->p2p);
	must(rep.p2p ? rep.rtr : !rep.rtr);
	must(reason || req->rev <= local->rev);
	check_limits(local, &params);
	check_round_trip(&rep);
	if (!reason)
		check_params(local, &params, req);
}

static void check_initiator(const struct iw_mpa_local *local,
			    const struct iw_mpa_frame *rep)
{
	struct iw_mpa_params params;
	struct iw_mpa_frame req;
	enum iw_mpa_reason reason;

	iw_mpa_make_request(local, &req);
	check_round_trip(&req);
	reason = iw_mpa_negotiate_reply(local, &req, rep, &params);
	must(rep->reject ? reason == IW_MPA_R_REJECTED : reason != IW_MPA_R_REJECTED);
	check_limits(local, &params);
	if (reason)
		return;
	check_params(local, &params, rep);
	must(!rep->enhanced || rep->ord == IW_MPA_DEPTH_ULP ||
	     params.ird >= rep->ord);
	must(!(params.rtr & ~(rep->rtr & local->rtr_send)));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	const u8 *octets = data + FUZZ_HEAD;
	enum iw_mpa_reason whole, split;
	_Alignas(2) u8 buf_a[IW_MPA_FRAME_MAX], buf_b[IW_MPA_FRAME_MAX];
	struct iw_mpa_reader a, b;
	struct iw_mpa_local local;
	struct iw_mpa_frame frame;
	size_t taken;
	bool reply;

	if (size < FUZZ_HEAD)
		return 0;
	size -= FUZZ_HEAD;
	reply = data[0] & 1;

	iw_mpa_reader_init(&a, reply, buf_a);
	iw_mpa_reader_init(&b, reply, buf_b);
	taken = feed(&a, octets, size, 0, &whole);
	feed(&b, octets, size, data[1] | 1, &split);
	must(whole == split);
	must(whole || a.need == b.need);
	if (whole || a.need)
		return 0;

	must(!iw_mpa_frame_decode(octets, taken, reply, &frame));
	check_round_trip(&frame);
	local = make_local(data);
	if (reply)
		check_initiator(&local, &frame);
	else
		check_responder(&local, &frame);
	return 0;
}
