/* SPDX-License-Identifier: GPL-2.0 */
/* A QP under test, end 0 of a pair, with work items and an event handler like a real device's QP */
#ifndef _SRNIC_SINGLE_H
#define _SRNIC_SINGLE_H

#include "srnic_pair.h"

#define SINGLE_EVENTS	8

/* The QP under test */
struct single {
	struct pair		*p;
	struct srnic_qp		*qp;	/* the QP, end 0 of the pair */
	/* events that the handler of the QP, or of an SRQ, got, in order */
	enum ib_event_type	events[SINGLE_EVENTS];
	unsigned int		n;	/* number of elements of @events */
	/* the test has made the work queues, since srnic is not loaded */
	bool			own;
};

extern struct single single;

int single_init(struct kunit *test);
void single_exit(struct kunit *test);
void single_handler(struct ib_event *event, void *unused);
void single_expect_events(struct kunit *test, unsigned int n);
void single_connect(struct kunit *test, struct socket **peer, struct socket **sock, int rcvbuf);

#endif /* _SRNIC_SINGLE_H */
