/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An RNIC in software on iw_mpa, for ULPs of the kernel: as small as it can be,
 * with no check left out. This file has what the other files share. Read it
 * first, then handoff.c, qp.c, tx.c and rx.c.
 *
 * The engine of a QP moves all data, in the QP's work item: rx.c receives FPDUs
 * and places them, tx.c makes FPDUs and sends them. It takes one work request
 * at a time, and the next one when the first has completed. Verbs and callbacks
 * of the socket only queue work requests and the work item.
 *
 * Locks, the outer one first:
 *
 *	dev->lock	mutex, which the engine holds. It protects streams
 *			(@sock, @rx, @tx, @irq) and the memory of STags. So
 *			once an invalidation has returned nothing uses the
 *			memory any more (RFC 5040 8.1.1). Storage on this
 *			device may wait for dev->lock, so an allocation of TCP
 *			under it must not wait for storage
 *	socket		lock_sock(), by functions of TCP
 *	dev->spin	spinlock, interrupts off: @state, @ep, @event of QPs,
 *			@put and @get of SQs, RQs and CQs, and all else of CQs.
 *			The engine owns the slot at @get, a poster that at @put
 *
 * Ownership: the RDMA core frees PDs, CQs, QPs and MRs when the verb that
 * destroys them has returned. iw_cm and iw_mpa have references on a QP, for
 * which destroy_qp waits. iw_mpa owns the socket; the driver may use it from
 * prepare to stop.
 */
#ifndef _SKEL_H
#define _SKEL_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_mpa.h>

struct ib_dmah;

/* A real driver has an id of its own in enum rdma_driver_id. */
#define SKEL_DRIVER_ID		((enum rdma_driver_id)0x6d7061)
#define SKEL_MAX_QPN		0xffffff	/* and of each other kind */
#define SKEL_MAX_DEPTH		16	/* Reads in each direction, of one QP */
#define SKEL_MAX_WR		8192	/* in each queue; a power of two */
#define SKEL_MAX_SGE		6
#define SKEL_MAX_CQE		16384	/* a power of two */
#define SKEL_STEPS		64	/* of the engine, before other QPs' */
#define SKEL_MAX_PAGES		256	/* of a region */
/* In a ULP's SGEs: all memory. No region has this STag: no peer can use it. */
#define SKEL_LOCAL_DMA_LKEY	0xffffff00

#define SKEL_FPDU_MAX		65544	/* RFC 5044 4.1: 2 + 65535 + 3 + 4 */
#define SKEL_ULPDU_MAX		9000	/* of what is sent */
#define SKEL_TAGGED		14	/* DDP header, RFC 5041 4.1 */
#define SKEL_UNTAGGED		18	/* RFC 5041 4.2 */
#define SKEL_READ_REQ		28	/* RFC 5040 4.4 */
#define SKEL_READ_ULPDU		(SKEL_UNTAGGED + SKEL_READ_REQ)

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
 * Why a stream fails. The value says which event the ULP gets, and which
 * Terminate message the peer gets (RFC 5040 4.8): layer and error type, error
 * code, and the part of the FPDU at fault that is copied.
 */
#define SKEL_TERM_SILENT	0	/* no Terminate message */
#define SKEL_TERM_BARE		1	/* nothing is copied */
#define SKEL_TERM_DDP		2	/* length and DDP header */
#define SKEL_TERM_RDMAP		3	/* and the header of a Read Request */
#define SKEL_ERR(event, type, code, form) \
	(IB_EVENT_QP_##event << 24 | (type) << 16 | (code) << 8 | \
	 SKEL_TERM_##form)

enum skel_err {
	SKEL_OK,
	/* TCP failed, or the peer closed too early, or sent a Terminate */
	SKEL_E_STREAM	= SKEL_ERR(FATAL, 0, 0, SILENT),
	/* A work request of the ULP; a completion queue was full */
	SKEL_E_LOCAL	= SKEL_ERR(FATAL, 0x00, 0x00, BARE),
	SKEL_E_CQ	= SKEL_ERR(FATAL, 0x02, 0x07, BARE),
	SKEL_E_CRC	= SKEL_ERR(FATAL, 0x20, 0x02, BARE),	/* RFC 5044 8 */
	/* No room for a DDP header; version of RDMAP */
	SKEL_E_SHORT	= SKEL_ERR(REQ_ERR, 0x02, 0xff, BARE),
	SKEL_E_RV	= SKEL_ERR(REQ_ERR, 0x02, 0x05, DDP),
	/* The opcode, its queue or its place; a Read Request in pieces */
	SKEL_E_OPCODE	= SKEL_ERR(REQ_ERR, 0x02, 0x06, DDP),
	SKEL_E_FORM	= SKEL_ERR(REQ_ERR, 0x02, 0xff, DDP),
	/* Version of DDP */
	SKEL_E_DV_TAG	= SKEL_ERR(ACCESS_ERR, 0x11, 0x04, DDP),
	SKEL_E_DV	= SKEL_ERR(REQ_ERR, 0x12, 0x06, DDP),
	/* Untagged messages (RFC 5041 7.1); BUFFER: too many Reads, too */
	SKEL_E_QN	= SKEL_ERR(REQ_ERR, 0x12, 0x01, DDP),
	SKEL_E_BUFFER	= SKEL_ERR(REQ_ERR, 0x12, 0x02, DDP),
	SKEL_E_MSN	= SKEL_ERR(REQ_ERR, 0x12, 0x03, DDP),
	SKEL_E_MO	= SKEL_ERR(REQ_ERR, 0x12, 0x04, DDP),
	SKEL_E_LONG	= SKEL_ERR(REQ_ERR, 0x12, 0x05, DDP),
	/* Tagged messages: RFC 5041 7.1 has no code for a missing right */
	SKEL_E_TAG_STAG	= SKEL_ERR(ACCESS_ERR, 0x11, 0x00, DDP),
	SKEL_E_TAG_BASE	= SKEL_ERR(ACCESS_ERR, 0x11, 0x01, DDP),
	SKEL_E_TAG_PD	= SKEL_ERR(ACCESS_ERR, 0x11, 0x02, DDP),
	SKEL_E_TAG_WRAP	= SKEL_ERR(ACCESS_ERR, 0x11, 0x03, DDP),
	/* The source of a Read (RFC 5040 4.8) */
	SKEL_E_READ_STAG = SKEL_ERR(ACCESS_ERR, 0x01, 0x00, RDMAP),
	SKEL_E_READ_BASE = SKEL_ERR(ACCESS_ERR, 0x01, 0x01, RDMAP),
	SKEL_E_READ_RIGHT = SKEL_ERR(ACCESS_ERR, 0x01, 0x02, RDMAP),
	SKEL_E_READ_PD	= SKEL_ERR(ACCESS_ERR, 0x01, 0x03, RDMAP),
	SKEL_E_READ_WRAP = SKEL_ERR(ACCESS_ERR, 0x01, 0x04, RDMAP),
	/* The STag of a Send with Invalidate (RFC 5040 5.3) */
	SKEL_E_INV_PD	= SKEL_ERR(ACCESS_ERR, 0x01, 0x09, DDP),
	SKEL_E_INV_STAG	= SKEL_ERR(ACCESS_ERR, 0x02, 0x09, DDP),
};

struct skel_dev {
	struct ib_device	ibdev;
	struct net_device	*netdev;	/* iw_mpa holds it */
	struct xarray		qps;		/* by number */
	struct xarray		mrs;		/* by index of the STag */
	struct mutex		lock;
	spinlock_t		spin;
};

/* A protection domain: the core's structure alone */
struct skel_pd {
	struct ib_pd		ib;
};

/* A CQ: a ring of what poll_cq returns; dev->spin protects all but @work */
struct skel_cq {
	struct ib_cq		ib;
	struct ib_wc		*ring;
	u32			size;		/* a power of two */
	u32			put;
	u32			get;
	enum ib_cq_notify_flags	armed;		/* for what, or 0 */
	bool			call;		/* @work calls the handler */
	bool			lost;		/* @work reports the overflow */
	bool			overflowed;	/* raised once */
	struct work_struct	work;
};

/* A region's memory: pages of one size, the first and the last used in part */
struct skel_pages {
	u32	count;
	u8	shift;		/* log2 of the size of a page */
	u32	skip;		/* where in the first page the region begins */
	u64	size;		/* bytes of the region */
	u64	page[SKEL_MAX_PAGES];	/* the kernel's addresses: no DMA */
};

/* A fast-registered region; dev->lock protects all but @next, the ULP's */
struct skel_mr {
	struct ib_mr		ib;
	u32			stag;		/* index and key */
	bool			valid;
	u32			access;		/* set of IB_ACCESS_* */
	u64			base;		/* of byte 0, for peers, too */
	u32			max_pages;
	struct skel_pages	pages;		/* its memory, if @valid */
	struct skel_pages	next;		/* of map_mr_sg, for REG_MR */
};

/* A work request of either queue */
struct skel_wqe {
	u64			id;
	enum ib_wr_opcode	op;
	enum ib_wc_opcode	wc_op;		/* that of its completion */
	int			flags;		/* set of IB_SEND_* */
	u32			bytes;		/* of all SGEs */
	u32			access;		/* REG_MR: set of IB_ACCESS_* */
	u32			rkey;		/* or STag to (in)validate */
	u64			raddr;		/* REG_MR: of the first byte */
	struct ib_sge		sge[SKEL_MAX_SGE];
};

/* A send or receive queue; the engine works on the WQE at @get until it ends */
struct skel_queue {
	struct skel_wqe		*ring;
	u32			size;		/* a power of two */
	u32			put;
	u32			get;
};

/* A DDP segment in host order (RFC 5041 4) */
struct skel_seg {
	u8		op;
	bool		tagged;
	bool		last;
	u32		stag;		/* or STag to invalidate */
	u64		to;
	u32		qn;
	u32		msn;
	u32		mo;
	u32		len;		/* of @payload */
	u8		*payload;
};

/* Receiving, from prepare on; all of it begins with 0 */
struct skel_rx {
	bool		open;		/* kick_rx was called, and so attach */
	u32		have;		/* bytes of the FPDU in @rx_buf */
	bool		begun;		/* a good FPDU has arrived */
	bool		ended;		/* the peer has sent FIN */
	bool		write_busy;	/* within a Write of several segments */
	u32		reads;		/* Read Requests received */
	u32		sends;		/* whole Sends received */
	u8		send_op;	/* within a Send: its opcode; else 0 */
	u32		send_inv;	/* STag that it invalidates */
	u32		send_len;	/* bytes of it that were placed */
	u32		read_len;	/* bytes of our Read that were placed */
};

enum skel_msg {
	SKEL_MSG_NONE,
	SKEL_MSG_WR,			/* the work request at @get */
	SKEL_MSG_RESP,			/* answers the oldest Read Request */
	SKEL_MSG_ALONE,			/* an RTR or Terminate message */
};

/* Sending, from prepare on; all of it begins with 0 */
struct skel_tx {
	u32		len;		/* of the FPDU in @tx_buf; 0: none */
	u32		done;		/* bytes of it that TCP has */
	enum skel_msg	msg;		/* being sent, or sent last */
	u32		bytes;		/* of the message */
	u32		off;		/* of these made; 0: between messages */
	u32		reads;		/* Read Requests sent */
	u32		sends;		/* Sends sent */
	bool		read_busy;	/* the Read at @get awaits a response */
	bool		open;		/* open_tx or send_rtr was called */
	bool		finishing;	/* finish_tx was called: */
	u32		limit;		/* work requests before it are sent */
	bool		finished;	/* TCP has all; the library sends FIN */
	u32		term_len;	/* of @term; 0: no Terminate is due */
	bool		term_made;	/* it is in @tx_buf, or was sent */
	u8		term[SKEL_UNTAGGED + 6 + SKEL_READ_ULPDU];
	unsigned long	deadline;	/* of the Terminate */
	bool		closed;		/* the library knows of the end */
};

/*
 * A QP. @state is RESET, INIT or RTR before a stream; RTS; SQD after the ULP
 * has closed the connection; SQE after the stream has failed; ERR after the
 * stream has ended, or the ULP has aborted it. As long as there is @ep there is
 * a stream.
 */
struct skel_qp {
	struct ib_qp		ib;
	struct skel_dev		*dev;
	struct kref		ref;	/* its life's, iw_cm's and iw_mpa's */
	struct completion	free;	/* @ref is 0 */
	enum ib_qp_state	state;
	bool			dying;
	bool			sig_all;
	struct iw_mpa_ep	*ep;
	struct socket		*sock;
	const struct iw_mpa_params *params;	/* valid as long as @ep */
	enum skel_err		err;	/* the first error of the stream */
	u8			event;	/* to be reported; 0: none */
	struct ib_qp_cap	cap;
	struct skel_queue	sq;
	struct skel_queue	rq;
	struct {		/* the peer's Read Requests, with DDP headers */
		u8	ulpdu[SKEL_MAX_DEPTH][SKEL_READ_ULPDU];
		u32	put;
		u32	get;
	} irq;
	struct skel_rx		rx;
	struct skel_tx		tx;
	u8			*rx_buf;
	u8			*tx_buf;
	struct delayed_work	work;
};

#define to_skel_dev(ptr)	container_of(ptr, struct skel_dev, ibdev)
#define to_skel_cq(ptr)		container_of(ptr, struct skel_cq, ib)
#define to_skel_mr(ptr)		container_of(ptr, struct skel_mr, ib)
#define to_skel_qp(ptr)		container_of(ptr, struct skel_qp, ib)

static inline struct skel_wqe *skel_wqe_at(const struct skel_queue *queue,
					   u32 n)
{
	return &queue->ring[n & (queue->size - 1)];
}

/* May the stream place and send? The answer may be old if the ULP ends it. */
static inline bool skel_is_flowing(const struct skel_qp *qp)
{
	enum ib_qp_state state = READ_ONCE(qp->state);

	return state == IB_QPS_RTS || state == IB_QPS_SQD;
}

/* main.c */
extern struct workqueue_struct *skel_wq;

/* cq.c */
extern const struct ib_device_ops skel_cq_ops;
int skel_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs);
bool skel_cq_put(struct skel_cq *cq, const struct ib_wc *wc, bool solicited);
void skel_cq_forget(struct skel_cq *cq, const struct ib_qp *ibqp);

/* mr.c */
extern const struct ib_device_ops skel_mr_ops;
struct ib_mr *skel_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 iova,
			       int access, struct ib_dmah *dmah,
			       struct ib_udata *udata);
int skel_mr_check_access(struct ib_device *ibdev, int access);
int skel_mr_register(struct skel_qp *qp, const struct skel_wqe *wqe);
enum skel_err skel_mr_invalidate(struct skel_qp *qp, u32 stag, bool remote);
enum skel_err skel_mem_copy(struct skel_qp *qp, u32 stag, u32 right, u64 addr,
			    u8 *buf, u32 len);
enum skel_err skel_sge_copy(struct skel_qp *qp, const struct ib_sge *sge,
			    u32 right, u32 off, u8 *buf, u32 len);

/* qp.c */
extern const struct ib_device_ops skel_qp_ops;
void skel_kick(struct skel_qp *qp, unsigned long delay);
void skel_complete_send(struct skel_qp *qp, enum ib_wc_status status);
void skel_complete_recv(struct skel_qp *qp, struct ib_wc *wc);
bool skel_is_posted(struct skel_qp *qp, const struct skel_queue *queue);
void skel_flush(struct skel_qp *qp);

/* handoff.c */
extern const struct iw_mpa_driver_ops skel_driver_ops;
extern const struct iw_mpa_device_attr skel_device_attr;

/* rx.c */
bool skel_rx(struct skel_qp *qp);

/* tx.c */
bool skel_tx(struct skel_qp *qp);
void skel_fail(struct skel_qp *qp, enum skel_err err, const u8 *ulpdu, u16 len);
void skel_tx_terminate(struct skel_qp *qp, bool last_try);

#endif /* _SKEL_H */
