// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/iw_mpa_twin, the interface to the process that acts as the hardware. The process reads
 * messages, one per line, and writes commands. After a message that begins with "op" the driver
 * waits until "answer ERRNO" is written.
 */

#include "twin.h"

#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#define TWIN_PATIENCE	(20 * HZ)
#define TWIN_COMMAND	128

struct twin_message {
	struct list_head	node;
	char			*text;
};

static LIST_HEAD(messages);
static DEFINE_SPINLOCK(messages_lock);
static DECLARE_WAIT_QUEUE_HEAD(wake);
static int (*hw_command)(const char *verb, const char *args);
static bool answered;
static int answer;

static __printf(1, 0) int twin_queue(const char *fmt, va_list args)
{
	struct twin_message *msg = kmalloc(sizeof(*msg), GFP_ATOMIC);
	unsigned long flags;

	if (!msg)
		return -ENOMEM;
	msg->text = kvasprintf(GFP_ATOMIC, fmt, args);
	if (!msg->text) {
		kfree(msg);
		return -ENOMEM;
	}
	spin_lock_irqsave(&messages_lock, flags);
	list_add_tail(&msg->node, &messages);
	spin_unlock_irqrestore(&messages_lock, flags);
	wake_up_all(&wake);
	return 0;
}

/* Queue a message for the process, in any context; without memory it is lost, and the test fails. */
void twin_tell(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	twin_queue(fmt, args);
	va_end(args);
}

/* Report an op to the process, and return the errno that it answers. */
int twin_ask(const char *fmt, ...)
{
	va_list args;
	int err;

	WRITE_ONCE(answered, false);
	va_start(args, fmt);
	err = twin_queue(fmt, args);
	va_end(args);
	if (err)
		return err;
	if (!wait_event_timeout(wake, READ_ONCE(answered), TWIN_PATIENCE))
		return -ETIMEDOUT;
	return answer;
}

static struct twin_message *twin_next(void)
{
	struct twin_message *msg;

	spin_lock_irq(&messages_lock);
	msg = list_first_entry_or_null(&messages, struct twin_message, node);
	if (msg)
		list_del(&msg->node);
	spin_unlock_irq(&messages_lock);
	return msg;
}

static ssize_t twin_read(struct file *file, char __user *buf, size_t size, loff_t *pos)
{
	struct twin_message *msg = NULL;
	size_t len;
	int err;

	err = wait_event_interruptible(wake, (msg = twin_next()));
	if (err)
		return err;
	len = strlen(msg->text);
	err = len > size ? -EMSGSIZE : copy_to_user(buf, msg->text, len) ? -EFAULT : 0;
	kfree(msg->text);
	kfree(msg);
	return err ?: len;
}

static __poll_t twin_poll(struct file *file, poll_table *wait)
{
	poll_wait(file, &wake, wait);
	return list_empty(&messages) ? 0 : EPOLLIN | EPOLLRDNORM;
}

static ssize_t twin_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	char command[TWIN_COMMAND] = {}, *args = command;
	const char *verb;
	int err;

	if (len >= sizeof(command))
		return -EMSGSIZE;
	if (copy_from_user(command, buf, len))
		return -EFAULT;
	verb = strsep(&args, " ");
	if (strcmp(verb, "answer")) {
		err = hw_command(verb, args ?: "");
		return err ?: len;
	}
	err = kstrtoint(args ?: "", 10, &answer);
	if (err)
		return err;
	WRITE_ONCE(answered, true);
	wake_up_all(&wake);
	return len;
}

static const struct file_operations twin_fops = {
	.owner	= THIS_MODULE,
	.read	= twin_read,
	.write	= twin_write,
	.poll	= twin_poll,
};

static struct miscdevice twin_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "iw_mpa_twin",
	.fops	= &twin_fops,
};

int twin_hw_init(int (*command)(const char *verb, const char *args))
{
	hw_command = command;
	return misc_register(&twin_misc);
}

void twin_hw_exit(void)
{
	struct twin_message *msg;

	misc_deregister(&twin_misc);
	while ((msg = twin_next())) {
		kfree(msg->text);
		kfree(msg);
	}
}
