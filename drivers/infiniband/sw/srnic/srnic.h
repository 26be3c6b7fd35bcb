/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects of srnic: devices, memory regions, completion queues, send and
 * receive queues, and QPs. Documentation/infiniband/srnic_design.rst has the
 * rules for references on these objects and the order in which their locks are
 * taken.
 */
#ifndef _SRNIC_H
#define _SRNIC_H

#include "qp_state.h"
#include "wire.h"
#include "stats.h"
#include "term.h"

#include <linux/bvec.h>
#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_mpa.h>
#include <rdma/siw-abi.h>

/* Most SGEs and inline bytes of a work request; libsiw's ABI fixes both. */
#define SRNIC_MAX_SGE		SIW_MAX_SGE
#define SRNIC_MAX_INLINE	SIW_MAX_INLINE
#define SRNIC_MAX_SGE_RD	1
/* Most SGEs of a kernel ULP's Send or Write: 128 KiB in pages of 4 KiB */
#define SRNIC_MAX_SEND_SGE	32
#define SRNIC_MAX_WR		32768
/* Large CQ rings are in the vmalloc area, which is small on 32-bit kernels. */
#define SRNIC_MAX_CQE		(BITS_PER_LONG == 64 ? 4194304 : 65536)
#define SRNIC_MAX_DEPTH		128
#define SRNIC_MAX_QP		131072
#define SRNIC_MAX_CQ		262144
#define SRNIC_MAX_MR		1048576
/* kvmalloc() limits an MR's array of page addresses to INT_MAX bytes. */
#define SRNIC_MAX_MR_SIZE	((u64)(INT_MAX / sizeof(u64) - 1) << PAGE_SHIFT)
#define SRNIC_MAX_PD		131072
#define SRNIC_MAX_SRQ		65536
#define SRNIC_MAX_FAST_SG	512

/* vendor_id of ibv_devinfo(1) in ASCII: no IEEE OUI is assigned to srnic. */
#define SRNIC_VENDOR_ID		0x73726e	/* "srn" */
#define SRNIC_PART_ID		1

/* A batch of the sender is full at so many FPDUs, bytes or bvec entries. */
#define SRNIC_BATCH_FPDUS	96
#define SRNIC_BATCH_BYTES	SZ_128K
#define SRNIC_BATCH_BVECS	30
/* Bytes after which the sender or RX pauses, so that work of other QPs runs */
#define SRNIC_TX_QUOTA		SZ_1M
#define SRNIC_RX_BUDGET		SZ_256K
/* Entries of a queue that are handled before interrupts are enabled again */
#define SRNIC_QUEUE_STEP	256
/* Limits on sending a Terminate: without an acknowledgment, and in all (ms) */
#define SRNIC_TERM_MS		5000
#define SRNIC_TERM_MAX_MS	30000
/* Delay before the sender or RX retries after a failed allocation */
#define SRNIC_RETRY_MS		10
/* Least and greatest delay until a QP in ERROR polls its application's rings */
#define SRNIC_FLUSH_MIN_MS	10
#define SRNIC_FLUSH_MAX_MS	4000

/* Seconds after TX is opened until iw_get_qp() ignores a responder's QP */
#define SRNIC_FOUND_S		60

struct srnic_dev;
struct srnic_ring;

/*
 * Workqueues, shared by all devices: srnic_wq for streams and completions of
 * kernel ULPs, srnic_user_wq for those of applications, srnic_event_wq for
 * handlers of asynchronous events and for deferred completion handlers. "Memory
 * reclaim" in srnic_design.rst says what work may run on which of them.
 */
extern struct workqueue_struct *srnic_wq;
extern struct workqueue_struct *srnic_user_wq;
extern struct workqueue_struct *srnic_event_wq;

/* Verbs, ops and attributes with which an srnic device is registered */
extern const struct ib_device_ops srnic_verbs;			/* verbs.c */
extern const struct iw_mpa_driver_ops srnic_driver_ops;		/* handoff.c */
extern const struct iw_mpa_device_attr srnic_device_attr;	/* handoff.c */
void srnic_reserves_setup(struct srnic_dev *dev);		/* handoff.c */
void srnic_reserves_end(struct srnic_dev *dev);			/* handoff.c */

struct srnic_dev {
	struct ib_device	ibdev;
	struct net_device	*netdev;
	netdevice_tracker	netdev_tracker;
	/* rereads @netdev's state: a disabled RDMA device misses its events */
	struct work_struct	catch_up;
	/* work item: turns on memalloc_socks_key, which SOCK_MEMALLOC needs */
	struct work_struct	reserves;
	bool			has_reserves;	/* @reserves has run */
	/* QPs by QPN, once created; xa_lock is taken with interrupts off */
	struct xarray		qps;
	struct xarray		mrs;		/* by STag index */
	u32			next_qpn;	/* next QPN to try */
	u64			mac;		/* of @netdev or random: GID */
	bool			port_up;
	struct {
		atomic_t	qp, cq, mr, pd, srq;
	} objects;				/* how many exist */
	struct srnic_stats __percpu *stats;
	struct rdma_stat_desc	*stat_descs;	/* iw_mpa's, then srnic's */
	int			library_stats;	/* how many are iw_mpa's */
};

enum srnic_mr_kind {
	SRNIC_MR_DMA,		/* all memory of the kernel */
	SRNIC_MR_USER,		/* pinned pages of an application */
	SRNIC_MR_FAST,		/* registered by a kernel ULP's IB_WR_REG_MR */
};

/*
 * A virtually contiguous part of a fast-registered memory region. Packed, it has
 * 12 bytes on 64-bit kernels: ULPs ask for 256 or 257 extents, and kmalloc()
 * rounds the size of their table up to a power of two.
 */
struct srnic_extent {
	void	*va;
	u32	end;	/* its end: offset in the region, exclusive */
} __packed __aligned(4);

/* srnic_mr.mapping: the table filled last, and a count of ib_map_mr_sg() */
#define SRNIC_MAPPING_TABLE	1
#define SRNIC_MAPPING_COUNT	2

struct srnic_mr {
	struct ib_mr		ibmr;
	struct rcu_head		rcu;	/* lookups take no lock */
	rwlock_t		lock;	/* accesses read, changes write */
	spinlock_t		gate;	/* writers take it before @lock */
	bool			closed;	/* readers wait at @gate */
	enum srnic_mr_kind	kind;
	/* @lock protects @valid up to @size: */
	bool			valid;
	bool			removed; /* deregistered: never valid again */
	u32			stag;	/* index and key */
	u32			access;	/* IB_ACCESS_* */
	u64			base;	/* iova of byte 0: in SGEs, FPDUs */
	u64			size;
	union {
		struct { /* SRNIC_MR_USER: pages or huge pages of one size */
			struct ib_umem		*umem;
			u64			*blocks;
			u64			block;	/* @blocks, if only 1 */
			u32			block_off; /* of @base */
			u8			block_shift;
		};
		struct { /* SRNIC_MR_FAST: see srnic_map_mr_sg() */
			struct srnic_extent	*map[2]; /* may lack one */
			u32			extents[2];
			u32			max_extents;
			u32			mapping; /* SRNIC_MAPPING_* */
			u8			active;	/* see stag_register() */
		};
	};
};

/* Operations of work requests; SRNIC_WR_RECV is in completions only. */
enum srnic_wr_op {
	SRNIC_WR_WRITE,
	SRNIC_WR_READ,
	SRNIC_WR_READ_INV,
	SRNIC_WR_SEND,
	SRNIC_WR_SEND_INV,
	SRNIC_WR_REG,
	SRNIC_WR_INV,
	SRNIC_WR_RECV,
	SRNIC_WR_COUNT
};

struct srnic_cqe {
	u64		id;	/* the ULP's wr_id or wr_cqe pointer */
	struct ib_qp	*qp;
	u32		bytes;	/* received or read */
	u32		inv_stag; /* STag invalidated by the Send, if @inv */
	u8		op;	/* enum srnic_wr_op */
	u8		status;	/* enum ib_wc_status */
	bool		inv;
};

/* Bits of srnic_cq.due: what srnic_cq.event_work has to do */
enum srnic_cq_due {
	SRNIC_CQ_CALL,		/* call the handler */
	SRNIC_CQ_LOST,		/* report the overflow */
};

struct srnic_cq {
	struct ib_cq		ibcq;
	/* protects all members but @users, @upcalls, @due, @extra */
	spinlock_t		lock;
	u32			size;	/* entries; a power of two */
	/* number of entries added, and of those polled (@kring only) */
	u32			put;
	u32			get;
	struct mutex		arrange; /* to move entries; before @lock */
	u32			extra;	/* room for flushes; under @arrange */
	u32			gap;	/* first void entry, under @arrange */
	u32			gap_end; /* first entry after the gap */
	struct srnic_cqe	*kring;	/* a kernel ULP's entries */
	struct siw_cqe		*uring;	/* an application's entries, in @ring */
	struct srnic_ring	*ring;
	u32			*notify; /* SIW_NOTIFY_*: @armed or in @ring */
	u32			armed;
	bool			overflowed; /* reported once */
	atomic_t		users;	/* attached SQs and RQs */
	atomic_t		upcalls; /* due calls of ibcq.comp_handler */
	unsigned long		due;	/* SRNIC_CQ_*; atomic bits */
	struct work_struct	event_work;
};

/* Flags of a WQE */
#define SRNIC_WQE_SIGNALED	BIT(0)
#define SRNIC_WQE_SOLICITED	BIT(1)
#define SRNIC_WQE_FENCE		BIT(2)
#define SRNIC_WQE_INLINE	BIT(3)
#define SRNIC_WQE_BAD		BIT(4)	/* completes with @status at once */
#define SRNIC_WQE_MEMORY	BIT(5)	/* SRNIC_LOCAL_DMA_LKEY in all SGEs */

/* A WQE: a work request in a QP's send queue */
struct srnic_wqe {
	u64	id;	/* the ULP's */
	u64	raddr;	/* remote address; SRNIC_WR_REG: the region's base */
	u32	rkey;	/* remote STag; SRNIC_WR_REG and _INV: the local one */
	u32	bytes;	/* sum of the lengths */
	u8	op;	/* enum srnic_wr_op */
	u8	flags;	/* SRNIC_WQE_* */
	u8	num_sge; /* 0 with SRNIC_WQE_INLINE */
	bool	done;	/* may retire; under srnic_sq.lock */
	u8	status;	/* enum ib_wc_status, when @done */
	union {
		/* SGEs: a Read's sink, or the source; see srnic_wqe_size() */
		DECLARE_FLEX_ARRAY(struct ib_sge, sge);
		u8		data[SRNIC_MAX_INLINE]; /* SRNIC_WQE_INLINE */
		struct {
			u64	size;
			u32	access;
			u32	mapping; /* of the region, at the post */
		} reg;	/* SRNIC_WR_REG */
	};
};

/*
 * A send queue; the first comment of sq.c says what its indices count. @lock
 * protects all members but @uring, @limit and @limited; tx.lock protects the
 * last two. Without @lock, the sender (the holder of tx.lock) also reads @put
 * with acquire and writes @next with release. If there is a @uring, only the
 * sender writes @put, without @lock.
 */
struct srnic_sq {
	spinlock_t		lock;
	void			*ring;	/* struct srnic_wqe, @wqe_size each */
	u32			wqe_size;
	u32			size;	/* a power of two */
	u32			put;
	u32			next;
	u32			sent;
	u32			get;
	u32			read;	/* search unanswered Reads from here */
	/* how many Reads are unanswered, RTR message included; at most ORD */
	u32			reads;
	/* index of the first WQE that is not to be sent; under tx.lock */
	u32			limit;
	bool			limited; /* @limit is set; under tx.lock */
	bool			failed;	/* a WQE failed: flush the later ones */
	bool			rtr_read; /* oldest Read is RTR message */
	/* kick the sender when a Read is answered, or a WQE retires */
	bool			waits;
	struct siw_sqe		*uring;	/* an application's, in @shared */
	struct srnic_ring	*shared;
};

/* A receive */
struct srnic_rwqe {
	u64		id;	/* the ULP's */
	u32		num_sge;
	struct ib_sge	sge[SRNIC_MAX_SGE];
};

/* A receive queue, of one QP or of an SRQ */
struct srnic_rq {
	spinlock_t		lock;	/* all of it */
	u32			size;	/* a power of two */
	u32			put;	/* receives a kernel ULP posted */
	u32			get;	/* receives used so far */
	struct srnic_rwqe	*kring;	/* a kernel ULP's receives */
	struct siw_rqe		*uring;	/* an application's, in @shared */
	struct srnic_ring	*shared;
};

struct srnic_srq {
	struct ib_srq		ibsrq;
	struct srnic_rq		rq;
	u32			max_sge; /* of a receive */
	/* IB_EVENT_SRQ_LIMIT_REACHED if fewer receives are left; 0: never */
	u32			limit;
	struct work_struct	event_work; /* raises that event */
};

/* A peer's Read Request, kept until its Read Response is in a batch */
struct srnic_irqe {
	u8	hdr[SRNIC_READ_ULPDU];	/* DDP and RDMAP headers as received */
};

/* Ring of the peer's unanswered Read Requests: put - get <= ird <= mask + 1 */
struct srnic_irq {
	struct srnic_irqe	*ring;
	u32			mask;
	u32			ird;	/* as negotiated */
	u32			put;	/* received; RX writes it */
	u32			get;	/* answered; the sender writes it */
	/* in SRNIC_TX_ANSWERING: the sender answers up to this index */
	u32			limit;
};

/*
 * FPDUs that the sender has built and TCP has not accepted yet. The batch is
 * the largest member of struct srnic_qp, which should not exceed 2 KiB, since
 * the next size of kmalloc() is 4 KiB.
 */
struct srnic_batch {
	struct bio_vec	bv[SRNIC_BATCH_BVECS];	/* each holds its page */
	u16		ends[SRNIC_BATCH_FPDUS]; /* of FPDUs, in 4-byte units */
	u8		nbv;
	u8		fpdus;
	u32		len;			/* bytes */
	u32		done; /* bytes of @len accepted by TCP */
};

/* Messages that the sender builds: of work requests, or Read Responses */
enum srnic_msg_kind {
	SRNIC_MSG_NONE,
	SRNIC_MSG_WR,
	SRNIC_MSG_RESP,
};

/* An STag of a work request or DDP segment, and the rights that it needs */
struct srnic_name {
	/* protection domain of the QP, or of the SRQ that has the receive */
	const struct ib_pd	*pd;
	u32			stag;
	u32			rights;	/* IB_ACCESS_*; 0: local read */
	bool			kernel;	/* may be SRNIC_LOCAL_DMA_LKEY */
};

/* Position in the payload of the message that is being sent */
struct srnic_msg_cursor {
	u64	addr;	/* address of the next byte, in SGE or Read's source */
	u32	run;	/* bytes from @addr to the end of the SGE or source */
	u8	sge;	/* the next SGE */
};

/* The message of which the sender has built only some segments */
struct srnic_msg {
	enum srnic_msg_kind	kind;
	/* kind of the last message; the other kind has the next turn */
	enum srnic_msg_kind	last;
	u8			op;	/* enum srnic_opcode */
	u8			head_len;
	/* ULPDU_Length and DDP header; segments change length, L, TO and MO */
	u8			head[2 + SRNIC_DDP_HDR_MAX];
	u32			len;
	u32			left;	/* bytes of @len not yet in a batch */
	u64			off;	/* TO or MO of the next segment */
	struct srnic_name	src;
	struct srnic_msg_cursor	cur;	/* next byte, in @src */
	struct srnic_wqe	*wqe;	/* SRNIC_MSG_WR */
};

/*
 * The sending half of a QP's stream. The task that holds @lock is "the sender".
 * It owns all members except the work items and members with a rule of their
 * own.
 */
struct srnic_tx {
	struct mutex		lock;
	struct work_struct	work;
	/* timer that queues @work: after ENOMEM, or at @deadline */
	struct delayed_work	retry;
	struct socket		*sock;	/* valid unless @state is CLOSED */
	/*
	 * enum srnic_tx_state. Writers hold srnic_qp.lock and, except in
	 * srnic_tx_open(), also @lock. A value that is read without a lock is
	 * only a hint.
	 */
	u8			state;
	bool			starved; /* no memory: wait for @retry */
	/* jiffies at which the sender gives up the Terminate; 0: not set yet */
	unsigned long		deadline;
	unsigned long		give_up; /* jiffies: the latest @deadline */
	u32			acked;	/* snd_una when @deadline was set */
	u32			pos;	/* stream position of the batch's end */
	/* seconds: time of prepare(), then of open_tx(); under srnic_qp.lock */
	u32			opened;
	u32			msn[SRNIC_QN_COUNT]; /* next of each queue */
	struct srnic_msg	msg;
	struct srnic_batch	batch;	/* not yet accepted by TCP */
};

/* The receiving half of a QP's stream; protected by the socket's lock */
struct srnic_rx {
	/* handles bytes beyond RX's budget; allocates @part */
	struct delayed_work	work;
	struct sock		*sk;	/* from prepare to stop */
	bool			first;	/* no FPDU was validated yet */
	bool			ended;	/* the peer's FIN was reached */
	bool			send_busy; /* an incomplete Send fills @rwqe */
	u8			send_op; /* its enum srnic_opcode */
	bool			write_busy; /* a Write has begun */
	u8			rtr;	/* RTR types accepted as first FPDU */
	struct {
		u8		layer, etype, code;
	} term;				/* with SRNIC_ERR_TERM_RECEIVED */
	u32			need;	/* bytes to wait for */
	u32			seq_start; /* SeqStart in TCP's numbers */
	u32			msn[SRNIC_QN_COUNT]; /* expected next */
	u32			send_inv; /* STag that the Send invalidates */
	u32			send_len; /* bytes of the Send placed */
	struct srnic_rwqe	rwqe;
	/* Read whose Read Response has begun, or NULL */
	struct srnic_wqe	*read;
	u32			read_len; /* bytes of the response placed */
	u8			*part;	/* FPDU that TCP cannot hold, or NULL */
	u32			part_len; /* bytes in @part */
	/* allocated size of @part, or the size to allocate, or 0 */
	u32			part_size;
};

struct srnic_qp {
	struct ib_qp		ibqp;
	struct srnic_dev	*dev;
	struct kref		ref;	/* create_qp's, iw_cm's and iw_mpa's */
	struct completion	free;	/* when @ref is 0 */

	/* RCU state at the last iw_get_qp(); under xa_lock of srnic_dev.qps */
	unsigned long		found;
	spinlock_t		lock;	/* protects @state up to @events */
	u8			state;	/* enum srnic_state */
	u8			idle_state; /* IB_QPS_RESET, INIT or RTR */
	/* destroy_qp has begun; written under xa_lock of srnic_dev.qps, too */
	bool			dying;
	bool			broken_off; /* the ULP has aborted the stream */
	struct iw_mpa_ep	*ep;	/* while there is a stream */
	struct srnic_fault	fault;	/* the first error */
	unsigned long		events;	/* BIT(ib_event_type) to report */

	/* parameters of the present or last stream; written before it begins */
	struct iw_mpa_params	params;
	bool			user;	/* an application's, with rings */
	bool			sig_all; /* every WQE is signaled */
	struct ib_qp_cap	cap;	/* as granted */
	struct srnic_cq		*scq;
	struct srnic_cq		*rcq;
	struct srnic_srq	*srq;	/* or NULL */
	struct srnic_sq		sq;
	struct srnic_rq		rq;	/* unused with @srq */
	struct srnic_irq	irq;
	struct srnic_rx		rx;
	struct srnic_tx		tx;
	struct delayed_work	flush_work; /* of a QP in SRNIC_ERROR */
	u32			flush_ms; /* next delay of @flush_work */
	struct work_struct	event_work; /* reports @events */
};

static inline struct srnic_dev *to_srnic_dev(const struct ib_device *ibdev)
{
	return container_of(ibdev, struct srnic_dev, ibdev);
}

static inline struct srnic_qp *to_srnic_qp(const struct ib_qp *ibqp)
{
	return container_of(ibqp, struct srnic_qp, ibqp);
}

/* Applications' QPs use srnic_user_wq: their threads must not delay storage. */
static inline struct workqueue_struct *srnic_qp_wq(const struct srnic_qp *qp)
{
	return qp->user ? srnic_user_wq : srnic_wq;
}

static inline struct srnic_cq *to_srnic_cq(const struct ib_cq *ibcq)
{
	return container_of(ibcq, struct srnic_cq, ibcq);
}

static inline struct srnic_srq *to_srnic_srq(const struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct srnic_srq, ibsrq);
}

static inline struct srnic_mr *to_srnic_mr(const struct ib_mr *ibmr)
{
	return container_of(ibmr, struct srnic_mr, ibmr);
}

#endif /* _SRNIC_H */
