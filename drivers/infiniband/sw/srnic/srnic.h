/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects of srnic. Documentation/infiniband/srnic.rst says who owns them, and which lock protects
 * what. Here each member says it.
 */
#ifndef _SRNIC_H
#define _SRNIC_H

#include "qp_state.h"
#include "wire.h"
#include "stats.h"
#include "term.h"
#include "tx_state.h"

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

/* Limits that a ULP can ask for; the first two are those of libsiw's rings */
#define SRNIC_MAX_SGE		SIW_MAX_SGE
#define SRNIC_MAX_INLINE	SIW_MAX_INLINE
#define SRNIC_MAX_SGE_RD	1
#define SRNIC_MAX_WR		32768
/* On 32 bits the kernel has few addresses to map rings at, for all that need some. */
#define SRNIC_MAX_CQE		(BITS_PER_LONG == 64 ? 4194304 : 65536)
#define SRNIC_MAX_DEPTH		128
#define SRNIC_MAX_QP		131072
#define SRNIC_MAX_CQ		262144
#define SRNIC_MAX_MR		1048576
/*
 * Octets of a region, wherever they begin in a page, and however small the pieces of memory are:
 * the list of pages is one allocation, which cannot be larger.
 */
#define SRNIC_MAX_MR_SIZE	((u64)(INT_MAX / sizeof(u64) - 1) << PAGE_SHIFT)
#define SRNIC_MAX_PD		131072
#define SRNIC_MAX_SRQ		65536
#define SRNIC_MAX_FAST_SG	512

/*
 * What ibv_devinfo(1) shows. No vendor of software has a number. So these are letters in ASCII, as
 * siw has other ones.
 */
#define SRNIC_VENDOR_ID		0x73726e	/* "srn" */
#define SRNIC_PART_ID		1

/* What a batch of the sender may have before one more FPDU, and the pieces that it may be in */
#define SRNIC_BATCH_FPDUS	64
#define SRNIC_BATCH_OCTETS	SZ_64K
#define SRNIC_BATCH_BVECS	30
/* Octets that one run may handle before others have a turn */
#define SRNIC_TX_QUOTA		SZ_1M
#define SRNIC_RX_BUDGET		SZ_256K
/* Elements of a queue that are handled in a row with interrupts off */
#define SRNIC_QUEUE_STEP	256
/* How long a Terminate message waits for room in the socket while the peer acknowledges nothing */
#define SRNIC_TERM_MS		5000
/* How long it waits at the most: only then the ULP is told of the error */
#define SRNIC_TERM_MAX_MS	30000
/* How long to wait before another try if there was no memory */
#define SRNIC_RETRY_MS		10
/* How often to look for receives that an application posts to a QP in error */
#define SRNIC_FLUSH_MIN_MS	10
#define SRNIC_FLUSH_MAX_MS	4000

/* How long a QP is found that has accepted, after TX was opened */
#define SRNIC_FOUND_S		60

struct srnic_ring;

/*
 * Queues of work of all devices. One is for streams and completions of kernel ULPs, one for those
 * of applications, and the third tells ULPs of async events. "Memory reclaim" in srnic.rst says
 * what may run on which.
 */
extern struct workqueue_struct *srnic_wq;
extern struct workqueue_struct *srnic_user_wq;
extern struct workqueue_struct *srnic_event_wq;

/**
 * struct srnic_dev - an RDMA device
 * @ibdev: what the RDMA core knows
 * @netdev: the network device
 * @netdev_tracker: of the reference on it
 * @taken: in the list of devices that have an interface: see device.c
 * @catch_up: looks at it after a time in which the RDMA core did not find the RDMA device
 * @qps: QPs by number; a QP comes when it is complete, and leaves last. Its lock is taken with
 *	interrupts off
 * @mrs: memory regions by STag index
 * @next_qpn: where to look for a free number
 * @mac: MAC address of the network device, or one made up: the GID
 * @port_up: the network device is up and has a carrier
 * @mtu: of the network device, in octets
 * @objects: how many there are of each kind, against the limits
 * @stats: counters of the data path
 * @stat_descs: names of the library's counters and of these
 * @library_stats: how many of @stat_descs are the library's
 */
struct srnic_dev {
	struct ib_device	ibdev;
	struct net_device	*netdev;
	netdevice_tracker	netdev_tracker;
	struct list_head	taken;
	struct work_struct	catch_up;
	struct xarray		qps;
	struct xarray		mrs;
	u32			next_qpn;
	u64			mac;
	bool			port_up;
	u32			mtu;
	struct {
		atomic_t	qp, cq, mr, pd, srq;
	} objects;
	struct srnic_stats __percpu *stats;
	struct rdma_stat_desc	*stat_descs;
	int			library_stats;
};

/* enum srnic_mr_kind - what is behind an STag */
enum srnic_mr_kind {
	SRNIC_MR_DMA,		/* all memory of the kernel */
	SRNIC_MR_USER,		/* pinned pages of an application */
	SRNIC_MR_FAST,		/* what a kernel ULP maps and registers by work request */
};

/* struct srnic_extent - a piece of a fast-registered region */
struct srnic_extent {
	void	*va;	/* its first octet */
	u64	end;	/* octets of the region up to the end of this piece */
};

/**
 * struct srnic_mr - a memory region
 * @ibmr: what the RDMA core knows
 * @rcu: readers of @mrs may still look at it
 * @lock: an access holds it for reading, a change for writing; softirqs off
 * @gate: a change holds it, too, before @lock
 * @closed: readers wait at @gate
 * @kind: what it is; does not change
 * @valid: may be accessed; under @lock
 * @removed: has left the table of STags, and is never valid again; under @lock
 * @stag: index and key; under @lock
 * @access: set of IB_ACCESS_*; under @lock
 * @base: address of its first octet, as in SGEs and on the wire; under @lock
 * @size: octets; under @lock
 * @umem: SRNIC_MR_USER: the pinned pages
 * @blocks: SRNIC_MR_USER: addresses of its blocks
 * @block_shift: SRNIC_MR_USER: log2 of a block's size
 * @block_off: SRNIC_MR_USER: where in the first block @base is
 * @block: SRNIC_MR_USER: the only one of @blocks, if there is but one
 * @map: SRNIC_MR_FAST: the table in use, and the one that map_mr_sg fills
 * @extents: SRNIC_MR_FAST: how many pieces each of @map has
 * @max_extents: SRNIC_MR_FAST: room in each
 * @active: SRNIC_MR_FAST: index of the table in use; under @lock
 * @mapped: SRNIC_MR_FAST: the other table is newer, and for the next registration
 */
struct srnic_mr {
	struct ib_mr		ibmr;
	struct rcu_head		rcu;
	rwlock_t		lock;
	spinlock_t		gate;
	bool			closed;
	enum srnic_mr_kind	kind;
	bool			valid;
	bool			removed;
	u32			stag;
	u32			access;
	u64			base;
	u64			size;
	union {
		struct {
			struct ib_umem		*umem;
			u64			*blocks;
			u64			block;
			u32			block_off;
			u8			block_shift;
		};
		struct {
			struct srnic_extent	*map[2];
			u32			extents[2];
			u32			max_extents;
			u8			active;
			bool			mapped;
		};
	};
};

/* enum srnic_wr_op - what a ULP may post; SRNIC_WR_RECV is for completions */
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

/* struct srnic_cqe - a completion */
struct srnic_cqe {
	/* the ULP's wr_id, or the address of its wr_cqe */
	u64		id;
	struct ib_qp	*qp;	/* whose work it was */
	u32		bytes;	/* octets received or read */
	/* STag that the peer has invalidated, if @inv */
	u32		inv_stag;
	u8		op;	/* enum srnic_wr_op */
	u8		status;	/* enum ib_wc_status */
	bool		inv;	/* @inv_stag is valid */
};

/* What a completion queue has a work item do, by number of the bit */
enum srnic_cq_due {
	SRNIC_CQ_CALL,		/* the handler */
	SRNIC_CQ_GO_ON,		/* the calls of the handler that somebody has left to it */
	SRNIC_CQ_LOST,		/* tell of the overflow */
};

/**
 * struct srnic_cq - a completion queue
 * @ibcq: what the RDMA core knows
 * @lock: protects all but @users, @upcalls and @due
 * @size: completions that it has room for, a power of two
 * @put: completions that were ever put
 * @get: kernel: completions that were ever polled
 * @forget: held by whoever takes out the completions of a QP, before @lock
 * @gap: kernel: entries from here to before @gap_end are void, while @forget is held
 * @gap_end: kernel: where the gap ends; there is none if it is @gap
 * @kring: kernel: the completions
 * @uring: application: the completions, in @ring
 * @ring: application: memory shared with it
 * @notify: set of SIW_NOTIFY_*: @armed, or a word in @ring
 * @armed: kernel: what it is armed for
 * @overflowed: a completion was lost; tell once
 * @users: queues of QPs that complete here
 * @upcalls: calls of the handler that are due; whoever makes it 1 calls, or has @event_work call
 * @due: set of SRNIC_CQ_* that @event_work has to do; @lock is not needed
 * @event_work: calls the handler, or tells the ULP of the overflow
 */
struct srnic_cq {
	struct ib_cq		ibcq;
	spinlock_t		lock;
	u32			size;
	u32			put;
	u32			get;
	struct mutex		forget;
	u32			gap;
	u32			gap_end;
	struct srnic_cqe	*kring;
	struct siw_cqe		*uring;
	struct srnic_ring	*ring;
	u32			*notify;
	u32			armed;
	bool			overflowed;
	atomic_t		users;
	atomic_t		upcalls;
	unsigned long		due;
	struct work_struct	event_work;
};

/* Flags of a WQE */
#define SRNIC_WQE_SIGNALED	BIT(0)
#define SRNIC_WQE_SOLICITED	BIT(1)
#define SRNIC_WQE_FENCE		BIT(2)
#define SRNIC_WQE_INLINE	BIT(3)
#define SRNIC_WQE_BAD		BIT(4)	/* cannot be done: completes with @status */

/* struct srnic_wqe - a work request of the send queue */
struct srnic_wqe {
	u64	id;	/* the ULP's */
	/* remote address; SRNIC_WR_REG: address of the first octet */
	u64	raddr;
	/* remote STag; STag to invalidate of SEND_INV and INV; STag of REG */
	u32	rkey;
	u32	bytes;	/* sum of the lengths */
	u8	op;	/* enum srnic_wr_op */
	u8	flags;	/* SRNIC_WQE_* */
	/* SGEs in @sge, 0..SRNIC_MAX_SGE; none with SRNIC_WQE_INLINE */
	u8	num_sge;
	bool	done;	/* nothing is left to do; under the lock of the queue */
	u8	status;	/* enum ib_wc_status, when @done */
	union {
		/* what to send, or where to read to */
		struct ib_sge	sge[SRNIC_MAX_SGE];
		/* SRNIC_WQE_INLINE: the octets */
		u8		data[SRNIC_MAX_INLINE];
		struct {
			u64	size;
			u32	access;
		} reg; /* SRNIC_WR_REG: size and rights of the region */
	};
};

/**
 * struct srnic_sq - a send queue
 * @lock: protects all members but @uring. The sender reads @put and writes @next also without it,
 *	with acquire and release; if there is an @uring it writes @put without it, too
 * @ring: the WQEs, each used from @put to @get
 * @size: a power of two
 * @put: WQEs that were ever posted, or copied from the application's ring by the sender, who alone
 *	moves it then
 * @next: WQEs of which all segments were ever put into a batch
 * @sent: WQEs of which TCP has ever accepted all
 * @get: WQEs that were ever retired
 * @read: no Read that waits for its response is before this WQE
 * @reads: Reads that count against ORD, that of an RTR message too
 * @limit: WQEs that may still go out, counted as @put, when the sender is FINISHING or ANSWERING
 * @failed: a WQE was retired with an error: none behind it succeeds
 * @rtr_read: the oldest of them is the RTR message
 * @waits: the sender waits for a Read to complete or a WQE to retire
 * @uring: application: its ring, in @shared, with the same indices; the sender's alone
 * @shared: application: memory shared with it
 */
struct srnic_sq {
	spinlock_t		lock;
	struct srnic_wqe	*ring;
	u32			size;
	u32			put;
	u32			next;
	u32			sent;
	u32			get;
	u32			read;
	u32			reads;
	u32			limit;
	bool			failed;
	bool			rtr_read;
	bool			waits;
	struct siw_sqe		*uring;
	struct srnic_ring	*shared;
};

/* struct srnic_rwqe - a receive */
struct srnic_rwqe {
	u64		id;			/* the ULP's */
	u32		num_sge;		/* SGEs in @sge */
	struct ib_sge	sge[SRNIC_MAX_SGE];	/* where to */
};

/* struct srnic_rq - a receive queue, of a QP or shared */
struct srnic_rq {
	spinlock_t		lock;	/* protects all of it */
	u32			size;	/* a power of two */
	/* kernel: receives that were ever posted */
	u32			put;
	u32			get;	/* receives that were ever taken */
	struct srnic_rwqe	*kring;	/* kernel: the receives */
	struct siw_rqe		*uring;	/* application: its ring, in @shared */
	/* application: memory shared with it */
	struct srnic_ring	*shared;
};

/**
 * struct srnic_srq - a shared receive queue
 * @ibsrq: what the RDMA core knows
 * @rq: the queue
 * @max_sge: SGEs that a receive may have
 * @limit: tell when fewer receives than this are left; 0 if not armed; under @rq.lock
 * @event_work: tells the ULP that the limit was reached
 */
struct srnic_srq {
	struct ib_srq		ibsrq;
	struct srnic_rq		rq;
	u32			max_sge;
	u32			limit;
	struct work_struct	event_work;
};

/* struct srnic_irqe - a Read Request that is to be answered */
struct srnic_irqe {
	u8	hdr[SRNIC_READ_ULPDU];	/* DDP and RDMAP header as received */
};

/**
 * struct srnic_irq - Read Requests of the peer
 * @ring: a power of two of them, @ird at least
 * @mask: turns an index into a place in @ring
 * @ird: as was negotiated: @put - @get is no more
 * @put: requests that have come; written by RX
 * @get: requests that were answered; written by the sender
 * @limit: none from here on is answered when the sender is ANSWERING
 */
struct srnic_irq {
	struct srnic_irqe	*ring;
	u32			mask;
	u32			ird;
	u32			put;
	u32			get;
	u32			limit;
};

/**
 * struct srnic_batch - FPDUs on their way to TCP
 * @bv: pieces of pages, each with a reference
 * @ends: where each FPDU ends in the batch, in units of 4 octets, which all of their lengths are
 * @nbv: pieces
 * @fpdus: FPDUs
 * @len: octets
 * @done: octets that TCP has accepted
 *
 * This is the largest part of a QP, which takes twice the memory if it has more than 2 KiB.
 */
struct srnic_batch {
	struct bio_vec	bv[SRNIC_BATCH_BVECS];
	u16		ends[SRNIC_BATCH_FPDUS];
	u8		nbv;
	u8		fpdus;
	u32		len;
	u32		done;
};

/* enum srnic_msg_kind - what the sender is in the middle of, or has sent */
enum srnic_msg_kind {
	SRNIC_MSG_NONE,
	SRNIC_MSG_WR,
	SRNIC_MSG_RESP,
};

/**
 * struct srnic_name - a region, as a work request or a segment names it
 * @pd: protection domain of the QP, or of the SRQ
 * @stag: STag
 * @rights: IB_ACCESS_* that are needed, all of them; 0 to read for a local work request
 * @kernel: the name comes from a kernel ULP: @stag may be SRNIC_LOCAL_DMA_LKEY
 */
struct srnic_name {
	const struct ib_pd	*pd;
	u32			stag;
	u32			rights;
	bool			kernel;
};

/* struct srnic_msg_cursor - a place in the payload of a message */
struct srnic_msg_cursor {
	u64	addr;	/* address in the region, or within inline data */
	u32	run;	/* bytes in a row there: to the end of the SGE */
	u8	sge;	/* the SGE after that */
};

/**
 * struct srnic_msg - the message that the sender is in the middle of
 * @kind: which sort
 * @last: which sort had its turn last: the other one is asked next
 * @op: enum srnic_opcode
 * @head_len: bytes of @head
 * @head: ULPDU_Length and DDP header; what differs between segments is written for each
 * @seg_len: bytes of payload that @head is for, if it is not the last segment's; else 0
 * @len: bytes of the message
 * @left: of these, not in a batch
 * @off: tagged offset, or message offset, of the next segment
 * @src: the region that the payload comes from
 * @cur: where the payload goes on
 * @wqe: SRNIC_MSG_WR: the WQE
 * @irqe: SRNIC_MSG_RESP: the request
 * @read: SRNIC_MSG_RESP: the request in host order
 */
struct srnic_msg {
	enum srnic_msg_kind	kind;
	enum srnic_msg_kind	last;
	u8			op;
	u8			head_len;
	u8			head[2 + SRNIC_DDP_HDR_MAX];
	u32			seg_len;
	u32			len;
	u32			left;
	u64			off;
	struct srnic_name	src;
	struct srnic_msg_cursor	cur;
	struct srnic_wqe	*wqe;
	struct srnic_irqe	irqe;
	struct srnic_read	read;
};

/**
 * struct srnic_tx - the sending half of a QP's stream
 * @lock: whoever holds it is the sender, and owns all that follows but the work items and what
 *	says so
 * @work: sends
 * @retry: queues @work, when memory may be there or @deadline is over
 * @sock: the stream; valid unless @state is CLOSED
 * @starved: there was no memory; nobody tries again before @retry has run, which clears it
 * @state: enum srnic_tx_state; changes under the QP's lock, and but for open_tx under @lock, too;
 *	may be read without them as a hint
 * @opened: when the stream began, then when @state became OPEN or later, in seconds since boot;
 *	under the QP's lock
 * @crc: FPDUs have a CRC
 * @markers: FPDUs have Markers
 * @large: FPDUs may have several segments of TCP
 * @deadline: when the Terminate message is given up, in jiffies; 0 if none is due
 * @give_up: when it is given up whatever the peer acknowledges, in jiffies
 * @acked: what the peer had acknowledged when @deadline was set
 * @ord: Reads that may be unanswered
 * @pos: octets since SeqStart, Markers included, modulo 2^32
 * @msn: next MSN of each queue
 * @msg: the message under way
 * @batch: FPDUs that TCP has not accepted yet
 */
struct srnic_tx {
	struct mutex		lock;
	struct work_struct	work;
	struct delayed_work	retry;
	struct socket		*sock;
	u8			state;
	bool			starved;
	bool			crc;
	bool			markers;
	bool			large;
	u16			ord;
	unsigned long		deadline;
	unsigned long		give_up;
	u32			acked;
	u32			pos;
	u32			opened;
	u32			msn[SRNIC_QN_COUNT];
	struct srnic_msg	msg;
	struct srnic_batch	batch;
};

/**
 * struct srnic_rx - the receiving half of a QP's stream; under the socket's lock
 * @work: goes on behind the budget, and makes room for FPDUs that TCP cannot hold; with a
 *	delay if there was no memory for that
 * @sk: the stream, from prepare to stop
 * @crc: FPDUs have a CRC
 * @markers: FPDUs have Markers
 * @first: no FPDU was validated yet
 * @ended: the peer has closed, and all that came before was taken; the sender looks at it
 * @responder: iw_mpa is to be told of the first one
 * @send_busy: a Send has begun: @rwqe is in use
 * @send_op: enum srnic_opcode of that
 * @write_busy: a Write has begun, and its last segment has not come
 * @rtr: RTR types that may come as first FPDU
 * @need: octets that have to be there before there is anything to do
 * @seq_start: TCP's sequence number of SeqStart
 * @msn: MSN that is expected, of each queue
 * @send_inv: STag that the Send invalidates
 * @send_len: octets of the Send that were placed
 * @rwqe: the receive that it is for
 * @read: the Read whose response has begun, or NULL
 * @read_len: octets of that which were placed
 * @part: an FPDU that TCP could not hold, or NULL
 * @part_len: octets of @part that are there
 * @part_size: room in @part; without @part: room that it should have, or 0
 */
struct srnic_rx {
	struct delayed_work	work;
	struct sock		*sk;
	bool			crc;
	bool			markers;
	bool			first;
	bool			ended;
	bool			responder;
	bool			send_busy;
	u8			send_op;
	bool			write_busy;
	u8			rtr;
	u32			need;
	u32			seq_start;
	u32			msn[SRNIC_QN_COUNT];
	u32			send_inv;
	u32			send_len;
	struct srnic_rwqe	rwqe;
	struct srnic_wqe	*read;
	u32			read_len;
	u8			*part;
	u32			part_len;
	u32			part_size;
};

/**
 * struct srnic_qp - a QP
 * @ibqp: what the RDMA core knows
 * @dev: device
 * @ref: one for its life, those of iw_cm and iw_mpa
 * @free: completed when @ref drops to 0
 * @lock: protects the members up to @fault
 * @state: enum srnic_state; see state.h
 * @idle_state: SRNIC_IDLE: IB_QPS_RESET, INIT or RTR, as the ULP has set
 * @dying: destroy_qp was called: iw_get_qp does not find it any more; set under the lock of
 *	srnic_dev.qps, too
 * @found: when iw_get_qp last found it, as a state of RCU; under the lock of srnic_dev.qps
 * @broken_off: the ULP has broken the stream off, also where @state does not say so any more
 * @initiator: @ep was connected, and not accepted
 * @ep: the connection, while there is a stream
 * @fault: the first error
 * @events: bits of enum ib_event_type that @event_work is to tell; under @lock
 * @user: an application's, with shared rings; else a kernel ULP's
 * @sig_all: every WQE is signaled
 * @cap: as granted
 * @scq: completions of the send queue
 * @rcq: completions of the receive queue
 * @srq: shared receive queue, or NULL
 * @sq: send queue
 * @rq: receive queue; not used with @srq
 * @irq: Read Requests of the peer
 * @rx: receiving half
 * @tx: sending half
 * @flush_work: flushes in SRNIC_ERROR
 * @flush_ms: when it looks again
 * @event_work: tells the ULP
 */
struct srnic_qp {
	struct ib_qp		ibqp;
	struct srnic_dev	*dev;
	struct kref		ref;
	struct completion	free;

	unsigned long		found;
	spinlock_t		lock;
	u8			state;
	u8			idle_state;
	bool			dying;
	bool			broken_off;
	bool			initiator;
	struct iw_mpa_ep	*ep;
	struct srnic_fault	fault;

	unsigned long		events;
	bool			user;
	bool			sig_all;
	struct ib_qp_cap	cap;
	struct srnic_cq		*scq;
	struct srnic_cq		*rcq;
	struct srnic_srq	*srq;
	struct srnic_sq		sq;
	struct srnic_rq		rq;
	struct srnic_irq	irq;
	struct srnic_rx		rx;
	struct srnic_tx		tx;
	struct delayed_work	flush_work;
	u32			flush_ms;
	struct work_struct	event_work;
};

/* struct srnic_pd - a protection domain */
struct srnic_pd {
	struct ib_pd	ibpd;	/* what the RDMA core knows, and all there is */
};

/**
 * struct srnic_ucontext - an application's use of a device
 * @ibctx: what the RDMA core knows, and all there is
 */
struct srnic_ucontext {
	struct ib_ucontext	ibctx;
};

static inline struct srnic_dev *to_srnic_dev(const struct ib_device *ibdev)
{
	return container_of(ibdev, struct srnic_dev, ibdev);
}

static inline struct srnic_qp *to_srnic_qp(const struct ib_qp *ibqp)
{
	return container_of(ibqp, struct srnic_qp, ibqp);
}

/*
 * The work queue of a QP. QPs of applications have one of their own, since a thread of an
 * application can hold up the work of its QPs.
 */
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
