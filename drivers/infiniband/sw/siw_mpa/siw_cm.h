/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * siw's own files include this file in place of siw's siw_cm.h. It declares the
 * functions of a connection manager that siw's files call; siw_mpa implements
 * them on top of iw_mpa.
 */
#ifndef _SIW_CM_H
#define _SIW_CM_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <net/sock.h>
#include <net/tcp.h>

#include <rdma/ib_verbs.h>
#include <rdma/iw_mpa.h>

struct siw_qp;

/* A QP's connection: prepare creates it, stop drops the QP's reference */
struct siw_cep {
	struct kref		ref;
	struct rcu_head		rcu;	/* for siw_cep_get_of_qp() */
	struct iw_mpa_ep	*ep;	/* with a reference */
	struct siw_qp		*qp;
	struct socket		*sock;	/* valid until stop */
	void			(*sk_write_space)(struct sock *sk); /* TCP's */
	/* Held by senders but siw's TX thread; taken before the state_lock */
	struct mutex		tx_lock;
	unsigned long		tx_flags; /* see tx.c */
	bool			responder;
	bool			tx_open; /* FPDUs may be sent */
	bool			validated; /* the first FPDU was good */
	/* state_lock was taken when bytes arrived: its holder reads them */
	atomic_t		rx_missed;
	/* A responder's first FPDU, protected by the socket's lock: */
	u32			rx_size; /* its bytes; 0: not known */
	u32			rx_seen; /* bytes passed to siw */
	u8			rx_held; /* bytes in @rx_head */
	u8			rx_head[4]; /* its first bytes */
};

void siw_mpa_tx_begin(struct siw_cep *cep);
void siw_mpa_tx_end(struct siw_cep *cep);
struct siw_cep *siw_cep_get_of_qp(struct siw_qp *qp);
void siw_cep_put(struct siw_cep *cep);

/*
 * siw's data_ready checks that sk_user_data is not NULL before it uses
 * sk_to_qp(). Its write_space uses sk_to_cep() without such a check, so
 * sk_to_cep() has to check.
 */
#define sk_to_qp(sk)	(to_siw_qp(iw_mpa_sk_stream(sk)->qp))

static inline struct siw_cep *sk_to_cep(const struct sock *sk)
{
	struct iw_mpa_stream *stream = iw_mpa_sk_stream(sk);

	return stream ? stream->priv : NULL;
}

int siw_cm_init(void);

static inline void siw_cm_exit(void)
{
}

/* siw's table of verbs has these; siw_mpa_ib_register() adds iw_mpa's own. */
#define siw_accept		NULL
#define siw_connect		NULL
#define siw_create_listen	NULL
#define siw_destroy_listen	NULL
#define siw_reject		NULL

extern const struct iw_mpa_device_attr siw_mpa_device_attr;
extern const struct iw_mpa_driver_ops siw_mpa_driver_ops;

int siw_mpa_ib_register(struct ib_device *ibdev, const char *name,
			struct device *dma_device);
int siw_mpa_mmap_insert(struct ib_ucontext *ucontext,
			struct rdma_user_mmap_entry *entry, size_t length);
void siw_mpa_look_again(struct siw_qp *qp);
int siw_mpa_qp_modify(struct siw_qp *qp, struct siw_qp_attrs *attrs,
		      enum siw_qp_attr_mask mask);
int siw_mpa_sqe_complete(struct siw_qp *qp, struct siw_sqe *sqe, u32 bytes,
			 enum siw_wc_status status);
int siw_mpa_post_send(struct ib_qp *base_qp, const struct ib_send_wr *wr,
		      const struct ib_send_wr **bad_wr);
int siw_mpa_rx_octets(read_descriptor_t *desc, const void *bytes,
		      unsigned int len);
int siw_mpa_rx_data(read_descriptor_t *desc, struct sk_buff *skb,
		    unsigned int off, size_t len);

/* siw's own files call the functions on the right, not those on the left. */
#ifndef SIW_MPA_OWN_FILE
#define ib_register_device		siw_mpa_ib_register
#define rdma_user_mmap_entry_insert	siw_mpa_mmap_insert
#endif

#endif /* _SIW_CM_H */
