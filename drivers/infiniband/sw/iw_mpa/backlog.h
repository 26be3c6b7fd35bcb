/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_BACKLOG_H
#define _IW_MPA_BACKLOG_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>

#include "sock.h"

struct iw_cm_id;
struct iw_mpa_config;
struct iw_mpa_device;
struct iw_mpa_ep;
struct net;

/**
 * struct iw_mpa_crowd - a device's connections in a network namespace
 * @node: in the device's list; all members are under the device's lock
 * @net: the namespace, held by each endpoint and each listening socket; a
 *	listener without a socket does not hold it: @net is only compared
 * @listeners: how many there are; the last one frees the crowd
 * @half_open: endpoints that wait for the MPA Request, or after a Reject for
 *	the peer to close; the oldest first
 * @half_open_count: how many
 * @no_room_count: Requests that wait for room
 *
 * A limit of one namespace must not close connections of another.
 */
struct iw_mpa_crowd {
	struct list_head	node;
	const struct net	*net;
	unsigned int		listeners;
	struct list_head	half_open;
	unsigned int		half_open_count;
	unsigned int		no_room_count;
};

/**
 * struct iw_mpa_listener - a listening cm_id, and its backlog
 * @id: its number
 * @sock: its TCP socket; some wildcards have none: see listen_open()
 * @dev: its device; held until destroy_listen, and by endpoints that it made
 * @node: in the device's list, changed under its lock and read under RCU
 * @cm_id: its cm_id, held until destroy_listen
 * @work: takes connections
 * @depth: the ULP's argument of rdma_listen(), > 0
 * @ifindex: interface or L3 master to which its socket is bound, or 0
 * @addr: address that it listens on
 * @rcu: for readers of the list
 * @ref: one until destroy_listen, and one for each live endpoint that it made
 *
 * @gone: destroy_listen has begun; from here on under the device's lock
 * @crowd: its connections and those of other listeners
 * @half_open: those half-open endpoints of @crowd that it has accepted
 * @half_open_count: how many
 * @no_room: endpoints whose Request waits for iw_cm's or the ULP's room
 * @no_room_count: how many
 * @unanswered: endpoints about which the ULP was asked, and has not answered
 * @allowed: limit of @unanswered: above @depth if the ULP does not answer
 * @moved: when the ULP was last asked or has last answered, in jiffies
 * @look: checks for room for the first endpoint of @no_room
 *
 * destroy_listen waits for @work and @look. After that only endpoints use the
 * members that the lock protects.
 */
struct iw_mpa_listener {
	unsigned long		id;
	struct iw_mpa_sock	sock;
	struct iw_mpa_device	*dev;
	struct list_head	node;
	struct iw_cm_id		*cm_id;
	struct delayed_work	work;
	unsigned int		depth;
	int			ifindex;
	union iw_mpa_addr	addr;
	struct rcu_head		rcu;
	refcount_t		ref;

	bool			gone;
	struct iw_mpa_crowd	*crowd;
	struct list_head	half_open;
	unsigned int		half_open_count;
	struct list_head	no_room;
	unsigned int		no_room_count;
	unsigned int		unanswered;
	unsigned int		allowed;
	unsigned long		moved;
	struct delayed_work	look;
};

bool iw_mpa_backlog_open(struct iw_mpa_listener *lis, const struct net *net);
void iw_mpa_backlog_stop(struct iw_mpa_listener *lis);
void iw_mpa_backlog_close(struct iw_mpa_listener *lis);
void iw_mpa_backlog_enter(struct iw_mpa_ep *ep, struct iw_mpa_listener *lis);
enum iw_mpa_event iw_mpa_backlog_turn(struct iw_mpa_ep *ep,
				      struct iw_cm_id **listen_id);
void iw_mpa_backlog_asked(struct iw_mpa_ep *ep);
void iw_mpa_backlog_answered(struct iw_mpa_ep *ep);
void iw_mpa_backlog_queue(struct iw_mpa_ep *ep);
void iw_mpa_backlog_refused(struct iw_mpa_ep *ep);
void iw_mpa_backlog_put(struct iw_mpa_ep *ep);
bool iw_mpa_backlog_is_full(struct iw_mpa_listener *lis,
			    const struct iw_mpa_config *config);

#endif /* _IW_MPA_BACKLOG_H */
