/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that the files verbs_*.c of the program verbs_probe share; see verbs_probe.c */
#ifndef VERBS_PROBE_H
#define VERBS_PROBE_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAME_SIZE	24
#define MAX_SGE		64
#define MAX_WR		256

enum kind { MEMORY, PD, MR, CHANNEL, CQ, SRQ, QP, ID };

/*
 * An object of verbs_probe, with a name that the test chose. The kind MEMORY is for memory that
 * regions use, and for the rings of SQs, RQs, SRQs and CQs that libsiw has mapped.
 */
struct object {
	struct object *next;
	char name[NAME_SIZE];
	enum kind kind;
	bool borrowed;		/* a ring, which libsiw unmaps, and not verbs_probe */
	size_t size;		/* of memory */
	off_t key;		/* of a ring: its offset in the uverbs device file */
	union {
		void *ptr;
		uint8_t *memory;
		struct ibv_pd *pd;
		struct ibv_mr *mr;
		struct ibv_comp_channel *channel;
		struct ibv_cq *cq;
		struct ibv_srq *srq;
		struct ibv_qp *qp;
		struct rdma_cm_id *id;
	};
};

/* A mapping of the uverbs device file that libsiw made when the last object was created */
struct mapping {
	void *address;
	size_t size;
	off_t key;
};

typedef int (*handler)(int argc, char **argv);

struct command {
	const char *verb;
	handler run;
	int argc;		/* least number of arguments, words after the verb */
};

extern const struct command object_commands[], post_commands[], cm_commands[], raw_commands[];
extern const struct command serve_commands[];

/* verbs_probe.c; here and below: functions that return int return -1 and set errno if they fail */
extern struct ibv_context *context;
extern struct rdma_event_channel *cm_channel;
void fatal(const char *what);
uint64_t number(const char *word);
int parse_octets(const char *hex, uint8_t *out, int max);
void print_octets(const uint8_t *p, size_t size);
void serve_events(int timeout_ms);
void do_not_block(int fd);

/* verbs_objects.c */
struct object *find(enum kind kind, const char *name);
struct object *next_of(enum kind kind, const struct object *after);
struct object *add(enum kind kind, const char *name, void *ptr);
void forget(struct object *object);
const char *name_of(enum kind kind, const void *ptr);

/* verbs_raw.c */
void mappings_clear(void);
int rings_add(const char *owner, const char *const *suffixes, int count);
void rings_forget(const char *owner);

/* verbs_cm.c */
void cm_event(void);

/* verbs_serve.c */
bool serve_event(struct rdma_cm_event *event, bool acknowledged);
void serve_completions(void);
bool serve_is_busy(void);

#endif /* VERBS_PROBE_H */
