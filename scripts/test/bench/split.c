// SPDX-License-Identifier: GPL-2.0
/*
 * A QEMU plugin that counts the instructions of a guest exactly, by function, by phase of the
 * benchmark, and by the part of the kernel that caused them.
 *
 *	-plugin split.so,map=FILE,out=FILE
 *
 * The program in the guest marks its phases by special no-operation instructions, see cm_bench.c.
 * The map is read whenever the program executes MARK_LOAD. The map has a line "HEX-ADDRESS GROUP
 * NAME" for each function of the kernel, sorted; user space counts as one function. Functions of
 * group 0 serve all others (memory, locks, lists): their instructions count for the group that ran
 * before, which has called them.
 *
 * The result has a line "PHASE GROUP NAME INSTRUCTIONS CALLS" for each function.
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The used part of QEMU's plugin interface; Debian packages no header for it. */
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef uint64_t qemu_plugin_id_t;
#define NO_REGS 0

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   void (*cb)(qemu_plugin_id_t id,
						      struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
					  void (*cb)(unsigned int cpu, void *data),
					  int flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*cb)(unsigned int cpu, void *data),
					    int flags, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

int qemu_plugin_version = 1;

#define PHASES		8	/* phase 0 is not counted */
#define GROUPS		16	/* functions of group 0 count for their caller's group */
#define GROUP_USER	1
#define BUCKETS		(1 << 18)

/* Marks are numbers in special no-operations (mark_of()): these two do not begin a phase */
#define MARK_LOAD	8
#define MARK_DUMP	9

struct function {
	uint64_t start;
	unsigned int group;
	char name[64];
};

/* A translated block */
struct block {
	struct block *next;
	uint64_t addr;
	uint32_t insns;
	uint32_t function;
	uint32_t group;
	bool entry;		/* the block begins its function */
};

static struct block *blocks[BUCKETS];
static struct function *functions;	/* the first one is user space */
static size_t count;
static uint64_t *insns;			/* [function][phase][group] */
static uint64_t *calls;			/* [function][phase][group] */
static unsigned int phase, group;
static const char *map_name, *out_name;

static void resolve(struct block *b)
{
	size_t lo = 0, hi = count, mid;

	b->function = 0;
	b->group = GROUP_USER;
	b->entry = false;
	if (!(b->addr >> 63) || count < 2)
		return;
	while (hi - lo > 1) {
		mid = (lo + hi) / 2;
		if (functions[mid].start <= b->addr)
			lo = mid;
		else
			hi = mid;
	}
	b->function = lo;
	b->group = functions[lo].group;
	b->entry = functions[lo].start == b->addr;
}

static void start_anew(void)
{
	free(insns);
	free(calls);
	insns = calloc(count * PHASES * GROUPS, sizeof(*insns));
	calls = calloc(count * PHASES * GROUPS, sizeof(*calls));
}

static void load_map(void)
{
	size_t room = 1 << 20;
	FILE *file = fopen(map_name, "r");
	struct block *b;
	size_t i;

	if (!file)
		return;
	free(functions);
	functions = calloc(room, sizeof(*functions));
	functions[0] = (struct function) { .group = GROUP_USER, .name = "user" };
	for (count = 1; count < room; count++) {
		struct function *f = &functions[count];

		if (fscanf(file, "%" SCNx64 " %u %63s%*[^\n]", &f->start, &f->group, f->name) != 3)
			break;
		f->group %= GROUPS;
	}
	fclose(file);
	start_anew();
	for (i = 0; i < BUCKETS; i++) {
		for (b = blocks[i]; b; b = b->next)
			resolve(b);
	}
}

static void dump(void)
{
	FILE *file = fopen(out_name, "w");
	size_t f, p, g, i;

	if (!file)
		return;
	for (f = 0; f < count; f++) {
		for (p = 1; p < PHASES; p++) {
			for (g = 0; g < GROUPS; g++) {
				i = (f * PHASES + p) * GROUPS + g;
				if (insns[i])
					fprintf(file, "%zu %zu %s %" PRIu64 " %" PRIu64 "\n", p, g,
						functions[f].name, insns[i], calls[i]);
			}
		}
	}
	fclose(file);
	start_anew();
}

static void on_mark(unsigned int cpu, void *data)
{
	uintptr_t mark = (uintptr_t)data;

	(void)cpu;
	if (mark == MARK_LOAD)
		load_map();
	else if (mark == MARK_DUMP && insns)
		dump();
	phase = mark < PHASES && insns ? mark : 0;
	group = GROUP_USER;
}

static void on_block(unsigned int cpu, void *data)
{
	const struct block *b = data;
	size_t i;

	(void)cpu;
	if (!phase)
		return;
	if (b->group)
		group = b->group;
	i = ((size_t)b->function * PHASES + phase) * GROUPS + group;
	insns[i] += b->insns;
	calls[i] += b->entry;
}

/* Return the record of a block. QEMU may translate the same code again: then reuse its record. */
static struct block *block_of(uint64_t addr, uint32_t n)
{
	struct block **bucket = &blocks[(addr ^ addr >> 18) % BUCKETS], *b;

	for (b = *bucket; b; b = b->next) {
		if (b->addr == addr && b->insns == n)
			return b;
	}
	b = calloc(1, sizeof(*b));
	b->addr = addr;
	b->insns = n;
	resolve(b);
	b->next = *bucket;
	*bucket = b;
	return b;
}

/* nopl 0x1b3c00NN(%rax): mark NN */
static int mark_of(const struct qemu_plugin_insn *insn)
{
	const uint8_t *code = qemu_plugin_insn_data(insn);

	if (qemu_plugin_insn_size(insn) != 7 || memcmp(code, "\x0f\x1f\x80", 3) ||
	    memcmp(code + 4, "\x00\x3c\x1b", 3))
		return -1;
	return code[3];
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t i, n = qemu_plugin_tb_n_insns(tb);
	uint64_t addr = qemu_plugin_tb_vaddr(tb);
	int mark;

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, NO_REGS, block_of(addr, n));
	if (addr >> 63)
		return;
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		mark = mark_of(insn);
		if (mark >= 0)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark, NO_REGS,
							       (void *)(uintptr_t)mark);
	}
}

static const char *value_of(const char *arg, const char *key)
{
	size_t len = strlen(key);

	return strncmp(arg, key, len) ? NULL : strdup(arg + len);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	int i;

	(void)info;
	for (i = 0; i < argc; i++) {
		map_name = value_of(argv[i], "map=") ?: map_name;
		out_name = value_of(argv[i], "out=") ?: out_name;
	}
	if (!map_name || !out_name)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	return 0;
}
