/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_LISTEN_H
#define _IW_MPA_LISTEN_H

#include <linux/list.h>
#include <linux/workqueue.h>

#include "sock.h"

struct iw_cm_id;
struct iw_mpa_backlog;
struct iw_mpa_device;

/**
 * struct iw_mpa_listener - a listening cm_id
 * @id: its number
 * @sock: its TCP socket; none for a wildcard listener on a device that is not for it
 * @dev: its device, held
 * @node: in the device's list, which is changed under its lock and read under RCU
 * @cm_id: its cm_id, held
 * @backlog: its connections about which the ULP has not decided; held
 * @work: takes connections
 * @depth: what the ULP said in rdma_listen()
 * @ifindex: interface or L3 master to which its socket is bound, or 0
 * @addr: where it listens
 * @rcu: for readers of the list
 *
 * It lives from create_listen to destroy_listen, which waits for @work, the only other user.
 */
struct iw_mpa_listener {
	unsigned long		id;
	struct iw_mpa_sock	sock;
	struct iw_mpa_device	*dev;
	struct list_head	node;
	struct iw_cm_id		*cm_id;
	struct iw_mpa_backlog	*backlog;
	struct delayed_work	work;
	int			depth;
	int			ifindex;
	union iw_mpa_addr	addr;
	struct rcu_head		rcu;
};

#endif /* _IW_MPA_LISTEN_H */
