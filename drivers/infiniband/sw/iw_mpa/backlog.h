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
 * struct iw_mpa_crowd - a device's connections in one network namespace
 * @node: entry in @crowds of &struct iw_mpa_device, whose @lock protects all
 *	members
 * @net: the network namespace; compared, but not dereferenced, since a listener
 *	without a socket has no reference on it
 * @listeners: the device's listeners in @net; the last one frees the crowd
 * @half_open: endpoints that wait for the MPA Request, or after a Reject for
 *	the peer to close; the oldest first
 * @half_open_count: entries of @half_open
 * @no_room_count: Requests that wait for room in iw_cm or the ULP
 *
 * half_open_max limits each crowd, not the device as a whole: connections in
 * one namespace must not cause connections in another to be closed.
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
 * @id: the listener's number
 * @sock: TCP socket; some wildcard listeners have none: see listen_open()
 * @dev: the device; held until destroy_listen, and by endpoints it accepted
 * @node: entry in @listeners of @dev; changed under the device's lock, read
 *	under RCU
 * @cm_id: the listening cm_id, held until destroy_listen
 * @work: accepts connections from TCP
 * @depth: the ULP's argument of rdma_listen(), > 0
 * @ifindex: interface or L3 master to which @sock is bound, or 0
 * @addr: address and port that it listens on
 * @rcu: frees the memory, for readers of the list of listeners
 * @ref: one until destroy_listen, and one for each live endpoint it accepted
 *
 * @gone: destroy_listen has begun; the device's lock protects the members from
 *	this one to @moved
 * @crowd: connections of all listeners of @dev in the same network namespace
 * @half_open: the endpoints in @half_open of @crowd that this listener accepted
 * @half_open_count: entries of @half_open
 * @no_room: endpoints whose Request waits for room in iw_cm or the ULP
 * @no_room_count: entries of @no_room
 * @unanswered: endpoints whose CONNECT_REQUEST the ULP has not answered
 * @allowed: limit of @unanswered; above @depth if the ULP does not answer
 * @moved: when the ULP last got or answered a CONNECT_REQUEST, in jiffies
 * @look: checks for room in iw_cm and ULP for the first endpoint of @no_room
 *
 * destroy_listen waits until @work and @look have ended. After that only
 * endpoints use the members that the device's lock protects.
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
