/* SPDX-License-Identifier: GPL-2.0 */
/* A TCP connection, and a fake driver whose device takes it over: for suites of takeover/ */
#ifndef _IW_MPA_LEAVING_H
#define _IW_MPA_LEAVING_H

#include "ep.h"
#include "iw_mpa_fakes.h"
#include "iw_mpa_quiet.h"
#include "offload.h"
#include "stats.h"
#include "takeover/takeover.h"
#include "takeover/takeovers.h"

#define QUIET_MS	300	/* longer than TCP's delayed ACK and its first RTO */
#define RX_MAX		16

/* A connection that a device takes over from the host's TCP */
struct leaving {
	struct iw_mpa_ep	ep;		/* endpoint; no work item handles its events */
	struct iw_mpa_sock	*ms;		/* iw_mpa's socket */
	/* the socket's sock, also once the takeover has moved the socket out of @ms */
	struct sock		*sk;
	struct iw_mpa_device	dev;
	struct iw_mpa_takeover_ops ops;		/* ops for takeover that the device has */
	struct fake_id		*fid;		/* cm_id with the addresses */
	struct socket		*listener;	/* the peer's listening socket */
	struct socket		*peer;
	struct iw_mpa_tcb	tcb;	/* copy of the record, from prepare or leaving_record() */
	/* copy of the unread bytes of the record, which are valid only within prepare */
	u8			rx[RX_MAX];
	struct iw_mpa_takeover	*takeover;	/* for iw_mpa_stream_released() */
	char			log[80];	/* names of the driver's ops that were called */
	/* how often the report callback of @ms got PEER_CLOSED */
	unsigned int		closed;
	int			failed;		/* errno that the report callback got */
	u8			rtr;		/* argument of send_rtr */
	int			fail;		/* result of prepare */
	/* function that is called within prepare, or NULL */
	void			(*within)(void);
	bool			watch;	/* prepare calls iw_mpa_stream_watch() */
	int			told;		/* how often path_changed was called */
	struct iw_mpa_path	path;	/* path_changed's last argument; its dst may be freed */
};

struct leaving *leaving_open(struct kunit *test);
void leaving_close(struct leaving *lv);
void leaving_exit(struct kunit *test);
void leaving_release(struct leaving *lv);
void leaving_end_device(struct leaving *lv);
enum iw_mpa_reason leaving_record(struct leaving *lv);
enum iw_mpa_reason leaving_freeze(struct leaving *lv);
unsigned long leaving_count(const struct leaving *lv, enum iw_mpa_counter counter);
void leaving_read(struct leaving *lv, size_t len);
void leaving_talk(struct leaving *lv, struct kunit *test);
int leaving_connect(struct leaving *lv, struct iw_mpa_sock *ms);
void leaving_attach(struct ib_qp *qp, struct sock *sk, struct iw_mpa_stream *stream);
int leaving_told(const struct leaving *lv);

#endif /* _IW_MPA_LEAVING_H */
