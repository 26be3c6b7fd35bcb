// SPDX-License-Identifier: GPL-2.0
/*
 * Run session.c on the lines of stdin, and print a line for each:
 *   encode SSN CODE A RTR IRD ORD PD	the bytes of the chunk, or the errno; PD is in hex, or "-"
 *   decode PPID CHUNK			CODE SSN A RTR IRD ORD PD, or the reason for a refusal
 *   rtr SSN RTR, term SSN CODE		the Segment chunk of an RTR or Terminate message
 *   walk active|passive LETTERS	"legal", or where and why that end refuses the sequence
 *   place EXPECTED SSN WINDOW		whether SSN is next, ahead or invalid
 *   play LETTERS A RTR IRD ORD PD	PPID and chunk for each letter, as the two ends send them
 *
 * Letters are those of session.py.
 */

#include "reason.h"
#include "session.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define ROOM	(1 << 17)

static const char letters[] = "siartecx";

static size_t unhex(const char *text, u8 *to)
{
	size_t len = 0;

	if (*text == '-')
		return 0;
	for (; text[0] && text[1]; text += 2) {
		const char pair[] = { text[0], text[1], 0 };

		to[len++] = strtoul(pair, NULL, 16);
	}
	return len;
}

static void hex(const u8 *from, size_t len)
{
	if (!len)
		printf("-");
	while (len--)
		printf("%02x", *from++);
	printf("\n");
}

static void encode(const char *args)
{
	static u8 pd[ROOM];
	static char text[2 * ROOM];
	u8 buf[IW_MPA_CONTROL_MAX + 64];
	unsigned int ssn, code, p2p, rtr, ird, ord;
	struct iw_mpa_frame frame = {};
	int len;

	if (sscanf(args, "%u %u %u %u %u %u %s", &ssn, &code, &p2p, &rtr, &ird,
		   &ord, text) != 7)
		exit(1);
	frame.enhanced = code > IW_MPA_CHUNK_TERMINATE;
	frame.rev = frame.enhanced ? IW_MPA_REV_2 : IW_MPA_REV_1;
	frame.reply = code != IW_MPA_CHUNK_INITIATE &&
		      code != IW_MPA_CHUNK_ENH_INITIATE;
	frame.reject = code == IW_MPA_CHUNK_REJECT ||
		       code == IW_MPA_CHUNK_ENH_REJECT;
	frame.p2p = p2p;
	frame.rtr = rtr;
	frame.ird = ird;
	frame.ord = ord;
	frame.pd_len = unhex(text, pd);
	frame.pd = pd;
	len = iw_mpa_chunk_encode(ssn, code == IW_MPA_CHUNK_TERMINATE ? NULL :
							&frame,
				  buf, sizeof(buf));
	if (len < 0)
		printf("%d\n", len);
	else
		hex(buf, len);
}

static void decode(const char *args)
{
	static u8 buf[ROOM];
	static char text[2 * ROOM];
	struct iw_mpa_chunk chunk;
	unsigned int ppid;
	u8 *exact;
	size_t len;

	if (sscanf(args, "%u %s", &ppid, text) != 2)
		exit(1);
	len = unhex(text, buf);
	exact = malloc(len ?: 1);	/* so that the sanitizer detects a read after the end */
	memcpy(exact, buf, len);
	iw_mpa_chunk_decode(ppid, exact, len, &chunk);
	if (chunk.reason) {
		printf("%s\n", iw_mpa_reason_name(chunk.reason));
	} else {
		printf("%d %u %d %d %d %d ", chunk.code, chunk.ssn,
		       chunk.frame.p2p, chunk.frame.rtr, chunk.frame.ird,
		       chunk.frame.ord);
		hex(chunk.frame.pd, chunk.frame.pd_len);
	}
	free(exact);
}

static void segment(const char *args, bool term)
{
	u8 fpdu[IW_MPA_FPDU_MAX];
	unsigned int ssn, what;

	if (sscanf(args, "%u %u", &ssn, &what) != 2)
		exit(1);
	if (term)
		iw_mpa_fpdu_term(what, true, fpdu);
	else
		iw_mpa_fpdu_rtr(what, true, fpdu);
	hex(fpdu, iw_mpa_chunk_segment(ssn, fpdu));
}

/* Receive a chunk of the peer: make its bytes, and decode them, to test the decoder, too. */
static enum iw_mpa_reason receive(struct iw_mpa_session *session, u8 code)
{
	const u8 bytes[] = { session->rx_ssn >> 8, session->rx_ssn, 0, code,
			     0, 0, 0, 0 };
	struct iw_mpa_chunk chunk;

	iw_mpa_chunk_decode(code ? IW_MPA_PPID_CONTROL : IW_MPA_PPID_SEGMENT,
			    bytes, sizeof(bytes), &chunk);
	return iw_mpa_session_received(session, &chunk);
}

static void walk(const char *args)
{
	char role[16], text[4096];
	struct iw_mpa_session session;
	enum iw_mpa_reason reason;
	const char *at;

	if (sscanf(args, "%15s %4095s", role, text) != 2)
		exit(1);
	iw_mpa_session_init(&session, !strcmp(role, "active"));
	for (at = text; *at; at++) {
		u8 code = strchr(letters, tolower(*at)) - letters;

		if (!isupper(*at) == session.active) {
			reason = receive(&session, code);
			if (reason) {
				printf("%zu %s\n", at - text,
				       iw_mpa_reason_name(reason));
				return;
			}
		} else if (iw_mpa_session_may_send(&session, code)) {
			printf("%zu unsent\n", at - text);
			return;
		} else {
			iw_mpa_session_sent(&session, code);
			iw_mpa_session_acked(&session);
		}
	}
	printf("legal%s\n", iw_mpa_session_owes_terminate(&session) ?
			    ", owes" : "");
}

/* Make a chunk with the function code @code and the DDP-SSN that the session sends next */
static int make(const struct iw_mpa_session *from, u8 code,
		const struct iw_mpa_frame *content, u8 *buf)
{
	struct iw_mpa_frame frame = *content;

	if (code == IW_MPA_CHUNK_SEGMENT) {
		iw_mpa_fpdu_rtr(IW_MPA_RTR_WRITE, true, buf);
		return iw_mpa_chunk_segment(from->tx_ssn, buf);
	}
	frame.enhanced = code > IW_MPA_CHUNK_TERMINATE;
	frame.reply = code != IW_MPA_CHUNK_INITIATE &&
		      code != IW_MPA_CHUNK_ENH_INITIATE;
	frame.reject = code == IW_MPA_CHUNK_REJECT ||
		       code == IW_MPA_CHUNK_ENH_REJECT;
	return iw_mpa_chunk_encode(from->tx_ssn,
				   code == IW_MPA_CHUNK_TERMINATE ? NULL : &frame,
				   buf, IW_MPA_CONTROL_MAX);
}

static void play(const char *args)
{
	static u8 pd[ROOM];
	static char text[2 * ROOM];
	char script[4096];
	struct iw_mpa_session ends[2];
	struct iw_mpa_frame content = {};
	unsigned int p2p, rtr, ird, ord;
	const char *at;

	if (sscanf(args, "%4095s %u %u %u %u %s", script, &p2p, &rtr, &ird, &ord,
		   text) != 6)
		exit(1);
	content.p2p = p2p;
	content.rtr = rtr;
	content.ird = ird;
	content.ord = ord;
	content.pd_len = unhex(text, pd);
	content.pd = pd;
	iw_mpa_session_init(&ends[0], false);
	iw_mpa_session_init(&ends[1], true);
	for (at = script; *at; at++) {
		struct iw_mpa_session *from = &ends[!!isupper(*at)];
		struct iw_mpa_session *to = &ends[!isupper(*at)];
		u8 code = strchr(letters, tolower(*at)) - letters;
		u32 ppid = code ? IW_MPA_PPID_CONTROL : IW_MPA_PPID_SEGMENT;
		u8 buf[IW_MPA_CONTROL_MAX];
		struct iw_mpa_chunk chunk;
		int len = make(from, code, &content, buf);

		if (len < 0 || iw_mpa_session_may_send(from, code))
			exit(1);
		iw_mpa_session_sent(from, code);
		iw_mpa_session_acked(from);
		iw_mpa_chunk_decode(ppid, buf, len, &chunk);
		if (iw_mpa_session_place(to, chunk.ssn, 1) != IW_MPA_PLACE_NEXT ||
		    iw_mpa_session_received(to, &chunk))
			exit(1);
		printf("%u ", ppid);
		hex(buf, len);
	}
}

static void place(const char *args)
{
	static const char * const names[] = {
		[IW_MPA_PLACE_NEXT] = "next", [IW_MPA_PLACE_AHEAD] = "ahead",
		[IW_MPA_PLACE_INVALID] = "invalid",
	};
	struct iw_mpa_session session = {};
	unsigned int expected, ssn, window;

	if (sscanf(args, "%u %u %u", &expected, &ssn, &window) != 3)
		exit(1);
	session.rx_ssn = expected;
	puts(names[iw_mpa_session_place(&session, ssn, window)]);
}

int main(void)
{
	static char line[2 * ROOM + 64];

	while (fgets(line, sizeof(line), stdin)) {
		char *args = strchr(line, ' ');

		if (!args)
			return 1;
		*args++ = 0;
		if (!strcmp(line, "encode"))
			encode(args);
		else if (!strcmp(line, "decode"))
			decode(args);
		else if (!strcmp(line, "rtr"))
			segment(args, false);
		else if (!strcmp(line, "term"))
			segment(args, true);
		else if (!strcmp(line, "walk"))
			walk(args);
		else if (!strcmp(line, "place"))
			place(args);
		else if (!strcmp(line, "play"))
			play(args);
		else
			return 1;
	}
	return 0;
}
