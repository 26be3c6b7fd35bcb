// SPDX-License-Identifier: GPL-2.0
/*
 * kverbs, a ULP for the wire tests in the kernel: it posts work requests that only the kernel can
 * post. A process that opens /dev/kverbs has one connection, two PDs, and memory: 64 KiB of pages,
 * followed by 4 KiB from kmalloc(). AT is an offset in that memory. The process writes a command to
 * the file, and reads the command's output, whose last line is "OK" or "ERROR errno".
 *
 * The commands follow. What a command prints is in quotes, or for "take" in the lines below it: the
 * first word is printed literally, further words in capitals stand for values. HEX are bytes in
 * hexadecimal, for accept, connect, reject and EVENT the private data; ID is a wr_id; FLAGS of a WR
 * to post are ib_send_flags, those of a WC ib_wc_flags; ACCESS is ib_access_flags; STATE is an
 * ib_qp_state:
 *	srq MAX					the QP gets an SRQ of MAX entries
 *	cq MAX					the QP gets a completion queue of MAX entries
 *	listen ADDRESS PORT			of IPv4 or IPv6
 *	resolve ADDRESS PORT			resolve, and make the QP for "connect": "KEY LKEY",
 *							the PD's local_dma_lkey, for SGEs
 *	limits					of the listener's device: "LIMITS IRD ORD"
 *	prepare					make the QP for "accept": "KEY LKEY", as above
 *	accept IRD ORD [HEX]			rdma_accept() the connect request
 *	connect IRD ORD [HEX]
 *	reject [HEX]				rdma_reject() the connect request, and destroy its
 *							id: the next request is not refused
 *	unlisten				destroy the listener's id
 *	unsafe					allocate a PD with IB_PD_UNSAFE_GLOBAL_RKEY, free it
 *	mr N PD MAX TYPE			make region N: ib_alloc_mr(), max_num_sg MAX.
 *							TYPE: 0 MEM_REG, 1 SG_GAPS; PD: 0 the QP's,
 *							1 the other PD
 *	map N PAGE-SIZE SG-OFFSET AT,LENGTH...	ib_map_mr_sg(): "MAP ELEMENTS IOVA LENGTH RKEY"
 *	user N START LENGTH [ACCESS]		register the process's memory at START, which is in
 *							hexadecimal, as region N: "KEY RKEY"
 *	key N KEY				set the last byte of N's STag: "KEY RKEY"
 *	free N					free region N
 *	many COUNT MAX				allocate COUNT regions, then free them: for both
 *							"NS FIRST LAST ALL", the mean time for a
 *							region: first thousand, last thousand, all
 *	recv ID AT,LENGTH...			post to the SRQ if there is one, else to the RQ
 *	srq_limit N				arm the SRQ's limit
 *	post WR [; WR ...]			post a list; WR is one of
 *		send|write|read FLAGS ID REMOTE-ADDRESS RKEY AT,LENGTH...
 *		send_inv|read_inv FLAGS ID REMOTE-ADDRESS RKEY STAG AT,LENGTH...
 *		reg FLAGS ID N ACCESS
 *		inv FLAGS ID STAG
 *	take MS					wait up to MS ms for an event; print the oldest one:
 *		WC ID STATUS OPCODE LENGTH FLAGS STAG
 *		EVENT NUMBER STATUS IRD ORD HEX	of rdma_cm, with the peer's depths and private data
 *		ASYNC NUMBER			of the QP or the SRQ
 *		BUSY				another request was refused
 *	modify STATE				ib_modify_qp()
 *	query					"STATE STATE IRD ORD" of the QP
 *	drain, destroy				ib_drain_qp(), rdma_destroy_qp()
 *	disconnect				rdma_disconnect()
 *	cpu hold				a CPU that goes offline next waits for "cpu go",
 *							for 30 seconds at most
 *	cpu look, cpu go			"CPU 1" if one waits, else "CPU 0"
 *	memory ORDER				replace the 64 KiB by 2^ORDER pages, before there is
 *							a connection
 *	peek AT LENGTH				read memory: "DATA HEX"
 *	poke AT HEX, set AT LENGTH OCTET	write memory
 *	fill ID AT LENGTH OCTET			the completion handler of the WR ID fills memory,
 *							before "take" prints the completion
 *
 * AT,LENGTH of a work request may be followed by ",LKEY", in place of local_dma_lkey, and LKEY by
 * ",ADDRESS", an address in the region of LKEY, which replaces AT.
 */

#include "kverbs.h"

#include <linux/completion.h>
#include <linux/cpuhotplug.h>
#if __has_include(<linux/hex.h>)
#include <linux/hex.h>
#endif
#include <linux/inet.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/sock.h>
#include <rdma/ib_cm.h>

struct happening {
	struct list_head list;
	char text[];
};

void kv_happened(struct kv *kv, const char *format, ...)
{
	struct happening *news;
	va_list args;
	size_t size;

	va_start(args, format);
	size = vsnprintf(NULL, 0, format, args) + 1;
	va_end(args);
	news = kmalloc(sizeof(*news) + size, GFP_ATOMIC);
	if (!news)
		return;
	va_start(args, format);
	vscnprintf(news->text, size, format, args);
	va_end(args);
	spin_lock_bh(&kv->news_lock);
	list_add_tail(&news->list, &kv->news);
	spin_unlock_bh(&kv->news_lock);
	wake_up(&kv->wait);
}

static struct happening *take_news(struct kv *kv)
{
	struct happening *news;

	spin_lock_bh(&kv->news_lock);
	news = list_first_entry_or_null(&kv->news, struct happening, list);
	if (news)
		list_del(&news->list);
	spin_unlock_bh(&kv->news_lock);
	return news;
}

static void async_event(struct ib_event *event, void *arg)
{
	kv_happened(arg, "ASYNC %d\n", event->event);
}

/*
 * The id of a connect request becomes kv->id, the only connection. While kv->id is set, return an
 * error for further requests: rdma_cm then rejects the request, and destroys its id.
 */
static int cm_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	struct kv *kv = id->context;
	char pd[2 * U8_MAX + 1] = {};

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		if (kv->id) {
			kv_happened(kv, "BUSY\n");
			return -EBUSY;
		}
		kv->id = id;
	}
	if (param->private_data)
		bin2hex(pd, param->private_data, param->private_data_len);
	kv_happened(kv, "EVENT %d %d %u %u %s\n", event->event, event->status,
		    param->initiator_depth, param->responder_resources, pd);
	return 0;
}

/* --- connections ----------------------------------------------------------------------------- */

static struct rdma_cm_id *new_id(struct kv *kv)
{
	return rdma_create_id(&init_net, cm_event, kv, RDMA_PS_TCP, IB_QPT_RC);
}

static int parse_address(const char *args, struct sockaddr_storage *to)
{
	char address[48], port[6];

	if (sscanf(args, "%47s %5s", address, port) != 2)
		return -EINVAL;
	return inet_pton_with_scope(&init_net, AF_UNSPEC, address, port, to);
}

static int kv_listen(struct kv *kv, char *args)
{
	struct sockaddr_storage to = {};
	struct rdma_cm_id *id;
	int rv = parse_address(args, &to);

	if (rv || kv->listener)
		return rv ?: -EBUSY;
	id = new_id(kv);
	if (IS_ERR(id))
		return PTR_ERR(id);
	kv->listener = id;
	return rdma_bind_addr(id, (struct sockaddr *)&to) ?: rdma_listen(id, 4);
}

static int kv_srq(struct kv *kv, char *args)
{
	return sscanf(args, "%u", &kv->srq_size) == 1 && !kv->id ? 0 : -EINVAL;
}

static int kv_cq(struct kv *kv, char *args)
{
	return sscanf(args, "%u", &kv->cq_size) == 1 && !kv->id ? 0 : -EINVAL;
}

static int make_srq(struct kv *kv)
{
	struct ib_srq_init_attr init = {
		.event_handler	= async_event,
		.srq_context	= kv,
		.attr		= { .max_wr = kv->srq_size, .max_sge = MAX_SGES },
	};
	struct ib_srq *srq = ib_create_srq(kv->pd[0], &init);

	if (IS_ERR(srq))
		return PTR_ERR(srq);
	kv->srq = srq;
	return 0;
}

static int make_qp(struct kv *kv)
{
	struct ib_qp_init_attr attr = {
		.event_handler	= async_event,
		.qp_context	= kv,
		.qp_type	= IB_QPT_RC,
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.cap = {
			.max_send_wr = QUEUE_DEPTH, .max_recv_wr = QUEUE_DEPTH,
			.max_send_sge = MAX_SGES, .max_recv_sge = MAX_SGES,
		},
	};
	int i, rv;

	for (i = 0; i < 2; i++) {
		kv->pd[i] = ib_alloc_pd(kv->id->device, 0);
		if (IS_ERR(kv->pd[i]))
			return PTR_ERR(kv->pd[i]);
	}
	kv->cq = ib_alloc_cq(kv->id->device, kv, kv->cq_size ?: 4 * QUEUE_DEPTH, 0,
			     IB_POLL_WORKQUEUE);
	if (IS_ERR(kv->cq))
		return PTR_ERR(kv->cq);
	if (kv->srq_size) {
		rv = make_srq(kv);
		if (rv)
			return rv;
	}
	attr.send_cq = kv->cq;
	attr.recv_cq = kv->cq;
	attr.srq = kv->srq;
	seq_buf_printf(&kv->said, "KEY %#x\n", kv->pd[0]->local_dma_lkey);
	return rdma_create_qp(kv->id, kv->pd[0], &attr);
}

/* Wait for the rdma_cm event @type with status 0. Any other event before it is an error. */
static int expect_event(struct kv *kv, enum rdma_cm_event_type type)
{
	char want[32];
	struct happening *news;
	int rv;

	wait_event_timeout(kv->wait, !list_empty(&kv->news), 10 * HZ);
	news = take_news(kv);
	scnprintf(want, sizeof(want), "EVENT %d 0 ", type);
	rv = news && strstarts(news->text, want) ? 0 : -ENOTCONN;
	kfree(news);
	return rv;
}

static int kv_resolve(struct kv *kv, char *args)
{
	struct sockaddr_storage to = {};
	struct rdma_cm_id *id;
	int rv = parse_address(args, &to);

	if (rv || kv->id)
		return rv ?: -EBUSY;
	id = new_id(kv);
	if (IS_ERR(id))
		return PTR_ERR(id);
	kv->id = id;
	return rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 5000) ?:
	       expect_event(kv, RDMA_CM_EVENT_ADDR_RESOLVED) ?:
	       rdma_resolve_route(id, 5000) ?:
	       expect_event(kv, RDMA_CM_EVENT_ROUTE_RESOLVED) ?:
	       make_qp(kv);
}

/* Create the QP of a connect request, so that the test can post receives before rdma_accept() */
static int kv_prepare(struct kv *kv, char *args)
{
	return kv->id ? make_qp(kv) : -ENOTCONN;
}

/* Try to allocate a PD with IB_PD_UNSAFE_GLOBAL_RKEY, by which ULPs let peers access all memory */
static int kv_unsafe(struct kv *kv, char *args)
{
	struct ib_pd *pd;

	if (!kv->id)
		return -ENOTCONN;
	pd = ib_alloc_pd(kv->id->device, IB_PD_UNSAFE_GLOBAL_RKEY);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	ib_dealloc_pd(pd);
	return 0;
}

/* Parse private data in hexadecimal. Return the number of bytes, or a negative errno. */
static int parse_octets(const char *hex, u8 octets[U8_MAX])
{
	size_t size = strlen(hex) / 2;

	if (size > U8_MAX)
		return -EINVAL;
	return hex2bin(octets, hex, size) ?: size;
}

static int start(struct kv *kv, char *args, bool accept)
{
	struct rdma_conn_param param = {};
	u8 pd[U8_MAX];
	int rv, skip;

	if (!kv->id || sscanf(args, "%hhu %hhu %n", &param.responder_resources,
			      &param.initiator_depth, &skip) != 2)
		return -EINVAL;
	rv = parse_octets(args + skip, pd);
	if (rv < 0)
		return rv;
	param.private_data = pd;
	param.private_data_len = rv;
	if (!accept)
		return rdma_connect(kv->id, &param);
	rdma_lock_handler(kv->id);
	rv = rdma_accept(kv->id, &param);
	rdma_unlock_handler(kv->id);
	return rv;
}

static int kv_accept(struct kv *kv, char *args) { return start(kv, args, true); }
static int kv_connect(struct kv *kv, char *args) { return start(kv, args, false); }

/*
 * The removal of a device waits for rdma_destroy_id(), but not for work that rdma_destroy_id() puts
 * on ib_wq and that uses the ib_device: hold a reference on the device until that work is done.
 */
static void destroy_id(struct rdma_cm_id *id)
{
	struct device *device = id->device ? get_device(&id->device->dev) : NULL;

	rdma_destroy_id(id);
	flush_workqueue(ib_wq);
	put_device(device);
}

static int kv_reject(struct kv *kv, char *args)
{
	u8 pd[U8_MAX];
	int size = parse_octets(args, pd), rv;

	if (!kv->id || qp_of(kv) || size < 0)
		return -EINVAL;
	rv = rdma_reject(kv->id, pd, size, IB_CM_REJ_CONSUMER_DEFINED);
	destroy_id(kv->id);	/* even if rdma_reject() failed, as the peer has closed TCP */
	kv->id = NULL;
	return rv;
}

static int kv_unlisten(struct kv *kv, char *args)
{
	if (!kv->listener)
		return -EINVAL;
	destroy_id(kv->listener);
	kv->listener = NULL;
	return 0;
}

static int kv_limits(struct kv *kv, char *args)
{
	const struct ib_device *device = kv->listener ? kv->listener->device : NULL;

	if (!device)
		return -ENODEV;
	seq_buf_printf(&kv->said, "LIMITS %d %d\n", device->attrs.max_qp_rd_atom,
		       device->attrs.max_qp_init_rd_atom);
	return 0;
}

/* --- the QP ---------------------------------------------------------------------------------- */

static int kv_modify(struct kv *kv, char *args)
{
	struct ib_qp_attr attr = {};

	if (!qp_of(kv) || sscanf(args, "%i", (int *)&attr.qp_state) != 1)
		return -EINVAL;
	return ib_modify_qp(qp_of(kv), &attr, IB_QP_STATE);
}

static int kv_srq_limit(struct kv *kv, char *args)
{
	struct ib_srq_attr attr = {};

	if (!kv->srq || sscanf(args, "%u", &attr.srq_limit) != 1)
		return -EINVAL;
	return ib_modify_srq(kv->srq, &attr, IB_SRQ_LIMIT);
}

static int kv_query(struct kv *kv, char *args)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;
	int rv = qp_of(kv) ? ib_query_qp(qp_of(kv), &attr, IB_QP_STATE, &init) : -ENOTCONN;

	if (!rv)
		seq_buf_printf(&kv->said, "STATE %d %u %u\n", attr.qp_state,
			       attr.max_dest_rd_atomic, attr.max_rd_atomic);
	return rv;
}

static int kv_drain(struct kv *kv, char *args)
{
	if (!qp_of(kv))
		return -ENOTCONN;
	ib_drain_qp(qp_of(kv));
	return 0;
}

static int kv_disconnect(struct kv *kv, char *args)
{
	return kv->id ? rdma_disconnect(kv->id) : -ENOTCONN;
}

static int kv_destroy(struct kv *kv, char *args)
{
	if (!qp_of(kv))
		return -ENOTCONN;
	rdma_destroy_qp(kv->id);
	return 0;
}

/*
 * A CPU that goes offline waits for the I/O of block devices, and until it is offline each call of
 * cpus_read_lock() blocks. So a driver on which that I/O depends must not call cpus_read_lock(). In
 * place of the I/O a callback here has the CPU wait until the command "cpu go".
 */
static DECLARE_COMPLETION(cpu_may_go);
static int cpu_state = -1;
static atomic_t cpus_waiting = ATOMIC_INIT(0);

static int cpu_goes(unsigned int cpu)
{
	atomic_inc(&cpus_waiting);
	wait_for_completion_timeout(&cpu_may_go, 30 * HZ);
	atomic_dec(&cpus_waiting);
	return 0;
}

static void cpu_let_go(void)
{
	complete_all(&cpu_may_go);
	if (cpu_state >= 0)
		cpuhp_remove_state_nocalls(cpu_state);
	cpu_state = -1;
}

static int kv_cpu(struct kv *kv, char *args)
{
	if (!strcmp(args, "go") || !strcmp(args, "look")) {
		seq_buf_printf(&kv->said, "CPU %d\n", atomic_read(&cpus_waiting));
		if (!strcmp(args, "go"))
			cpu_let_go();
		return 0;
	}
	if (strcmp(args, "hold") || cpu_state >= 0)
		return -EINVAL;
	reinit_completion(&cpu_may_go);
	cpu_state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "kverbs:hold", NULL, cpu_goes);
	return cpu_state < 0 ? cpu_state : 0;
}

static int kv_take(struct kv *kv, char *args)
{
	struct happening *news;
	unsigned int ms;

	if (sscanf(args, "%u", &ms) != 1)
		return -EINVAL;
	wait_event_interruptible_timeout(kv->wait, !list_empty(&kv->news), msecs_to_jiffies(ms));
	news = take_news(kv);
	if (news)
		seq_buf_printf(&kv->said, "%s", news->text);
	kfree(news);
	return 0;
}

/* --- the file -------------------------------------------------------------------------------- */

static const struct {
	const char *verb;
	int (*run)(struct kv *kv, char *args);
} commands[] = {
	{ "srq", kv_srq }, { "srq_limit", kv_srq_limit }, { "cq", kv_cq }, { "unsafe", kv_unsafe },
	{ "listen", kv_listen }, { "resolve", kv_resolve }, { "prepare", kv_prepare },
	{ "limits", kv_limits }, { "accept", kv_accept }, { "connect", kv_connect },
	{ "reject", kv_reject }, { "unlisten", kv_unlisten }, { "mr", kv_mr }, { "user", kv_user },
	{ "map", kv_map }, { "many", kv_many },
	{ "key", kv_key }, { "free", kv_free }, { "recv", kv_recv }, { "post", kv_post },
	{ "take", kv_take }, { "modify", kv_modify }, { "query", kv_query },
	{ "drain", kv_drain }, { "disconnect", kv_disconnect }, { "destroy", kv_destroy },
	{ "memory", kv_memory }, { "peek", kv_peek }, { "poke", kv_poke }, { "set", kv_set },
	{ "fill", kv_fill }, { "cpu", kv_cpu },
};

static int run(struct kv *kv, char *line)
{
	char *verb = strsep(&line, " ");
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!strcmp(verb, commands[i].verb))
			return commands[i].run(kv, line ? line : "");
	}
	return -ENOSYS;
}

static ssize_t kv_write(struct file *file, const char __user *text, size_t size, loff_t *pos)
{
	struct kv *kv = file->private_data;
	char *line;
	int rv;

	if (size > MAX_LINE)
		return -E2BIG;
	line = memdup_user_nul(text, size);
	if (IS_ERR(line))
		return PTR_ERR(line);
	mutex_lock(&kv->lock);
	seq_buf_init(&kv->said, kv->said_text, sizeof(kv->said_text));
	rv = run(kv, strim(line));
	if (rv)
		seq_buf_printf(&kv->said, "ERROR %d\n", -rv);
	else
		seq_buf_printf(&kv->said, "OK\n");
	mutex_unlock(&kv->lock);
	kfree(line);
	return size;
}

static ssize_t kv_read(struct file *file, char __user *buf, size_t size, loff_t *pos)
{
	struct kv *kv = file->private_data;
	loff_t start = 0;
	ssize_t rv;

	mutex_lock(&kv->lock);
	rv = simple_read_from_buffer(buf, size, &start, kv->said_text, seq_buf_used(&kv->said));
	mutex_unlock(&kv->lock);
	return rv;
}

static void free_memory(struct kv *kv)
{
	free_pages((unsigned long)kv->memory, kv->order);
	kfree(kv->slab);
	kvfree(kv);
}

static int kv_open(struct inode *inode, struct file *file)
{
	struct kv *kv = kvzalloc(sizeof(*kv), GFP_KERNEL);

	if (!kv)
		return -ENOMEM;
	kv->order = MEMORY_ORDER;
	kv->memory = (u8 *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, kv->order);
	kv->slab = kzalloc(SLAB_SIZE, GFP_KERNEL);
	if (!kv->memory || !kv->slab) {
		free_memory(kv);
		return -ENOMEM;
	}
	mutex_init(&kv->lock);
	spin_lock_init(&kv->news_lock);
	INIT_LIST_HEAD(&kv->news);
	INIT_LIST_HEAD(&kv->wrs);
	init_waitqueue_head(&kv->wait);
	file->private_data = kv;
	return 0;
}

static int kv_release(struct inode *inode, struct file *file)
{
	struct kv *kv = file->private_data;
	struct happening *news;
	int i;

	if (kv->listener)
		destroy_id(kv->listener);
	if (qp_of(kv)) {
		ib_drain_qp(kv->id->qp);
		rdma_destroy_qp(kv->id);
	}
	if (kv->srq)
		ib_destroy_srq(kv->srq);
	for (i = 0; i < MAX_MRS; i++) {
		if (kv->mr[i])
			ib_dereg_mr(kv->mr[i]);
	}
	if (!IS_ERR_OR_NULL(kv->cq))
		ib_free_cq(kv->cq);
	for (i = 0; i < 2; i++) {
		if (!IS_ERR_OR_NULL(kv->pd[i]))
			ib_dealloc_pd(kv->pd[i]);
	}
	if (kv->id)
		destroy_id(kv->id);
	while ((news = take_news(kv)))
		kfree(news);
	kv_forget_wrs(kv);
	free_memory(kv);
	return 0;
}

static const struct file_operations kv_fops = {
	.owner		= THIS_MODULE,
	.open		= kv_open,
	.release	= kv_release,
	.read		= kv_read,
	.write		= kv_write,
};

static struct miscdevice kv_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "kverbs",
	.fops	= &kv_fops,
};

/*
 * sk_set_memalloc() for the first socket with SOCK_MEMALLOC, and sk_clear_memalloc() for the last
 * one, switch a static key: the kernel patches its own code. srnic has such sockets for kernel
 * ULPs. An emulated CPU may run half-patched code: see guest_cmdline() in guest.sh. This socket has
 * the flag as long as the module is loaded, so that no test's connection is the first or the last.
 */
static struct socket *with_reserves;

static void forget_reserves(void)
{
	sk_clear_memalloc(with_reserves->sk);
	sock_release(with_reserves);
}

static int __init kv_init(void)
{
	int err = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &with_reserves);

	if (err)
		return err;
	sk_set_memalloc(with_reserves->sk);
	err = misc_register(&kv_device);
	if (err)
		forget_reserves();
	return err;
}

static void __exit kv_exit(void)
{
	misc_deregister(&kv_device);
	cpu_let_go();
	forget_reserves();
}

module_init(kv_init);
module_exit(kv_exit);
MODULE_DESCRIPTION("A kernel's ULP that does what a test tells it to");
MODULE_LICENSE("GPL");
