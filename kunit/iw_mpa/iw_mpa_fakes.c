// SPDX-License-Identifier: GPL-2.0
/* Setup and teardown of the fakes of a test: see iw_mpa_fakes.h. */

#include "device.h"
#include "iw_mpa_fakes.h"
#include "main.h"
#include "stats.h"

#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/netdevice.h>
#include <linux/ns_common.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

/*
 * Record a forbidden action of iw_mpa or of the test, which fails the test at its end. @what must
 * be a constant string. May be called in any context, with or without @f->lock.
 */
void fake_fault(struct fakes *f, const char *what)
{
	if (f->nr_faults < FAKE_FAULTS)
		f->faults[f->nr_faults] = what;
	f->nr_faults++;
}

struct fake_call {
	void			(*fn)(void *arg);
	void			*arg;
	struct completion	done;
};

static int fake_call_thread(void *data)
{
	struct fake_call *call = data;

	call->fn(call->arg);
	complete(&call->done);
	return 0;
}

/*
 * Call a function that waits for iw_mpa, in a thread, so that the test goes on even if the function
 * never returns. Return false if it has not returned after 2 * FAKE_WAIT_MS: then it still uses the
 * fakes' memory, which must not be freed.
 */
static bool fake_call(struct fakes *f, void (*fn)(void *arg), void *arg)
{
	struct fake_call *call = kzalloc_obj(*call, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(f->test, call);
	call->fn = fn;
	call->arg = arg;
	init_completion(&call->done);
	kthread_run(fake_call_thread, call, "iw_mpa_fake");
	if (!wait_for_completion_timeout(&call->done,
					 msecs_to_jiffies(2 * FAKE_WAIT_MS)))
		return false;
	kfree(call);
	return true;
}

static void fake_do_qp_gone(void *arg)
{
	struct fake_qp *qp = arg;
	bool hidden = qp->hidden;

	fake_qp_freed(qp);
	WRITE_ONCE(qp->hidden, !qp->seen);
	iw_mpa_qp_gone(&qp->ib, &qp->end);
	WRITE_ONCE(qp->hidden, hidden);	/* a test may use the QP again */
	qp->ending = true;
}

/*
 * The second half of destroy_qp: iw_mpa_qp_freed(), as after the last reference on the QP was
 * dropped
 */
void fake_qp_freed(struct fake_qp *qp)
{
	if (qp->ending)
		iw_mpa_qp_freed(&qp->end);
	qp->ending = false;
}

/*
 * The first half of destroy_qp: call iw_mpa_qp_gone(). After that iw_mpa has no reference on the
 * QP, and no op runs, but iw_cm may have references. fake_qp_freed() is the second half; it is
 * called at the end of the test, if not before.
 */
void fake_qp_gone(struct fake_qp *qp)
{
	struct kunit *test = qp->f->test;

	KUNIT_ASSERT_TRUE_MSG(test, fake_call(qp->f, fake_do_qp_gone, qp),
			      "iw_mpa_qp_gone() does not return");
	KUNIT_EXPECT_FALSE(test, qp->busy);
	KUNIT_EXPECT_FALSE(test, qp->prepared);
}

static void fake_do_unregister(void *arg)
{
	iw_mpa_unregister_device(arg);
}

/* Unregister the device. Its listeners must have been destroyed before. */
void fake_unregister(struct fakes *f)
{
	int i;

	for (i = 0; i < FAKE_QPS; i++)
		fake_qp_freed(&f->qps[i]);
	f->registered = false;
	KUNIT_ASSERT_TRUE_MSG(f->test, fake_call(f, fake_do_unregister, f->ibdev),
			      "iw_mpa_unregister_device() does not return");
}

/* Set whether the RDMA core has reported the device to rdma_cm. */
void fake_attach_device(struct ib_device *ibdev, bool attached)
{
	struct iw_mpa_device *dev = iw_mpa_device_get(ibdev);

	WRITE_ONCE(dev->attached, attached);
	iw_mpa_device_put(dev);
}

/* Register the device with the ops and attributes that the test has set. */
int fake_register(struct fakes *f)
{
	int err = iw_mpa_register_device(f->ibdev, init_net.loopback_dev, &f->drv,
					 &f->attr);

	f->registered = !err;
	if (!err)
		fake_attach_device(f->ibdev, true);
	return err;
}

/*
 * Register the device again, with attributes that the test has changed. The device must not be in
 * use.
 */
void fake_register_again(struct fakes *f)
{
	fake_unregister(f);
	KUNIT_ASSERT_EQ(f->test, fake_register(f), 0);
}

void fake_set_caps(struct fakes *f, u32 caps)
{
	f->attr.caps = caps;
	fake_register_again(f);
}

/*
 * Return the attribute of a setting. The fake device has no folder in sysfs, so tests call the
 * attribute's functions.
 */
struct device_attribute *fake_device_attr(struct fakes *f, const char *name)
{
	struct attribute **attr;

	f->ibdev->coredev.owner = f->ibdev;
	for (attr = iw_mpa_device_group.attrs; *attr; attr++)
		if (!strcmp((*attr)->name, name))
			return container_of(*attr, struct device_attribute, attr);
	KUNIT_FAIL(f->test, "a device has no setting %s", name);
	return NULL;
}

void fake_set_device(struct fakes *f, const char *name, const char *value)
{
	struct device_attribute *attr = fake_device_attr(f, name);

	KUNIT_ASSERT_NOT_NULL(f->test, attr);
	KUNIT_ASSERT_EQ(f->test, attr->store(&f->ibdev->dev, attr, value, strlen(value)),
			strlen(value));
}

static int fakes_bring_up_lo(struct net *net)
{
	int err;

	rtnl_lock();
	err = dev_open(net->loopback_dev, NULL);
	rtnl_unlock();
	return err;
}

/*
 * Return a second network namespace, with its loopback device up; it exists until the end of the
 * test.
 */
struct net *fakes_elsewhere(struct fakes *f)
{
	struct net *net;

	if (f->elsewhere)
		return f->elsewhere;
	net = copy_net_ns(CLONE_NEWNET, &init_user_ns, &init_net);
	KUNIT_ASSERT_FALSE(f->test, IS_ERR(net));
	f->elsewhere = net;
	KUNIT_ASSERT_EQ(f->test, fakes_bring_up_lo(net), 0);
	return net;
}

/* Let the test change the settings of init_net, which fakes_exit() restores. */
static void fakes_set_config(struct fakes *f)
{
	f->config = (struct iw_mpa_config *)iw_mpa_config(&init_net);
	f->saved = *f->config;
}

/*
 * The init function of suites: bring the loopback interface up, and register one fake RDMA device
 * with iw_mpa. test->priv becomes the struct fakes. Return 0 or a negative errno.
 */
int fakes_init(struct kunit *test)
{
	struct fakes *f = kzalloc_obj(*f, GFP_KERNEL);
	int err;

	if (!f)
		return -ENOMEM;
	err = fake_rnic_init(f);
	if (err) {
		kfree(f);
		return err;
	}
	test->priv = f;
	f->test = test;
	spin_lock_init(&f->lock);
	init_waitqueue_head(&f->wake);
	INIT_LIST_HEAD(&f->ids);
	f->nets = ns_ref_read(&init_net);
	f->backlog = FAKE_BACKLOG;
	f->peers_net = &init_net;
	fakes_set_config(f);
	err = fakes_bring_up_lo(&init_net);
	if (!err)
		err = fake_register(f);
	return err;
}

static void fakes_destroy_ids(struct fakes *f, bool listeners)
{
	struct fake_id *fid;

	list_for_each_entry(fid, &f->ids, node) {
		bool listens = fid->state == FAKE_LISTEN;

		if (!fid->destroyed && listens == listeners)
			fake_destroy(fid);
	}
}

/*
 * First destroy listeners, so that no connection arrives; then QPs, which ends all connects, since
 * destroying a cm_id waits for CONNECT_REPLY; then the other cm_ids.
 */
static void fakes_tear_down(void *arg)
{
	struct fakes *f = arg;
	int i;

	fakes_destroy_ids(f, true);
	for (i = 0; i < FAKE_QPS; i++)
		fake_do_qp_gone(&f->qps[i]);
	fakes_destroy_ids(f, false);
	for (i = 0; i < FAKE_QPS; i++)
		fake_qp_freed(&f->qps[i]);
	if (f->registered)
		iw_mpa_unregister_device(f->ibdev);
}

static bool fakes_is_balanced(enum iw_mpa_counter created,
			      enum iw_mpa_counter destroyed)
{
	return iw_mpa_count_read(NULL, created) == iw_mpa_count_read(NULL, destroyed);
}

/* Is the memory of all endpoints free? */
bool fakes_has_no_endpoint(void)
{
	return fakes_is_balanced(IW_MPA_CNT_ep_created, IW_MPA_CNT_ep_destroyed);
}

static void fakes_check(struct fakes *f)
{
	struct kunit *test = f->test;
	struct fake_id *fid;
	int i;

	for (i = 0; i < FAKE_QPS; i++) {
		KUNIT_EXPECT_EQ_MSG(test, f->qps[i].refs, 1, "QP %d", i + 1);
		KUNIT_EXPECT_FALSE(test, f->qps[i].prepared);
	}
	list_for_each_entry(fid, &f->ids, node)
		KUNIT_EXPECT_EQ_MSG(test, fid->refs, 0, "cm_id in state %d",
				    fid->state);
	KUNIT_EXPECT_EQ(test, f->nr_faults, 0);
	for (i = 0; i < min(f->nr_faults, FAKE_FAULTS); i++)
		KUNIT_FAIL(test, "%s", f->faults[i]);

	/* A work item may use an endpoint for a moment after its connection has ended. */
	for (i = 0; i < HZ && !fakes_has_no_endpoint(); i++)
		schedule_timeout_uninterruptible(1);
	/* A closed socket keeps its reference on the namespace until RCU frees the socket. */
	for (i = 0; i < HZ && ns_ref_read(&init_net) > f->nets; i++)
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_LE(test, ns_ref_read(&init_net), f->nets);
	KUNIT_EXPECT_TRUE(test, fakes_has_no_endpoint());
	KUNIT_EXPECT_TRUE(test, fakes_is_balanced(IW_MPA_CNT_sock_created,
						  IW_MPA_CNT_sock_destroyed));
	KUNIT_EXPECT_TRUE(test, fakes_is_balanced(IW_MPA_CNT_listener_created,
						  IW_MPA_CNT_listener_destroyed));
}

/*
 * The exit function of suites: remove what the test has left, in the order of the RDMA core, and
 * check that iw_mpa has freed each object and dropped each reference.
 */
void fakes_exit(struct kunit *test)
{
	struct fakes *f = test->priv;
	struct fake_id *fid, *next;
	int i;

	if (!f)
		return;
	if (!fake_call(f, fakes_tear_down, f)) {
		KUNIT_FAIL(test, "the library does not let go");
		return;		/* the thread of fake_call() still uses the memory */
	}
	*f->config = f->saved;
	for (i = 0; i < f->nr_socks; i++) {
		if (f->socks[i])
			sock_release(f->socks[i]);
	}
	fakes_check(f);
	if (f->elsewhere)
		put_net(f->elsewhere);
	list_for_each_entry_safe(fid, next, &f->ids, node)
		kfree(fid);
	kfree(f->ibdev);
	kfree(f);
}
