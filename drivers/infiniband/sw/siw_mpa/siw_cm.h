/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * siw's own files include this header in place of siw's. It has what they want of a connection
 * manager, by iw_mpa.
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

/**
 * struct siw_cep - a QP's connection, from prepare until the QP lets go of it
 * @ref: one of the QP
 * @rcu: readers without the QP's state_lock
 * @ep: iw_mpa's name for it; held
 * @qp: the QP
 * @sock: the stream, valid until stop
 * @sk_write_space: TCP's own callback
 * @tx_lock: held by whoever sends in the place of siw's TX thread; taken before the QP's state_lock
 * @tx_flags: notes between such a sender and the thread, see tx.c
 * @rx_missed: octets came while the QP's state_lock was held for writing: whoever releases it has
 *	to look for them
 * @responder: local role
 * @tx_open: FPDUs may be sent
 * @validated: one whole FPDU was received without error
 * @rx_size: size of the first FPDU, once known; under the socket's lock
 * @rx_seen: octets of it that siw has got; likewise
 * @rx_held: octets of it in @rx_head; likewise
 * @rx_head: what tells the size
 */
struct siw_cep {
	struct kref		ref;
	struct rcu_head		rcu;
	struct iw_mpa_ep	*ep;
	struct siw_qp		*qp;
	struct socket		*sock;
	void			(*sk_write_space)(struct sock *sk);
	struct mutex		tx_lock;
	unsigned long		tx_flags;
	bool			responder;
	bool			tx_open;
	bool			validated;
	atomic_t		rx_missed;
	u32			rx_size;
	u32			rx_seen;
	u8			rx_held;
	u8			rx_head[4];
};

void siw_mpa_tx_begin(struct siw_cep *cep);
void siw_mpa_tx_end(struct siw_cep *cep);
struct siw_cep *siw_cep_get_of_qp(struct siw_qp *qp);
void siw_cep_put(struct siw_cep *cep);

/* siw's data_ready looks at sk_user_data first, its write_space does not. */
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

/* siw_mpa_ib_register() puts iw_mpa's functions in their place. */
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
int siw_mpa_rx_octets(read_descriptor_t *desc, const void *octets,
		      unsigned int len);
int siw_mpa_rx_data(read_descriptor_t *desc, struct sk_buff *skb,
		    unsigned int off, size_t len);

/* siw's own files call these in place of their own functions. */
#ifndef SIW_MPA_OWN_FILE
#define ib_register_device		siw_mpa_ib_register
#define rdma_user_mmap_entry_insert	siw_mpa_mmap_insert
#endif

#endif /* _SIW_CM_H */
