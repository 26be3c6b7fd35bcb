/* SPDX-License-Identifier: GPL-2.0 */
/* Random system calls on RDMA devices: declarations for the files of this folder. See main.c. */

#ifndef RANDOM_H
#define RANDOM_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINKS		4	/* srnic on network devices rv0, rv1 ... */
#define PORTS		3	/* number of ports for listeners, from PORT on */
#define PORT		7000
#define OWN_PORT	7100	/* from here on sockets of cm.c listen, and no RDMA */
#define NAMESPACES	3	/* the first one is that of the host */

/* An operation; run() returns false if the kernel refused it, or if there was no object for it. */
struct op {
	const char *name;
	int weight;
	bool (*run)(void);
};

extern const struct op user_ops[], admin_ops[];

/* Memory that one process has registered for its peers; all processes share a table of these. */
struct key {
	uint32_t rkey, size;
	uint64_t addr;
};

#define KEYS	32
extern struct key *keys;
extern unsigned long *established;
extern int namespaces[NAMESPACES];

/* main.c: random numbers and mappings of the calling process */
uint64_t any(void);
unsigned int chance(unsigned int n);
void spoil(void *at, size_t size);
void *map_far(int number, size_t size);
int open_namespace(int number);

#define one_in(n)	(chance(n) == 0)
/* A random one of these numbers; a number that is listed twice is twice as likely */
#define CHOOSE(...) ({ static const unsigned int of_[] = { __VA_ARGS__ };	\
	of_[chance(sizeof(of_) / sizeof(of_[0]))]; })

/* Addresses of the device on a link, in either family */
static inline void address_of(struct sockaddr_in6 *sa, int link, int port, bool six)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)sa;

	*sa = (struct sockaddr_in6) {};
	if (six) {
		sa->sin6_family = AF_INET6;
		sa->sin6_port = htons(port);
		sa->sin6_addr.s6_addr[0] = 0xfd;
		sa->sin6_addr.s6_addr[7] = link + 1;
		sa->sin6_addr.s6_addr[15] = 1;
		return;
	}
	sin->sin_family = AF_INET;
	sin->sin_port = htons(port);
	sin->sin_addr.s_addr = htonl(0x0a090001 + link * 0x100);
}

static inline int link_of(const struct sockaddr_in6 *sa)
{
	const struct sockaddr_in *sin = (const struct sockaddr_in *)sa;
	int link = ntohl(sin->sin_addr.s_addr) >> 8 & 0xff;

	if (sa->sin6_family == AF_INET6)
		link = sa->sin6_addr.s6_addr[7] - 1;

	return link >= 0 && link < LINKS ? link : (int)chance(LINKS);
}

/*
 * Functions of verbs.c: verbs_qp_for() makes a QP for a new connection over @link, and returns its
 * number, or 0 if it fails. It sets @key to memory that the peer may access, if there is any.
 * verbs_peer() stores with the QP @number which memory of its peer it may access.
 */
uint32_t verbs_qp_for(int link, struct key *key);
void verbs_peer(uint32_t number, const struct key *key);
void verbs_start(void);
void verbs_forked(void);

/* cm.c */
void cm_start(void);

/* admin.c: setup, and teardown, which checks that nothing is left */
bool admin_set_up(bool exclusive);
bool admin_clear(void);

#endif
