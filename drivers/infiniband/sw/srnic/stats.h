/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_STATS_H
#define _SRNIC_STATS_H

#include "term.h"

#include <linux/percpu.h>
#include <rdma/ib_verbs.h>

struct srnic_dev;

/* Name and meaning of each counter: srnic.rst has a table made of these. */
#define SRNIC_COUNTERS(X)						\
	X(tx_fpdus,		"FPDUs sent or lost with a connection")	\
	X(tx_octets,		"bytes of the ULPDUs sent")		\
	X(tx_batches,		"batches of FPDUs given to TCP")	\
	X(tx_no_room,		"times TCP had no room")		\
	X(tx_no_memory,		"times there was no memory to send")	\
	X(tx_doorbells,		"runs of the sender in a caller's context") \
	X(tx_work,		"runs of the sender's work item")	\
	X(tx_terminates,	"Terminate messages sent")		\
	X(tx_terminates_lost,	"Terminate messages that could not be sent") \
	X(tx_rtr,		"RTR messages sent")			\
	X(rx_fpdus,		"FPDUs received and good")		\
	X(rx_octets,		"bytes of the ULPDUs received")		\
	X(rx_deferred,	"times a callback left bytes to the work item")	\
	X(rx_copied_out,	"FPDUs that TCP had no room for as a whole") \
	X(rx_no_memory,	"times there was no memory to copy such an FPDU") \
	X(rx_terminates,	"Terminate messages received")		\
	X(rx_rtr,		"RTR messages received")		\
	X(rx_rdmap_v0,		"segments with RDMAP version 0")	\
	X(wr_flushed,	"work requests and receives that were flushed")	\
	X(cqe_lost,	"completions lost, as their queue was full")	\
	X(wr_invalid,		"invalid elements in rings of applications") \
	X(remote_invalidated,	"STags invalidated by peers")		\
	X(srq_limit_events,	"times the limit of an SRQ was reached")

enum srnic_counter {
#define X(name, text) SRNIC_CNT_##name,
	SRNIC_COUNTERS(X)
#undef X
	SRNIC_CNT_COUNT
};

/* Counters of a device on one CPU; each is a word, which any CPU can read. */
struct srnic_stats {
	unsigned long	counter[SRNIC_CNT_COUNT];
	unsigned long	err[SRNIC_ERR_COUNT]; /* streams ended by each error */
};

#define srnic_count(dev, name) \
	this_cpu_inc((dev)->stats->counter[SRNIC_CNT_##name])
#define srnic_count_n(dev, name, n) \
	this_cpu_add((dev)->stats->counter[SRNIC_CNT_##name], n)

struct rdma_hw_stats *srnic_alloc_hw_port_stats(struct ib_device *ibdev,
						u32 port_num);
int srnic_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		       u32 port_num, int index);
int srnic_process_mad(struct ib_device *ibdev, int flags, u32 port_num,
		      const struct ib_wc *wc, const struct ib_grh *grh,
		      const struct ib_mad *in, struct ib_mad *out,
		      size_t *out_size, u16 *out_pkey_index);
void srnic_stats_free(struct srnic_dev *dev);

int srnic_fill_res_qp(struct sk_buff *msg, struct ib_qp *ibqp);
int srnic_fill_res_cq(struct sk_buff *msg, struct ib_cq *ibcq);
int srnic_fill_res_mr(struct sk_buff *msg, struct ib_mr *ibmr);

#endif /* _SRNIC_STATS_H */
