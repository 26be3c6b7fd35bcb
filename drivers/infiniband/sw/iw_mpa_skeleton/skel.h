/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An RNIC in software on iw_mpa that is as small as it can be and leaves no check out: what its
 * files share. Read this file first, then handoff.c, qp.c, tx.c and rx.c.
 *
 * Who does what. All that moves data is the engine of a QP: skel_run(). It receives FPDUs, places
 * them, sends, and completes. It runs in the QP's work item; handoff.c runs parts of it, too. Verbs
 * of the fast path and callbacks of the socket only queue something, and the work item.
 *
 * Locks, from the outer to the inner:
 *
 *	qp->run		mutex: who holds it is the engine. It protects the stream: @sock, @rx, @tx,
 *			@irq, and of the send queue what is between @get and @put
 *	dev->mr_sem	what STags stand for. Who accesses memory by an STag holds it for reading,
 *			who changes an STag holds it for writing. So when an invalidation has
 *			returned nobody touches the memory any more (RFC 5040 8.1.1). Nothing is
 *			allocated under it: storage that this device serves may wait for memory
 *	socket		lock_sock(), by TCP's own functions
 *	qp->lock	spinlock, interrupts off: @state, @ep, @fault, @events, and both queues'
 *			@put and @get
 *	cq->lock	spinlock, interrupts off: a completion queue
 *
 * Order of memory: the locks see to it. The work item is queued after what it has to find was
 * written under qp->lock, and it takes that lock to look.
 *
 * Ownership: the RDMA core owns PDs, CQs, QPs and MRs, and frees them when the verb that destroys
 * them has returned. iw_cm and iw_mpa hold references on a QP: destroy_qp waits for them. iw_mpa
 * owns the socket, and lends it from prepare to stop.
 */
#ifndef _SKEL_H
#define _SKEL_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_mpa.h>

struct ib_dmah;

/* A real driver has an id of its own in enum rdma_driver_id. */
#define SKEL_DRIVER_ID		((enum rdma_driver_id)0x6d7061)
#define SKEL_MAX_QPN		0xffffff
#define SKEL_MAX_DEPTH		16	/* Reads in each direction, of one QP */
#define SKEL_MAX_WR		8192	/* in each queue; a power of two */
#define SKEL_MAX_SGE		6
#define SKEL_MAX_CQE		65536	/* a power of two */
#define SKEL_MAX_OBJECTS	65536	/* of each other kind */
#define SKEL_MAX_PAGES		256	/* of a region */
#define SKEL_MAX_INLINE		(SKEL_MAX_SGE * sizeof(struct ib_sge))

/* All memory of the kernel, in SGEs of a ULP. No region has it, so no peer can use it. */
#define SKEL_LOCAL_DMA_LKEY	0xffffff00
#define SKEL_MAX_STAG_INDEX	0xfffffe

#define SKEL_FPDU_MAX		65544	/* RFC 5044 4.1: 2 + 65535 + 3 + 4 */
#define SKEL_ULPDU_MAX		9000	/* of what is sent */
#define SKEL_DDP_TAGGED		14	/* RFC 5041 4.1 */
#define SKEL_DDP_UNTAGGED	18	/* RFC 5041 4.2 */
#define SKEL_READ_REQ		28	/* RFC 5040 4.4 */
#define SKEL_READ_ULPDU		(SKEL_DDP_UNTAGGED + SKEL_READ_REQ)

/* Opcodes of RDMAP (RFC 5040 4.1) */
enum skel_op {
	SKEL_OP_WRITE,
	SKEL_OP_READ_REQ,
	SKEL_OP_READ_RESP,
	SKEL_OP_SEND,
	SKEL_OP_SEND_INV,
	SKEL_OP_SEND_SE,
	SKEL_OP_SEND_SE_INV,
	SKEL_OP_TERMINATE,
};

/* Queues of untagged messages (RFC 5040 4.2) */
enum skel_qn {
	SKEL_QN_SEND,
	SKEL_QN_READ_REQ,
	SKEL_QN_TERMINATE,
	SKEL_QN_COUNT
};

/*
 * Why a stream fails. The value says which Terminate message tells the peer of it (RFC 5040 4.8):
 * layer and error type, error code, and what is copied of the FPDU at fault.
 */
#define SKEL_TERM_SILENT	1	/* no Terminate message */
#define SKEL_TERM_BARE		2	/* nothing is copied */
#define SKEL_TERM_DDP		3	/* length and DDP header */
#define SKEL_TERM_RDMAP		4	/* and the header of a Read Request */
#define SKEL_ERR(type, code, form) ((type) << 16 | (code) << 8 | SKEL_TERM_##form)

enum skel_err {
	SKEL_OK		= 0,
	/* TCP failed, the peer closed too early, or has sent a Terminate message */
	SKEL_E_STREAM	= SKEL_ERR(0, 0, SILENT),
	SKEL_E_LOCAL	= SKEL_ERR(0x00, 0x00, BARE),	/* a work request of the ULP */
	SKEL_E_CQ	= SKEL_ERR(0x02, 0x07, BARE),	/* a completion queue was full */
	SKEL_E_CRC	= SKEL_ERR(0x20, 0x02, BARE),	/* RFC 5044 8 */
	SKEL_E_SHORT	= SKEL_ERR(0x02, 0xff, BARE),	/* no room for a DDP header */
	SKEL_E_RV	= SKEL_ERR(0x02, 0x05, DDP),	/* version of RDMAP */
	SKEL_E_OPCODE	= SKEL_ERR(0x02, 0x06, DDP),	/* or its queue, or its place */
	SKEL_E_FORM	= SKEL_ERR(0x02, 0xff, DDP),	/* a Read Request in pieces */
	SKEL_E_DV_TAG	= SKEL_ERR(0x11, 0x04, DDP),	/* version of DDP */
	SKEL_E_DV	= SKEL_ERR(0x12, 0x06, DDP),
	/* Untagged messages (RFC 5041 7.1) */
	SKEL_E_QN	= SKEL_ERR(0x12, 0x01, DDP),
	SKEL_E_BUFFER	= SKEL_ERR(0x12, 0x02, DDP),	/* no receive, or too many Reads */
	SKEL_E_MSN	= SKEL_ERR(0x12, 0x03, DDP),
	SKEL_E_MO	= SKEL_ERR(0x12, 0x04, DDP),
	SKEL_E_LONG	= SKEL_ERR(0x12, 0x05, DDP),
	/* Tagged messages (RFC 5041 7.1), which have no code for a missing right */
	SKEL_E_TAG_STAG	= SKEL_ERR(0x11, 0x00, DDP),
	SKEL_E_TAG_BASE	= SKEL_ERR(0x11, 0x01, DDP),
	SKEL_E_TAG_PD	= SKEL_ERR(0x11, 0x02, DDP),
	SKEL_E_TAG_WRAP	= SKEL_ERR(0x11, 0x03, DDP),
	/* The source of a Read (RFC 5040 4.8) */
	SKEL_E_READ_STAG = SKEL_ERR(0x01, 0x00, RDMAP),
	SKEL_E_READ_BASE = SKEL_ERR(0x01, 0x01, RDMAP),
	SKEL_E_READ_RIGHT = SKEL_ERR(0x01, 0x02, RDMAP),
	SKEL_E_READ_PD	= SKEL_ERR(0x01, 0x03, RDMAP),
	SKEL_E_READ_WRAP = SKEL_ERR(0x01, 0x04, RDMAP),
	/* The STag of a Send with Invalidate (RFC 5040 5.3) */
	SKEL_E_INV_PD	= SKEL_ERR(0x01, 0x09, DDP),
	SKEL_E_INV_STAG	= SKEL_ERR(0x02, 0x09, DDP),
};

/* Why memory must not be accessed */
enum skel_mem {
	SKEL_MEM_OK,
	SKEL_MEM_STAG,
	SKEL_MEM_PD,
	SKEL_MEM_RIGHT,
	SKEL_MEM_WRAP,
	SKEL_MEM_BASE,
};

struct skel_dev {
	struct ib_device	ibdev;
	struct net_device	*netdev;	/* iw_mpa holds it */
	struct xarray		qps;		/* by number */
	struct xarray		mrs;		/* by index of the STag */
	struct rw_semaphore	mr_sem;
};

/* A protection domain: what the core knows, and all there is */
struct skel_pd {
	struct ib_pd		ib;
};

/* A completion queue: a ring of what poll_cq returns */
struct skel_cq {
	struct ib_cq		ib;
	spinlock_t		lock;		/* protects all but @work */
	struct ib_wc		*ring;
	u32			size;		/* a power of two */
	u32			put;
	u32			get;
	enum ib_cq_notify_flags	armed;		/* 0, IB_CQ_SOLICITED or IB_CQ_NEXT_COMP */
	bool			call;		/* @work is to call the handler */
	bool			lost;		/* @work is to tell of an overflow */
	bool			overflowed;	/* that was told */
	struct work_struct	work;
};

/* Where the memory of a region is: pages of one size, the first and the last used in part */
struct skel_pages {
	u32	count;
	u8	shift;		/* log2 of the size of a page */
	u32	skip;		/* where in the first page the region begins */
	u64	size;		/* bytes of the region */
	u64	page[];		/* addresses of the kernel, as the device has no DMA */
};

/* A fast-registered region; dev->mr_sem protects all but @next and @mapped, which are the ULP's */
struct skel_mr {
	struct ib_mr		ib;
	u32			stag;		/* index and key */
	bool			valid;
	u32			access;		/* set of IB_ACCESS_* */
	u64			base;		/* address of its first byte, on the wire, too */
	u64			size;
	u32			max_pages;
	struct skel_pages	*pages;		/* where it is, if @valid */
	struct skel_pages	*next;		/* of map_mr_sg, for the next registration */
	bool			mapped;		/* there is something new in @next */
};

/* A work request of the send queue */
struct skel_wqe {
	u64			id;
	enum ib_wr_opcode	op;
	int			flags;		/* set of IB_SEND_* */
	enum ib_wc_status	status;
	bool			done;
	u32			bytes;
	u64			raddr;		/* REG_MR: address of the first byte */
	u32			rkey;		/* or STag to invalidate, or to register */
	u32			num_sge;
	union {
		struct ib_sge	sge[SKEL_MAX_SGE];
		u8		data[SKEL_MAX_INLINE];	/* IB_SEND_INLINE */
		struct {
			u64	size;
			u32	access;
		} reg;
	};
};

/* A receive */
struct skel_rwqe {
	u64		id;
	u32		num_sge;
	u32		bytes;	/* room */
	struct ib_sge	sge[SKEL_MAX_SGE];
};

/*
 * The send queue: get <= next <= put <= get + size. WQEs before @next are with TCP, or done
 * without. They complete in order, at @get. So if @get is before @next, what is there is a Read
 * whose response has not come, and it is the oldest one.
 */
struct skel_sq {
	struct skel_wqe	*ring;
	u32		size;	/* a power of two */
	u32		put;
	u32		next;
	u32		get;
	u32		limit;	/* what may still go out when the stream ends in order */
	u32		reads;	/* Reads without a response */
	bool		failed;	/* a WQE has completed in error: none after it succeeds */
};

struct skel_rq {
	struct skel_rwqe *ring;
	u32		size;	/* a power of two */
	u32		put;
	u32		get;
};

/* Read Requests of the peer, with their DDP headers, as they came */
struct skel_irq {
	u8	ulpdu[SKEL_MAX_DEPTH][SKEL_READ_ULPDU];
	u32	ird;		/* as was negotiated */
	u32	put;
	u32	get;
};

/* A DDP segment in host order (RFC 5041 4) */
struct skel_seg {
	u8		op;
	bool		tagged;
	bool		last;
	u8		hdr_len;	/* 0: there was no room for a header */
	u16		ulpdu_len;
	u32		stag;		/* or STag to invalidate */
	u64		to;
	u32		qn;
	u32		msn;
	u32		mo;
	u32		len;		/* of @payload */
	const u8	*ulpdu;
	const u8	*payload;
};

struct skel_rx {
	u8		*buf;		/* the FPDU that comes */
	u32		have;		/* bytes of it */
	bool		crc;
	bool		responder;
	bool		first;		/* no good FPDU has come yet */
	bool		ended;		/* the peer has sent FIN */
	u32		msn[SKEL_QN_COUNT];	/* that is expected */
	bool		write_busy;	/* within a Write of several segments */
	bool		send_busy;	/* within a Send: */
	u8		send_op;
	u32		send_inv;
	u32		send_len;	/* bytes that were placed */
	struct skel_rwqe rwqe;		/* where they go */
	u32		read_len;	/* bytes of the oldest Read that were placed */
};

enum skel_msg {
	SKEL_MSG_NONE,
	SKEL_MSG_WR,		/* the WQE at @next */
	SKEL_MSG_RESP,		/* the answer to the Read Request at @irq.get */
	SKEL_MSG_ALONE,		/* an RTR or Terminate message */
};

struct skel_tx {
	u8		*buf;		/* the FPDU that goes */
	u32		len;		/* 0: none */
	u32		done;		/* bytes of it that TCP has */
	enum skel_msg	msg;		/* what it is of, or what comes next */
	enum skel_msg	turn;		/* what was sent last */
	u32		bytes;		/* of the message */
	u32		off;		/* of these, in FPDUs that were made */
	bool		crc;
	bool		open;		/* open_tx or send_rtr was called */
	bool		finishing;	/* finish_tx was called */
	bool		finished;	/* all is with TCP, and the library sends FIN */
	bool		term_made;	/* the Terminate message is in @buf, or gone */
	bool		closed;		/* the library knows that the stream is over */
	unsigned long	deadline;	/* of the Terminate message; 0: none is due */
	u16		ord;
	u32		msn[SKEL_QN_COUNT];
};

/* The first error of a stream, and the FPDU at fault */
struct skel_fault {
	enum skel_err	err;
	bool		silent;		/* the peer is not told all the same */
	u16		ulpdu_len;
	u8		hdr_len;
	u8		hdr[SKEL_READ_ULPDU];
};

/*
 * A QP. @state is RESET, INIT or RTR without a stream; RTS; SQD while the ULP has it closed; SQE
 * when the stream has failed; ERR when the ULP breaks it off, or it has ended. There is a stream as
 * long as there is @ep.
 */
struct skel_qp {
	struct ib_qp		ib;
	struct kref		ref;	/* one for the QP's life, those of iw_cm and of iw_mpa */
	struct completion	free;	/* @ref is 0 */
	struct mutex		run;
	spinlock_t		lock;
	enum ib_qp_state	state;
	bool			dying;
	bool			sig_all;
	struct iw_mpa_ep	*ep;
	struct socket		*sock;
	struct skel_fault	fault;
	unsigned long		events;	/* bits of enum ib_event_type, to be told */
	struct ib_qp_cap	cap;
	struct skel_sq		sq;
	struct skel_rq		rq;
	struct skel_irq		irq;
	struct skel_rx		rx;
	struct skel_tx		tx;
	struct delayed_work	work;
};

static inline struct skel_dev *to_skel_dev(const struct ib_device *ibdev)
{
	return container_of(ibdev, struct skel_dev, ibdev);
}

static inline struct skel_cq *to_skel_cq(const struct ib_cq *ibcq)
{
	return container_of(ibcq, struct skel_cq, ib);
}

static inline struct skel_mr *to_skel_mr(const struct ib_mr *ibmr)
{
	return container_of(ibmr, struct skel_mr, ib);
}

static inline struct skel_qp *to_skel_qp(const struct ib_qp *ibqp)
{
	return container_of(ibqp, struct skel_qp, ib);
}

static inline struct skel_wqe *skel_sq_at(const struct skel_sq *sq, u32 n)
{
	return &sq->ring[n & (sq->size - 1)];
}

static inline bool skel_wqe_is_read(const struct skel_wqe *wqe)
{
	return wqe->op == IB_WR_RDMA_READ || wqe->op == IB_WR_RDMA_READ_WITH_INV;
}

/* May the stream place and send? If the ULP or a fault ends it at this moment, that may be old. */
static inline bool skel_is_flowing(const struct skel_qp *qp)
{
	enum ib_qp_state state = READ_ONCE(qp->state);

	return state == IB_QPS_RTS || state == IB_QPS_SQD;
}

/* main.c */
extern struct workqueue_struct *skel_wq;

/* cq.c */
int skel_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs);
int skel_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int skel_poll_cq(struct ib_cq *ibcq, int max, struct ib_wc *wc);
int skel_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
bool skel_cq_put(struct skel_cq *cq, const struct ib_wc *wc, bool solicited);
void skel_cq_forget(struct skel_cq *cq, const struct ib_qp *ibqp);

/* mr.c */
struct ib_mr *skel_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *skel_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova, int access,
			       struct ib_dmah *dmah, struct ib_udata *udata);
struct ib_mr *skel_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_pages);
int skel_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sgl, int nents, unsigned int *off);
int skel_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
int skel_check_access(struct ib_device *ibdev, int access);
int skel_mr_register(struct skel_qp *qp, const struct skel_wqe *wqe);
enum skel_err skel_mr_invalidate(struct skel_qp *qp, u32 stag, bool remote);
enum skel_mem skel_mem_copy(struct skel_qp *qp, u32 stag, u32 right, u64 addr, void *buf, u32 len);
enum skel_mem skel_sge_copy(struct skel_qp *qp, const struct ib_sge *sge, u32 right, u32 off,
			    void *buf, u32 len);

/* qp.c */
int skel_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata);
int skel_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int skel_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);
int skel_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int skel_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
int skel_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);
struct ib_qp *skel_get_qp(struct ib_device *ibdev, int qpn);
void skel_add_ref(struct ib_qp *ibqp);
void skel_rem_ref(struct ib_qp *ibqp);
void skel_kick(struct skel_qp *qp, unsigned long delay);
void skel_fail(struct skel_qp *qp, enum skel_err err, const struct skel_seg *seg);
bool skel_take_recv(struct skel_qp *qp, struct skel_rwqe *rwqe);
void skel_complete_recv(struct skel_qp *qp, struct ib_wc *wc, bool solicited);
void skel_complete_sends(struct skel_qp *qp);
void skel_wqe_done(struct skel_wqe *wqe, enum ib_wc_status status);
void skel_flush(struct skel_qp *qp);

/* handoff.c */
extern const struct iw_mpa_driver_ops skel_driver_ops;
extern const struct iw_mpa_device_attr skel_device_attr;

/* rx.c */
bool skel_rx(struct skel_qp *qp, u32 budget);
enum skel_err skel_err_of_read(enum skel_mem fault);

/* tx.c */
bool skel_tx(struct skel_qp *qp, u32 budget);
bool skel_tx_terminate(struct skel_qp *qp, bool last_try);

#endif /* _SKEL_H */
