/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects of srnic. Documentation/infiniband/srnic_design.rst says who owns
 * them and in which order locks are taken.
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

/* Limits of what a ULP may ask for; the first two are fixed by libsiw's ABI */
#define SRNIC_MAX_SGE		SIW_MAX_SGE
#define SRNIC_MAX_INLINE	SIW_MAX_INLINE
#define SRNIC_MAX_SGE_RD	1
/* of what a ULP in the kernel sends: 128 KiB in pages */
#define SRNIC_MAX_SEND_SGE	32
#define SRNIC_MAX_WR		32768
/* A 32-bit kernel has few addresses at which it can map rings. */
#define SRNIC_MAX_CQE		(BITS_PER_LONG == 64 ? 4194304 : 65536)
#define SRNIC_MAX_DEPTH		128
#define SRNIC_MAX_QP		131072
#define SRNIC_MAX_CQ		262144
#define SRNIC_MAX_MR		1048576
/* A region's list of pages is one allocation, of at most INT_MAX bytes. */
#define SRNIC_MAX_MR_SIZE	((u64)(INT_MAX / sizeof(u64) - 1) << PAGE_SHIFT)
#define SRNIC_MAX_PD		131072
#define SRNIC_MAX_SRQ		65536
#define SRNIC_MAX_FAST_SG	512

/* ibv_devinfo(1) shows these: ASCII, since software has no vendor number. */
#define SRNIC_VENDOR_ID		0x73726e	/* "srn" */
#define SRNIC_PART_ID		1

/* The sender's batch is full with so many FPDUs, bytes, or bvec entries. */
#define SRNIC_BATCH_FPDUS	96
#define SRNIC_BATCH_BYTES	SZ_128K
#define SRNIC_BATCH_BVECS	30
/* Bytes that one QP may send or receive before other QPs have a turn */
#define SRNIC_TX_QUOTA		SZ_1M
#define SRNIC_RX_BUDGET		SZ_256K
/* Elements of a queue that are handled in a row with interrupts off */
#define SRNIC_QUEUE_STEP	256
/* A Terminate message waits for room this long without an ack, and in all */
#define SRNIC_TERM_MS		5000
#define SRNIC_TERM_MAX_MS	30000
/* Delay before the next try after an allocation has failed */
#define SRNIC_RETRY_MS		10
/* How often a QP in error polls for receives that its application posts */
#define SRNIC_FLUSH_MIN_MS	10
#define SRNIC_FLUSH_MAX_MS	4000

/* How long after open_tx iw_cm still finds a QP that has accepted */
#define SRNIC_FOUND_S		60

struct srnic_dev;
struct srnic_ring;

/*
 * Work queues for all devices: streams and completions of kernel ULPs; those
 * of applications; asynchronous events. "Memory reclaim" in srnic_design.rst
 * says what may run on which.
 */
extern struct workqueue_struct *srnic_wq;
extern struct workqueue_struct *srnic_user_wq;
extern struct workqueue_struct *srnic_event_wq;

/* What a device is made of */
extern const struct ib_device_ops srnic_verbs;			/* verbs.c */
extern const struct iw_mpa_driver_ops srnic_driver_ops;		/* handoff.c */
extern const struct iw_mpa_device_attr srnic_device_attr;	/* handoff.c */
void srnic_reserves_setup(struct srnic_dev *dev);		/* handoff.c */
void srnic_reserves_end(struct srnic_dev *dev);			/* handoff.c */

struct srnic_dev {
	struct ib_device	ibdev;
	struct net_device	*netdev;
	netdevice_tracker	netdev_tracker;
	/* rereads @netdev, whose events miss a disabled device */
	struct work_struct	catch_up;
	/* has TCP let storage's sockets use the reserves, once */
	struct work_struct	reserves;
	bool			has_reserves;	/* @reserves has run */
	/* complete QPs by number; its lock is taken with interrupts off */
	struct xarray		qps;
	struct xarray		mrs;		/* by STag index */
	u32			next_qpn;	/* tried first for a new QP */
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
	SRNIC_MR_FAST,		/* mapped and registered by a kernel ULP */
};

/* A part of a fast-registered region, contiguous in memory */
struct srnic_extent {
	void	*va;
	u64	end;	/* offset in the region of the next extent */
};

struct srnic_mr {
	struct ib_mr		ibmr;
	struct rcu_head		rcu;	/* lookups take no lock */
	rwlock_t		lock;	/* accesses read, changes write */
	spinlock_t		gate;	/* a change takes it before @lock */
	bool			closed;	/* readers wait at @gate */
	enum srnic_mr_kind	kind;
	/* Under @lock up to @size: */
	bool			valid;
	bool			removed; /* has no STag: never valid again */
	u32			stag;	/* index and key */
	u32			access;	/* IB_ACCESS_* */
	u64			base;	/* first address, in SGEs and FPDUs */
	u64			size;
	union {
		struct { /* SRNIC_MR_USER: DMA blocks of equal size */
			struct ib_umem		*umem;
			u64			*blocks;
			u64			block;	/* if it is one */
			u32			block_off; /* of @base */
			u8			block_shift;
		};
		struct { /* SRNIC_MR_FAST: one map in use, one to be filled */
			struct srnic_extent	*map[2];
			u32			extents[2];
			u32			max_extents;
			u8			active;	/* under @lock */
			bool			mapped;	/* the other is newer */
		};
	};
};

/* What a ULP may post. SRNIC_WR_RECV is for completions only. */
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
	u64		id;	/* wr_id, or the address of wr_cqe */
	struct ib_qp	*qp;
	u32		bytes;	/* received or read */
	u32		inv_stag; /* the peer has invalidated it, if @inv */
	u8		op;	/* enum srnic_wr_op */
	u8		status;	/* enum ib_wc_status */
	bool		inv;
};

/* Bits of srnic_cq.due: what the work item has to do */
enum srnic_cq_due {
	SRNIC_CQ_CALL,		/* call the handler */
	SRNIC_CQ_LOST,		/* report the overflow */
};

struct srnic_cq {
	struct ib_cq		ibcq;
	/* protects all but @users, @upcalls, @due, @extra */
	spinlock_t		lock;
	u32			size;	/* of the ring; a power of two */
	/* count entries; an application's queue uses @put only */
	u32			put;
	u32			get;
	struct mutex		arrange; /* to move entries; before @lock */
	u32			extra;	/* entries for flushes, under @arrange */
	u32			gap;	/* first void entry, under @arrange */
	u32			gap_end; /* first entry after the void ones */
	struct srnic_cqe	*kring;	/* a kernel ULP's entries */
	struct siw_cqe		*uring;	/* an application's entries, in @ring */
	struct srnic_ring	*ring;
	u32			*notify; /* SIW_NOTIFY_*: @armed or in @ring */
	u32			armed;
	bool			overflowed; /* reported once */
	atomic_t		users;	/* queues of QPs that complete here */
	atomic_t		upcalls; /* calls of the handler that are due */
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

/* A work request of the send queue */
struct srnic_wqe {
	u64	id;	/* the ULP's */
	u64	raddr;	/* at the peer; SRNIC_WR_REG: new base of the region */
	u32	rkey;	/* STag at the peer; STag to register or invalidate */
	u32	bytes;	/* sum of the lengths */
	u8	op;	/* enum srnic_wr_op */
	u8	flags;	/* SRNIC_WQE_* */
	u8	num_sge; /* 0 with SRNIC_WQE_INLINE */
	bool	done;	/* may retire; under srnic_sq.lock */
	u8	status;	/* enum ib_wc_status, when @done */
	union {
		/* a Read's: sink; as many as srnic_sq.wqe_size has room for */
		DECLARE_FLEX_ARRAY(struct ib_sge, sge);
		u8		data[SRNIC_MAX_INLINE]; /* SRNIC_WQE_INLINE */
		struct {
			u64	size;
			u32	access;
		} reg;	/* SRNIC_WR_REG */
	};
};

/*
 * A send queue; sq.c says what the indices count. @lock protects all but
 * @uring. The sender (see struct srnic_tx) reads @put and writes @next also
 * without @lock, with acquire and release. If there is a @uring, the sender
 * alone writes @put, and without @lock.
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
	u32			read;	/* before it all Reads have completed */
	u32			reads;	/* count against ORD; with RTR's */
	u32			limit;	/* send until here; under tx.lock */
	bool			limited; /* @limit is set; under tx.lock */
	bool			failed;	/* a WQE failed: none later succeeds */
	bool			rtr_read; /* the oldest is the RTR message */
	bool			waits;	/* the sender, for a WQE to complete */
	struct siw_sqe		*uring;	/* an application's, in @shared */
	struct srnic_ring	*shared;
};

/* A receive */
struct srnic_rwqe {
	u64		id;	/* the ULP's */
	u32		num_sge;
	struct ib_sge	sge[SRNIC_MAX_SGE];
};

/* A receive queue, of a QP or shared */
struct srnic_rq {
	spinlock_t		lock;	/* all of it */
	u32			size;	/* a power of two */
	u32			put;	/* a kernel ULP's receives so far */
	u32			get;	/* receives used so far */
	struct srnic_rwqe	*kring;	/* a kernel ULP's receives */
	struct siw_rqe		*uring;	/* an application's, in @shared */
	struct srnic_ring	*shared;
};

struct srnic_srq {
	struct ib_srq		ibsrq;
	struct srnic_rq		rq;
	u32			max_sge; /* of a receive */
	u32			limit;	/* report if fewer left; 0: never */
	struct work_struct	event_work; /* reports that */
};

/* A Read Request that is to be answered */
struct srnic_irqe {
	u8	hdr[SRNIC_READ_ULPDU];	/* DDP and RDMAP header as received */
};

/* Read Requests of the peer, in a ring: put - get <= ird <= mask + 1 */
struct srnic_irq {
	struct srnic_irqe	*ring;
	u32			mask;
	u32			ird;	/* as negotiated */
	u32			put;	/* received; RX writes it */
	u32			get;	/* answered; the sender writes it */
	u32			limit;	/* when TX ends: answer until here */
};

/*
 * FPDUs on their way to TCP. This is the largest part of a QP. A QP of more
 * than 2 KiB takes twice the memory.
 */
struct srnic_batch {
	struct bio_vec	bv[SRNIC_BATCH_BVECS];	/* each holds its page */
	u16		ends[SRNIC_BATCH_FPDUS]; /* of FPDUs, in 4 bytes */
	u8		nbv;
	u8		fpdus;
	u32		len;			/* bytes */
	u32		done;			/* of these, accepted by TCP */
};

/* Kinds of messages that the sender makes */
enum srnic_msg_kind {
	SRNIC_MSG_NONE,
	SRNIC_MSG_WR,
	SRNIC_MSG_RESP,
};

/* A region, as a work request or a segment names it */
struct srnic_name {
	const struct ib_pd	*pd;	/* of the QP, or of the SRQ */
	u32			stag;
	u32			rights;	/* IB_ACCESS_* needed; 0: local read */
	bool			kernel;	/* may be SRNIC_LOCAL_DMA_LKEY */
};

/* A place in the payload of a message */
struct srnic_msg_cursor {
	u64	addr;	/* in the region, or in inline data */
	u32	run;	/* bytes from here to the end of the SGE */
	u8	sge;	/* the next SGE */
};

/* The message that the sender is in the middle of */
struct srnic_msg {
	enum srnic_msg_kind	kind;
	enum srnic_msg_kind	last;	/* the other kind has the next turn */
	u8			op;	/* enum srnic_opcode */
	u8			head_len;
	/* ULPDU_Length and DDP header; a segment overwrites what differs */
	u8			head[2 + SRNIC_DDP_HDR_MAX];
	u32			len;
	u32			left;	/* of @len, not yet in a batch */
	u64			off;	/* tagged or message offset to send */
	struct srnic_name	src;
	struct srnic_msg_cursor	cur;	/* in @src, as sent next */
	struct srnic_wqe	*wqe;	/* SRNIC_MSG_WR */
};

/*
 * The sending half of a QP's stream. The holder of @lock is "the sender", and
 * owns all other members, except the work items and members that say otherwise.
 */
struct srnic_tx {
	struct mutex		lock;
	struct work_struct	work;
	struct delayed_work	retry;	/* queues @work: memory, @deadline */
	struct socket		*sock;	/* valid unless @state is CLOSED */
	/*
	 * enum srnic_tx_state. Written under srnic_qp.lock, and except for
	 * open_tx under @lock, too; only a hint if read without these locks.
	 */
	u8			state;
	bool			starved; /* no memory: wait for @retry */
	/* jiffies: when to give the Terminate message up; 0: there is none */
	unsigned long		deadline;
	unsigned long		give_up; /* even if the peer acks: jiffies */
	u32			acked;	/* by the peer as @deadline was set */
	u32			pos;	/* bytes since SeqStart, with Markers */
	/* time of prepare, then of open_tx: seconds; under srnic_qp.lock */
	u32			opened;
	u32			msn[SRNIC_QN_COUNT]; /* next of each queue */
	struct srnic_msg	msg;
	struct srnic_batch	batch;	/* not yet accepted by TCP */
};

/* The receiving half of a QP's stream; under the socket's lock */
struct srnic_rx {
	struct delayed_work	work;	/* after the budget; allocates @part */
	struct sock		*sk;	/* from prepare to stop */
	bool			first;	/* no FPDU was validated yet */
	bool			ended;	/* the peer's FIN was reached */
	bool			send_busy; /* a Send has begun, into @rwqe */
	u8			send_op; /* its enum srnic_opcode */
	bool			write_busy; /* a Write has begun */
	u8			rtr;	/* RTR types valid as first FPDU */
	struct {
		u8		layer, etype, code;
	} term;				/* with SRNIC_ERR_TERM_RECEIVED */
	u32			need;	/* bytes to wait for */
	u32			seq_start; /* SeqStart in TCP's numbers */
	u32			msn[SRNIC_QN_COUNT]; /* expected next */
	u32			send_inv; /* STag that the Send invalidates */
	u32			send_len; /* bytes of the Send placed */
	struct srnic_rwqe	rwqe;
	struct srnic_wqe	*read;	/* its response has begun, or NULL */
	u32			read_len; /* bytes of the response placed */
	u8			*part;	/* an FPDU too large for TCP, or NULL */
	u32			part_len; /* bytes in @part */
	u32			part_size; /* of @part, or to allocate, or 0 */
};

struct srnic_qp {
	struct ib_qp		ibqp;
	struct srnic_dev	*dev;
	struct kref		ref;	/* for its life; iw_cm; iw_mpa */
	struct completion	free;	/* when @ref is 0 */

	/* RCU state of the last iw_get_qp; under the lock of srnic_dev.qps */
	unsigned long		found;
	spinlock_t		lock;	/* the next members, up to @events */
	u8			state;	/* enum srnic_state */
	u8			idle_state; /* IB_QPS_RESET, INIT or RTR */
	/* in destroy_qp; written under the lock of srnic_dev.qps, too */
	bool			dying;
	bool			broken_off; /* the ULP has aborted the stream */
	struct iw_mpa_ep	*ep;	/* while there is a stream */
	struct srnic_fault	fault;	/* the first error */
	unsigned long		events;	/* BIT(ib_event_type) to report */

	/* of this or the last stream; prepare writes it, before it begins */
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

/* A thread of an application can delay work for the application's QPs. */
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
