// SPDX-License-Identifier: GPL-2.0
/* The files endpoints and listeners in debugfs; they are read as user space reads them. */

#include "device.h"
#include "ep.h"
#include "iw_mpa_fakes.h"

#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#define SHOW_SIZE	8192

/* A test is a kernel thread and cannot call read(), so it walks the sequence like seq_read(). */
static void show_walk(struct seq_file *seq)
{
	loff_t pos = 0;
	void *at;

	for (at = seq->op->start(seq, &pos); !IS_ERR_OR_NULL(at);
	     at = seq->op->next(seq, at, &pos)) {
		size_t count = seq->count;

		/* If show() skips an element, the text that it has written is dropped. */
		if (seq->op->show(seq, at))
			seq->count = count;
	}
	seq->op->stop(seq, at);
}

/* Return the contents of a file of debugfs as a string. */
static const char *show_read(struct kunit *test, const char *name)
{
	struct file_system_type *type = get_fs_type("debugfs");
	struct seq_file *seq;
	struct vfsmount *mnt;
	struct path root;
	struct file *file;
	char *text;

	KUNIT_ASSERT_NOT_NULL(test, type);
	mnt = vfs_kern_mount(type, 0, "debugfs", NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mnt));
	root = (struct path) { .mnt = mnt, .dentry = mnt->mnt_root };
	file = file_open_root(&root, name, O_RDONLY, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	text = kunit_kzalloc(test, SHOW_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, text);
	seq = file->private_data;
	seq->buf = text;
	seq->size = SHOW_SIZE - 1;
	show_walk(seq);
	KUNIT_EXPECT_FALSE(test, seq_has_overflowed(seq));
	text[seq->count] = '\0';
	seq->buf = NULL;
	filp_close(file, NULL);
	kern_unmount(mnt);
	put_filesystem(type);
	return text;
}

static int show_count(const char *text, const char *word)
{
	int n = 0;

	while ((text = strstr(text, word))) {
		text += strlen(word);
		n++;
	}
	return n;
}

/* Each listener has one line in debugfs, as long as it exists. */
static void show_listeners_each_once(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	struct fake_id *other;
	const char *text;
	char address[80];

	KUNIT_EXPECT_STREQ(test, show_read(test, "iw_mpa/listeners"), "");
	conn_listen(c);
	text = show_read(test, "iw_mpa/listeners");
	snprintf(address, sizeof(address), " local=%pISpc backlog=", &c->lis->id.m_local_addr);
	KUNIT_EXPECT_EQ(test, show_count(text, "\n"), 1);
	KUNIT_EXPECT_EQ(test, show_count(text, "id="), 1);
	KUNIT_EXPECT_EQ(test, show_count(text, address), 1);
	KUNIT_EXPECT_EQ(test, show_count(text, " socket=yes\n"), 1);
	other = c->lis;
	conn_listen(c);
	KUNIT_EXPECT_EQ(test, show_count(show_read(test, "iw_mpa/listeners"), "\n"), 2);
	fake_destroy(other);
	FAKE_WAIT(c->f, !READ_ONCE(other->refs));
	text = show_read(test, "iw_mpa/listeners");
	KUNIT_EXPECT_EQ(test, show_count(text, "\n"), 1);
	KUNIT_EXPECT_EQ(test, show_count(text, address), 0);
}

static void show_endpoints_with_what_was_agreed(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);
	const char *text;
	char remote[80];

	KUNIT_EXPECT_STREQ(test, show_read(test, "iw_mpa/endpoints"), "");
	conn_active_up(c);
	text = show_read(test, "iw_mpa/endpoints");
	KUNIT_EXPECT_EQ(test, show_count(text, "\n"), 1);
	KUNIT_EXPECT_EQ(test, show_count(text, " role=initiator state="), 1);
	snprintf(remote, sizeof(remote), " remote=%pISpc ", &c->fid->id.m_remote_addr);
	KUNIT_EXPECT_EQ(test, show_count(text, remote), 1);
	KUNIT_EXPECT_EQ(test, show_count(text, " qpn=1 rev=2 "), 1);
	KUNIT_EXPECT_EQ(test, show_count(text, " rtr="), 1);
	KUNIT_EXPECT_EQ(test, show_count(text, " lost=none\n"), 1);
}

static const struct lost_case {
	const char	*desc;
	const char	*shown;
	bool		p2p;		/* asked for */
	bool		fin;		/* the peer closes on revision 2 */
	bool		enhanced;	/* the Reply has RFC 6581 data, without A */
	u8		rev;		/* of its Reply */
} lost_cases[] = {
	{ "closed", " lost=p2p,depths\n", true, true, false, 1 },
	{ "closed_client_server", " lost=depths\n", false, true, false, 1 },
	{ "reply_of_revision_1", " lost=p2p,depths\n", true, false, false, 1 },
	{ "reply_without_s", " lost=p2p,depths\n", true, false, false, 2 },
	{ "reply_without_a", " lost=p2p\n", true, false, true, 2 },
	{ "client_server", " lost=none\n", false, false, true, 2 },
};

KUNIT_ARRAY_PARAM_DESC(lost, lost_cases, desc);

/* Rules: E-10-6 X-02-2: what debugfs reports as lost */
static void show_what_was_asked_for_in_vain(struct kunit *test)
{
	const struct lost_case *lc = test->param_value;
	struct fake_conn *c = conn_new(test);
	const char *text;
	char rev[16];

	c->f->config->peer_to_peer = lc->p2p;
	conn_dial(c);
	if (lc->fin) {
		peer_fin(c->peer);
		conn_answer_dial(c);
	}
	if (lc->enhanced)
		peer_make_v2(&c->frame, true, MPA_C, CONN_PEER_IRD, CONN_PEER_ORD, NULL, 0);
	else
		peer_make(&c->frame, true, MPA_C, lc->rev, NULL, 0);
	peer_send_frame(c->f, c->peer, &c->frame);
	fake_expect_event(c->fid, 0, IW_CM_EVENT_CONNECT_REPLY, 0);
	text = show_read(test, "iw_mpa/endpoints");
	snprintf(rev, sizeof(rev), " rev=%u ", lc->rev);
	KUNIT_EXPECT_EQ_MSG(test, show_count(text, lc->shown), 1, "%s", text);
	KUNIT_EXPECT_EQ_MSG(test, show_count(text, rev), 1, "%s", text);
}

static void show_responder(struct kunit *test)
{
	struct fake_conn *c = conn_new(test);

	conn_passive_up(c);
	KUNIT_EXPECT_EQ(test, show_count(show_read(test, "iw_mpa/endpoints"), " role=responder "),
			1);
}

/* An endpoint without addresses, and one whose device is being removed, are not shown. */
static void show_nothing_of_what_cannot_be_looked_at(struct kunit *test)
{
	struct iw_mpa_device *gone = kunit_kzalloc(test, sizeof(*gone), GFP_KERNEL);
	struct fakes *f = test->priv;
	struct iw_mpa_device *dev = iw_mpa_device_get(f->ibdev);
	struct iw_mpa_ep *ep;

	KUNIT_ASSERT_NOT_NULL(test, gone);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	ep = iw_mpa_ep_create(dev, &init_net, true, NULL, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ep);
	KUNIT_EXPECT_STREQ(test, show_read(test, "iw_mpa/endpoints"), "");
	ep->tuple.local.sa.sa_family = AF_INET;
	ep->tuple.remote.sa.sa_family = AF_INET;
	KUNIT_EXPECT_EQ(test, show_count(show_read(test, "iw_mpa/endpoints"), "\n"), 1);
	gone->ibdev = dev->ibdev;
	gone->netdev = dev->netdev;
	ep->dev = gone;
	KUNIT_EXPECT_STREQ(test, show_read(test, "iw_mpa/endpoints"), "");
	ep->dev = dev;
	iw_mpa_ep_unregister(ep);
	iw_mpa_device_put(dev);		/* the reference of iw_mpa_ep_create() */
	iw_mpa_ep_drop(ep);
	iw_mpa_device_put(dev);
}

static struct kunit_case show_cases[] = {
	KUNIT_CASE(show_listeners_each_once),
	KUNIT_CASE(show_endpoints_with_what_was_agreed),
	KUNIT_CASE_PARAM(show_what_was_asked_for_in_vain, lost_gen_params),
	KUNIT_CASE(show_responder),
	KUNIT_CASE(show_nothing_of_what_cannot_be_looked_at),
	{}
};

static struct kunit_suite show_suite = {
	.name = "iw_mpa_show",
	.init = fakes_init,
	.exit = fakes_exit,
	.test_cases = show_cases,
};

kunit_test_suite(show_suite);
