/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_SOCK_H
#define _IW_MPA_SOCK_H

#include <rdma/iw_mpa.h>

#include <linux/errno.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/socket.h>
#include <linux/tcp.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include "fsm.h"

/*
 * How TCP allocates memory for a connection's bytes (sk_allocation). File
 * systems and swap may depend on the connection: so a send must not wait for
 * storage, nor wait for memory without end.
 */
#define IW_MPA_SOCK_GFP	(GFP_NOIO | __GFP_NORETRY)

/**
 * struct iw_mpa_sock - a kernel TCP socket, whose callbacks are iw_mpa's
 * @stream: what sk_user_data points to, for drivers, too. It is the first
 *	member, so that iw_mpa finds the whole structure at the same address
 * @sock: the socket; NULL before it is opened, after iw_mpa_sock_release(), and
 *	after iw_mpa_sock_move() to another structure
 * @report: the owner's callback, set before the socket is opened. It gets
 *	IW_MPA_EV_TCP_UP; READABLE for bytes, a FIN, or a connection to accept;
 *	and PEER_CLOSED, PEER_RESET or TCP_FAILED when the connection ends. It
 *	may be called in softirq, with sk_callback_lock read-held: so it only
 *	sets a bit or queues work
 * @data_ready: TCP's own callback, which iw_mpa_sock_unhook() restores
 * @state_change: TCP's own callback, which iw_mpa_sock_unhook() restores
 * @error_report: TCP's own callback, which iw_mpa_sock_unhook() restores
 * @fin_ack: sequence number up to which the peer had acknowledged this end's
 *	bytes when the peer's FIN arrived; 0 before that, or if this end sent
 *	FIN first; set before PEER_CLOSED is reported
 *
 * sk_callback_lock protects the callbacks of the socket, and @stream.qp.
 */
struct iw_mpa_sock {
	struct iw_mpa_stream		stream;
	struct socket			*sock;
	void	(*report)(struct iw_mpa_sock *ms, enum iw_mpa_event event,
			  int err);
	void				(*data_ready)(struct sock *sk);
	void				(*state_change)(struct sock *sk);
	void				(*error_report)(struct sock *sk);
	u32				fin_ack;
};

/* The addresses of a connection */
struct iw_mpa_tuple {
	union iw_mpa_addr	local;	/* this end */
	union iw_mpa_addr	remote;	/* the peer */
};

/**
 * struct iw_mpa_sock_opts - how to open a socket
 * @net: network namespace, on which the caller has a reference
 * @local: address to bind to
 * @remote: address to connect to; NULL for a listener
 * @ifindex: interface or L3 master to which the socket is bound, or 0
 * @way: connect: interface by which TCP looks for its route; 0: use @ifindex
 * @tos: type of service or traffic class, if @tos_set
 * @tos_set: @tos is valid
 * @afonly: an IPv6 socket is not for IPv4 connections
 * @any_port: TCP chooses the local port, and ignores that of @local
 * @fast_open: connect: send the first bytes with the SYN, if TCP has the peer's
 *	Fast Open cookie; listen: accept such bytes (RFC 7413)
 */
struct iw_mpa_sock_opts {
	struct net			*net;
	const union iw_mpa_addr		*local;
	const union iw_mpa_addr		*remote;
	int				ifindex;
	int				way;
	u8				tos;
	bool				tos_set;
	bool				afonly;
	bool				any_port;
	bool				fast_open;
};

int iw_mpa_sock_connect(struct iw_mpa_sock *ms,
			const struct iw_mpa_sock_opts *opts);
int iw_mpa_sock_listen(struct iw_mpa_sock *ms,
		       const struct iw_mpa_sock_opts *opts, int backlog);
int iw_mpa_sock_accept(struct iw_mpa_sock *listener, struct socket **sock);
int iw_mpa_sock_adopt(struct iw_mpa_sock *ms, struct socket *sock,
		      const struct iw_mpa_sock *listener,
		      const struct iw_mpa_sock_opts *opts);
void iw_mpa_sock_drop(struct socket *sock, const struct iw_mpa_sock *listener);
int iw_mpa_sock_read(struct iw_mpa_sock *ms, void *buf, size_t len,
		     bool *closed);
int iw_mpa_sock_discard(struct iw_mpa_sock *ms, size_t len);
int iw_mpa_sock_send(struct iw_mpa_sock *ms, const void *buf, size_t len);
int iw_mpa_sock_send_first(struct iw_mpa_sock *ms, const void *buf, size_t len);
void iw_mpa_sock_shutdown(struct iw_mpa_sock *ms);
void iw_mpa_sock_seq(struct iw_mpa_sock *ms, u32 *snd_nxt, u32 *rcv_nxt,
		     bool *rx_queued);
void iw_mpa_sock_bytes(const struct iw_mpa_sock *ms, u64 *sent, u64 *received);
u32 iw_mpa_sk_unread(const struct sock *sk);
u32 iw_mpa_sock_unread(struct iw_mpa_sock *ms);
void iw_mpa_sock_tuple(const struct socket *sock, struct iw_mpa_tuple *tuple);
const char *iw_mpa_sock_mend(struct iw_mpa_sock *ms, bool attached);
const char *iw_mpa_sock_detach(struct iw_mpa_sock *ms);
void iw_mpa_sock_move(struct iw_mpa_sock *from, struct iw_mpa_sock *to);
void iw_mpa_sock_unhook(struct iw_mpa_sock *ms);
void iw_mpa_sock_release(struct iw_mpa_sock *ms);
void iw_mpa_sock_reset(struct iw_mpa_sock *ms);

/* Event for the end of a connection. @err: TCP's sk_err (> 0); 0 for a FIN */
static inline enum iw_mpa_event iw_mpa_sock_end(int err)
{
	if (!err)
		return IW_MPA_EV_PEER_CLOSED;
	return err == ECONNRESET || err == EPIPE ? IW_MPA_EV_PEER_RESET :
						   IW_MPA_EV_TCP_FAILED;
}

/* Return: true if TCP has connected; false while its SYN is not answered. */
static inline bool iw_mpa_sock_is_up(const struct iw_mpa_sock *ms)
{
	return inet_sk_state_load(ms->sock->sk) != TCP_SYN_SENT;
}

/* Sequence number of the next byte that TCP is given; 0 without a socket */
static inline u32 iw_mpa_sock_snd_nxt(const struct iw_mpa_sock *ms)
{
	return ms->sock ? READ_ONCE(tcp_sk(ms->sock->sk)->write_seq) : 0;
}

/* Sequence number of the next byte that TCP expects; 0 without a socket */
static inline u32 iw_mpa_sock_rcv_nxt(const struct iw_mpa_sock *ms)
{
	return ms->sock ? READ_ONCE(tcp_sk(ms->sock->sk)->rcv_nxt) : 0;
}

/* This grows (modulo 2^32) by each byte that the peer acknowledges or sends. */
static inline u32 iw_mpa_sock_progress(const struct iw_mpa_sock *ms)
{
	if (!ms->sock)
		return 0;
	return READ_ONCE(tcp_sk(ms->sock->sk)->snd_una) +
	       iw_mpa_sock_rcv_nxt(ms);
}

/*
 * Has a peer that has sent FIN read all bytes of this end? When an application
 * closes a socket, Linux sends FIN only if the application has read all that
 * arrived, RST otherwise. Bytes that the peer acknowledges after its FIN are
 * not counted: its application never reads them.
 */
static inline bool iw_mpa_sock_was_read(const struct iw_mpa_sock *ms)
{
	u32 fin_ack = READ_ONCE(ms->fin_ack);

	return fin_ack && fin_ack == iw_mpa_sock_snd_nxt(ms);
}

/* View an address of iw_cm or rdma_cm, which is larger than this union. */
static inline union iw_mpa_addr *iw_mpa_addr(struct sockaddr_storage *addr)
{
	BUILD_BUG_ON(sizeof(union iw_mpa_addr) > sizeof(*addr));
	return (union iw_mpa_addr *)addr;
}

static inline bool iw_mpa_addr_is_known(const union iw_mpa_addr *addr)
{
	return addr->sa.sa_family == AF_INET || addr->sa.sa_family == AF_INET6;
}

static inline bool iw_mpa_addr_is_any(const union iw_mpa_addr *addr)
{
	if (addr->sa.sa_family == AF_INET)
		return !addr->in.sin_addr.s_addr;
	return ipv6_addr_any(&addr->in6.sin6_addr);
}

/* Return: where the port is, which IPv4 and IPv6 have at the same offset. */
static inline __be16 *iw_mpa_addr_port(union iw_mpa_addr *addr)
{
	BUILD_BUG_ON(offsetof(struct sockaddr_in, sin_port) !=
		     offsetof(struct sockaddr_in6, sin6_port));
	return &addr->in.sin_port;
}

#endif /* _IW_MPA_SOCK_H */
