/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One end of connections without data, for programs that measure connects and disconnects: all QPs
 * of a process share a protection domain and a completion queue.
 */
#ifndef CM_END_H
#define CM_END_H

#define _GNU_SOURCE	/* for the name of the program: include this file first */

#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Entries of the CQ: so many that no queue of a QP gets the mmap key that libsiw takes for none. */
#define CQ_SIZE		(1 << 16)

static struct rdma_event_channel *channel;

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

/* Make a QP. Return false if rdma_create_qp() fails, as it does if the device has no QP left. */
static bool make_qp(struct rdma_cm_id *id)
{
	static struct ibv_pd *pd;
	static struct ibv_cq *cq;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	if (!pd) {
		pd = ibv_alloc_pd(id->verbs);
		cq = ibv_create_cq(id->verbs, CQ_SIZE, NULL, NULL, 0);
		need(pd && cq, "ibv_alloc_pd, ibv_create_cq");
	}
	attr.send_cq = cq;
	attr.recv_cq = cq;
	return !rdma_create_qp(id, pd, &attr);
}

static inline struct rdma_conn_param conn_param(void)
{
	return (struct rdma_conn_param) { .responder_resources = 1, .initiator_depth = 1 };
}

#endif
