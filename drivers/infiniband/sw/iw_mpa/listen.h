/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_LISTEN_H
#define _IW_MPA_LISTEN_H

#include <linux/list.h>
#include <linux/workqueue.h>

#include "sock.h"

struct iw_cm_id;
struct iw_mpa_device;
struct iw_mpa_half_open;

/**
 * struct iw_mpa_listener - a listening cm_id
 * @sock: its TCP socket
 * @dev: its device, held
 * @node: in the device's list, under its lock
 * @id: its cm_id, held
 * @half_open: its half-open connections, held
 * @work: takes connections
 * @backlog: connections that may wait in TCP
 *
 * Lives from create_listen to destroy_listen. The work item is the only other
 * context that uses it, and is waited for.
 */
struct iw_mpa_listener {
	struct iw_mpa_sock	sock;
	struct iw_mpa_device	*dev;
	struct list_head	node;
	struct iw_cm_id		*id;
	struct iw_mpa_half_open	*half_open;
	struct delayed_work	work;
	int			backlog;
};

int iw_mpa_create_listen(struct iw_cm_id *id, int backlog);
int iw_mpa_destroy_listen(struct iw_cm_id *id);
int iw_mpa_listen_init(void);
void iw_mpa_listen_exit(void);

#endif /* _IW_MPA_LISTEN_H */
