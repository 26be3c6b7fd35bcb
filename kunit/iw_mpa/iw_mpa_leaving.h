/* SPDX-License-Identifier: GPL-2.0 */
/* A TCP connection, and a driver that takes it over: what the suites of the takeover share */
#ifndef _IW_MPA_LEAVING_H
#define _IW_MPA_LEAVING_H

#include "ep.h"
#include "iw_mpa_fakes.h"
#include "iw_mpa_quiet.h"
#include "offload.h"
#include "stats.h"
#include "takeover/takeover.h"
#include "takeover/takeovers.h"

#define QUIET_MS	300	/* longer than TCP delays an acknowledgment, and its first RTO */
#define RX_MAX		16

/**
 * struct leaving - a connection, and what a device was given of it
 * @ep: the endpoint, of which little is used
 * @ms: its socket
 * @sk: of the socket, which is the device's later on
 * @dev: its device
 * @ops: what the device can do
 * @fid: has the addresses
 * @listener: the peer's
 * @peer: the peer's socket
 * @tcb: the record
 * @rx: a copy of what it points to
 * @takeover: what to release
 * @log: ops of the driver
 * @closed: how often the socket reported that the peer has closed
 * @failed: the error that the socket reported
 * @rtr: of send_rtr
 * @fail: what prepare returns
 * @within: what happens meanwhile, or NULL
 * @watch: prepare wants to know of the path
 * @told: how often it was told
 * @path: what it was told last, without the route
 */
struct leaving {
	struct iw_mpa_ep	ep;
	struct iw_mpa_sock	*ms;
	struct sock		*sk;
	struct iw_mpa_device	dev;
	struct iw_mpa_takeover_ops ops;
	struct fake_id		*fid;
	struct socket		*listener;
	struct socket		*peer;
	struct iw_mpa_tcb	tcb;
	u8			rx[RX_MAX];
	struct iw_mpa_takeover	*takeover;
	char			log[80];
	unsigned int		closed;
	int			failed;
	u8			rtr;
	int			fail;
	void			(*within)(void);
	bool			watch;
	int			told;
	struct iw_mpa_path	path;
};

struct leaving *leaving_open(struct kunit *test);
void leaving_close(struct leaving *lv);
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
