/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A minimal RNIC in software on iw_mpa, for ULPs of the kernel: a template for
 * drivers. It leaves out features, but no check of what peers and ULPs pass.
 * This file has the types that all files share. Read it first, then handoff.c,
 * qp.c, tx.c and rx.c.
 *
 * Each QP has an engine: a work item that receives and sends the QP's data,
 * with dev->lock held. rx.c receives FPDUs and places their payload, tx.c makes
 * FPDUs and sends them. tx.c begins a work request when the one before has
 * completed. Verbs and the socket's callbacks only queue work requests and the
 * work item.
 *
 * Locks, the outer one first:
 *
 *	dev->lock	mutex, held by the engine. It protects @sock, @rx, @tx
 *			and @irq of QPs, and each copy from or to memory of an
 *			STag. So once an STag is invalid no copy uses its memory
 *			any more (RFC 5040 8.1.1). An allocation with this mutex
 *			held must not wait for storage: storage on this device
 *			may wait for the mutex
 *	socket		lock_sock(), which functions of TCP take
 *	dev->spin	spinlock, taken with interrupts off. It protects @state,
 *			@ep and @event of QPs, @put and @get of SQs and RQs, the
 *			memory that map_mr_sg has noted for a region, and CQs.
 *			Only the engine uses the WQE at @get, and only a poster
 *			the one at @put
 *
 * Ownership: the RDMA core frees PDs, CQs and QPs when the verb that destroys
 * them has returned; dereg_mr frees an MR. iw_cm and iw_mpa have references on
 * a QP, for which destroy_qp waits. iw_mpa owns the socket; the driver may use
 * it from prepare until stop has returned.
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
#define SKEL_MAX_QPN		0xffffff	/* also most CQs, MRs and PDs */
#define SKEL_MAX_DEPTH		16	/* most IRD, and most ORD, of a QP */
#define SKEL_MAX_WR		8192	/* of each SQ and RQ; a power of two */
#define SKEL_MAX_SGE		6
#define SKEL_MAX_CQE		16384	/* a power of two */
#define SKEL_MAX_RING		0x100000 /* CQEs of a CQ and of its QPs */
#define SKEL_STEPS		64	/* steps per hold of dev->lock */
#define SKEL_MAX_PAGES		256	/* of a memory region */
/*
 * SGEs with this lkey name addresses of the kernel, without a region. No region
 * has this STag, so no peer can use it.
 */
#define SKEL_LOCAL_DMA_LKEY	0xffffff00

#define SKEL_FPDU_MAX		65544	/* RFC 5044 4.1: 2 + 65535 + 3 + 4 */
#define SKEL_ULPDU_MAX		9000	/* in FPDUs of this end */
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

/* DDP queues of untagged messages (RFC 5040 4.2) */
enum skel_qn {
	SKEL_QN_SEND,
	SKEL_QN_READ_REQ,
	SKEL_QN_TERMINATE,
	SKEL_QN_COUNT
};

/*
 * Why a stream fails. The four bytes of a value, from the highest to the
 * lowest, are: the asynchronous event that the ULP gets; layer and error type
 * of the Terminate message that the peer gets (RFC 5040 4.8); error code of
 * that message; and which headers of the FPDU in error that message has a copy
 * of.
 */
#define SKEL_TERM_SILENT	0	/* the peer gets no Terminate message */
#define SKEL_TERM_BARE		1	/* no header */
#define SKEL_TERM_DDP		2	/* ULPDU length and DDP header */
#define SKEL_TERM_RDMAP		3	/* and the Read Request header */
#define SKEL_ERR(event, type, code, form) \
	(IB_EVENT_QP_##event << 24 | (type) << 16 | (code) << 8 | \
	 SKEL_TERM_##form)

enum skel_err {
	SKEL_OK,
	/* TCP failed; peer sent Terminate or urgent data, or FIN too early */
	SKEL_E_STREAM	= SKEL_ERR(FATAL, 0, 0, SILENT),
	/* A work request in error; a completion queue was full */
	SKEL_E_LOCAL	= SKEL_ERR(FATAL, 0x00, 0x00, BARE),
	SKEL_E_CQ	= SKEL_ERR(FATAL, 0x02, 0x07, BARE),
	SKEL_E_CRC	= SKEL_ERR(FATAL, 0x20, 0x02, BARE),	/* RFC 5044 8 */
	/* ULPDU shorter than a DDP header; wrong version of RDMAP */
	SKEL_E_SHORT	= SKEL_ERR(REQ_ERR, 0x02, 0xff, BARE),
	SKEL_E_RV	= SKEL_ERR(REQ_ERR, 0x02, 0x05, DDP),
	/* Opcode unknown or out of place; malformed Read Request */
	SKEL_E_OPCODE	= SKEL_ERR(REQ_ERR, 0x02, 0x06, DDP),
	SKEL_E_FORM	= SKEL_ERR(REQ_ERR, 0x02, 0xff, DDP),
	/* Wrong version of DDP, in a tagged or an untagged segment */
	SKEL_E_DV_TAG	= SKEL_ERR(ACCESS_ERR, 0x11, 0x04, DDP),
	SKEL_E_DV	= SKEL_ERR(REQ_ERR, 0x12, 0x06, DDP),
	/* Untagged segments (RFC 5041 7.1); BUFFER: also more Reads than IRD */
	SKEL_E_QN	= SKEL_ERR(REQ_ERR, 0x12, 0x01, DDP),
	SKEL_E_BUFFER	= SKEL_ERR(REQ_ERR, 0x12, 0x02, DDP),
	SKEL_E_MSN	= SKEL_ERR(REQ_ERR, 0x12, 0x03, DDP),
	SKEL_E_MO	= SKEL_ERR(REQ_ERR, 0x12, 0x04, DDP),
	SKEL_E_LONG	= SKEL_ERR(REQ_ERR, 0x12, 0x05, DDP),
	/*
	 * Errors of tagged segments. TAG_STAG is also used if the region lacks
	 * the access right: RFC 5041 7.1 has no code for that
	 */
	SKEL_E_TAG_STAG	= SKEL_ERR(ACCESS_ERR, 0x11, 0x00, DDP),
	SKEL_E_TAG_BASE	= SKEL_ERR(ACCESS_ERR, 0x11, 0x01, DDP),
	SKEL_E_TAG_PD	= SKEL_ERR(ACCESS_ERR, 0x11, 0x02, DDP),
	SKEL_E_TAG_WRAP	= SKEL_ERR(ACCESS_ERR, 0x11, 0x03, DDP),
	/* The data source of a Read Request (RFC 5040 4.8) */
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
	struct net_device	*netdev;	/* iw_mpa has a reference */
	struct xarray		qps;		/* by number */
	struct xarray		mrs;		/* by index of the STag */
	struct mutex		lock;
	spinlock_t		spin;
};

/* A protection domain has nothing but the RDMA core's structure. */
struct skel_pd {
	struct ib_pd		ib;
};

/* A CQ: a ring of completions; dev->spin protects all members but @work */
struct skel_cq {
	struct ib_cq		ib;
	struct ib_wc		*ring;
	u32			size;		/* a power of two */
	u32			reserved;	/* for the queues of QPs */
	u32			put;
	u32			get;
	enum ib_cq_notify_flags	armed;		/* by req_notify_cq, or 0 */
	bool			call;		/* @work calls the handler */
	bool			lost;		/* @work reports the overflow */
	bool			overflowed;	/* @lost was set once */
	struct work_struct	work;
};

/* The pages of a region, of one size; it may begin and end within a page */
struct skel_pages {
	u32	count;
	u8	shift;		/* log2 of the size of a page */
	u32	skip;		/* offset of the region in the first page */
	u64	size;		/* bytes of the region */
	u64	page[SKEL_MAX_PAGES];	/* kernel addresses: no DMA */
};

/* A region for REG_MR; dev->spin for @next and @maps, dev->lock for the rest */
struct skel_mr {
	struct ib_mr		ib;
	u32			stag;		/* index and key */
	bool			valid;
	u32			access;		/* set of IB_ACCESS_* */
	u64			base;		/* address of byte 0 in SGEs */
	u32			max_pages;
	struct skel_pages	pages;		/* its memory, if @valid */
	struct skel_pages	next;		/* of map_mr_sg, for REG_MR */
	u32			maps;		/* count of map_mr_sg calls */
};

/* A work request in a send queue or a receive queue */
struct skel_wqe {
	u64			id;
	enum ib_wr_opcode	op;
	enum ib_wc_opcode	wc_op;		/* opcode of its completion */
	int			flags;		/* set of IB_SEND_* */
	u32			bytes;		/* of all SGEs */
	u32			access;		/* REG_MR: set of IB_ACCESS_* */
	u32			maps;		/* REG_MR: of the region */
	u32			rkey;		/* or STag to (in)validate */
	u64			raddr;		/* REG_MR: of the first byte */
	struct ib_sge		sge[SKEL_MAX_SGE];
};

/* An SQ or RQ; the engine handles the WQE at @get until it has completed */
struct skel_queue {
	struct skel_cq		*cq;
	struct skel_wqe		*ring;
	u32			size;		/* a power of two */
	u32			put;
	u32			get;
};

/* A received DDP segment, in host byte order (RFC 5041 4) */
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

/* Receiving; all members are 0 after prepare */
struct skel_rx {
	bool		open;		/* kick_rx was called, after attach */
	u32		have;		/* bytes of the FPDU in @rx_buf */
	bool		begun;		/* the first good FPDU has arrived */
	bool		ended;		/* the peer has sent FIN */
	bool		write_busy;	/* within a Write of several segments */
	u32		reads;		/* Read Requests received */
	u32		sends;		/* whole Sends received */
	u8		send_op;	/* within a Send: its opcode; else 0 */
	u32		send_inv;	/* STag that the Send invalidates */
	u32		send_len;	/* bytes of the Send that were placed */
	u32		read_len;	/* bytes of our Read that were placed */
};

enum skel_msg {
	SKEL_MSG_NONE,
	SKEL_MSG_WR,			/* the work request at @get */
	SKEL_MSG_RESP,			/* response to the first of @irq */
	SKEL_MSG_ALONE,			/* an RTR or Terminate message */
};

/* Sending; all members are 0 after prepare */
struct skel_tx {
	u32		len;		/* bytes of the FPDU in @tx_buf, or 0 */
	u32		done;		/* bytes of that FPDU that TCP has */
	enum skel_msg	msg;		/* the message sent now, or last */
	u32		bytes;		/* bytes of the message */
	u32		off;		/* of these in FPDUs; 0: no message */
	u32		reads;		/* Read Requests sent */
	u32		sends;		/* Sends sent */
	bool		read_busy;	/* the Read at @get has no response */
	bool		open;		/* open_tx or send_rtr was called */
	bool		finishing;	/* finish_tx was called */
	u32		limit;		/* WQEs from this on are not sent */
	bool		finished;	/* TCP has all; iw_mpa sends FIN */
	u32		term_len;	/* bytes of @term; 0: no Terminate */
	bool		term_made;	/* @term is in @tx_buf, or was sent */
	u8		term[SKEL_UNTAGGED + 6 + SKEL_READ_ULPDU];
	unsigned long	deadline;	/* for sending @term */
	bool		closed;		/* iw_mpa_stream_down() was called */
};

/*
 * A QP. @state is RESET, INIT or RTR before it has a stream; RTS from prepare
 * on; SQD after the ULP has closed the connection gracefully; SQE after the
 * stream has failed; ERR after stop, or after the ULP has aborted the
 * connection. From prepare to stop, while the QP has a stream, @ep is not NULL.
 */
struct skel_qp {
	struct ib_qp		ib;
	struct skel_dev		*dev;
	struct kref		ref;	/* of create_qp, iw_cm and iw_mpa */
	struct completion	free;	/* @ref is 0 */
	enum ib_qp_state	state;
	bool			dying;
	bool			sig_all;
	struct iw_mpa_ep	*ep;
	struct socket		*sock;
	const struct iw_mpa_params *params;	/* valid as long as @ep */
	enum skel_err		err;	/* the first error of the stream */
	u8			event;	/* for the ULP; 0: none */
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

/* May the engine place and send? A verb may change @state at any time. */
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
int skel_cq_reserve(struct skel_cq *cq, u32 entries);
bool skel_cq_put(struct skel_cq *cq, const struct ib_wc *wc, bool solicited);
void skel_cq_forget(struct skel_cq *cq, const struct ib_qp *ibqp, u32 entries);

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
