/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * erdma's own files include this header in place of erdma's. It has what they want of a connection
 * manager, by iw_mpa.
 */
#ifndef _ERDMA_CM_H
#define _ERDMA_CM_H

#include <linux/kref.h>
#include <linux/net.h>
#include <linux/tcp.h>
#include <linux/types.h>
#include <net/sock.h>

#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>	/* for erdma_main.c */
#include <rdma/iw_mpa.h>

/**
 * struct erdma_mpa_pd - what one erdma tells the other, ahead of private data
 * @cookie: names the sender's QP to the receiver's device
 * @cc: congestion control of the sender's QP, &enum erdma_cc_alg
 */
struct erdma_mpa_pd {
	__be32	cookie;
	__be32	cc;
};

/**
 * struct erdma_cep - a QP's connection, from prepare to stop
 * @ref: one of the QP
 * @ep: iw_mpa's name for it; held
 * @sock: the stream
 * @mpa: the peer's cookie, where erdma_qp.c looks for it
 */
struct erdma_cep {
	struct kref		ref;
	struct iw_mpa_ep	*ep;
	struct socket		*sock;
	struct {
		struct erdma_mpa_pd	ext_data;
	} mpa;
};

void erdma_cep_put(struct erdma_cep *cep);

/* For code of erdma_qp.c that brings a QP to RTS. Nobody calls that code: see handoff.c. */
#define MPA_DEFAULT_HDR_LEN	0
#define to_sockaddr_in(addr)	(*(struct sockaddr_in *)&(addr))

static inline int getname_peer(struct socket *sock, struct sockaddr_storage *addr)
{
	return kernel_getpeername(sock, (struct sockaddr *)addr);
}

static inline int getname_local(struct socket *sock, struct sockaddr_storage *addr)
{
	return kernel_getsockname(sock, (struct sockaddr *)addr);
}

static inline int erdma_cm_init(void)
{
	return 0;
}

static inline void erdma_cm_exit(void)
{
}

/* erdma_mpa_ib_register() puts iw_mpa's functions in their place. */
#define erdma_accept		NULL
#define erdma_connect		NULL
#define erdma_create_listen	NULL
#define erdma_destroy_listen	NULL
#define erdma_reject		NULL

extern const struct iw_mpa_driver_ops erdma_mpa_driver_ops;

int erdma_mpa_ib_register(struct ib_device *ibdev, const char *name,
			  struct device *dma_device);
void erdma_mpa_ib_unregister(struct ib_device *ibdev);

/* erdma's own files call these in place of functions of the RDMA core. */
#ifndef ERDMA_MPA_OWN_FILE
#define ib_register_device	erdma_mpa_ib_register
#define ib_unregister_device	erdma_mpa_ib_unregister
#endif

#endif /* _ERDMA_CM_H */
