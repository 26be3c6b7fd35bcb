/* SPDX-License-Identifier: GPL-2.0 */
/* One QP of a pair, complete: with the work items and the handler that a device's has. */
#ifndef _SRNIC_SINGLE_H
#define _SRNIC_SINGLE_H

#include "srnic_pair.h"

#define SINGLE_EVENTS	8

/**
 * struct single - the world of a test
 * @p: the pair
 * @qp: the QP, its end 0
 * @events: what its handler, or that of an SRQ, was told, in order
 * @n: how many
 * @own: the work queues are of the test: there is no device beside
 */
struct single {
	struct pair		*p;
	struct srnic_qp		*qp;
	enum ib_event_type	events[SINGLE_EVENTS];
	unsigned int		n;
	bool			own;
};

extern struct single single;

int single_init(struct kunit *test);
void single_exit(struct kunit *test);
void single_handler(struct ib_event *event, void *unused);
void single_expect_events(struct kunit *test, unsigned int n);
void single_connect(struct kunit *test, struct socket **peer, struct socket **sock, int rcvbuf);

#endif /* _SRNIC_SINGLE_H */
