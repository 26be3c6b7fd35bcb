/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SRNIC_COMPAT_RDMA_IB_VERBS_H
#define _SRNIC_COMPAT_RDMA_IB_VERBS_H

#include_next <rdma/ib_verbs.h>

#include <linux/etherdevice.h>
#include <linux/netdevice.h>
#include <linux/printk.h>

/*
 * An srnic device has no DMA: the CPU accesses each page by a virtual address,
 * which pages in high memory do not have. With high memory, Kconfig in the
 * kernel's tree, and the Kbuild of all modules out of tree, leave srnic out.
 * This check is for a build of srnic alone.
 */
#ifdef CONFIG_HIGHMEM
#error "srnic needs a kernel without high memory"
#endif
/* A ring has a kernel and a user address. Linux has the symbol since 6.9. */
#ifdef CONFIG_ARCH_HAS_CPU_CACHE_ALIASING
#error "srnic needs a processor without aliases in its data cache"
#endif

/* Linux has ib_virt_dma_to_ptr() since 6.4; before, each driver had a cast. */
#ifndef SRNIC_HAS_VIRT_DMA_TO_PTR
static inline void *ib_virt_dma_to_ptr(u64 dma_addr)
{
	return (void *)(uintptr_t)dma_addr;
}
#endif

/* Since Linux 6.11 a driver reports that an administrator chose the name. */
#ifndef SRNIC_HAS_MARK_NAME
static inline void ib_mark_name_assigned_by_user(struct ib_device *ibdev)
{
}
#endif

/* Since Linux 6.14 the core reports port events, or calls the driver's op. */
#ifndef SRNIC_HAS_REPORT_PORT_EVENT
/*
 * Before Linux 6.14 ib_device_ops has no member report_port_event. There the
 * definitions below turn that member's initializer into
 * ".size_ib_counters = 0", which changes nothing, and leave the function
 * srnic_report_port_event() unused.
 */
#define report_port_event size_ib_counters
enum { srnic_report_port_event };
#define srnic_report_port_event(...) __maybe_unused compat_report_port_event(__VA_ARGS__)
#endif

/*
 * srnic's verbs have the arguments of the newest kernel. If an older kernel
 * calls a verb with other arguments, a macro renames the verb wherever "("
 * follows its name. In srnic's initializer of struct ib_device_ops no "("
 * follows, so there the name is that of a function in uverbs_ioctl.h, which has
 * the older kernel's arguments.
 *
 * Since Linux 6.11 create_cq gets struct uverbs_attr_bundle in place of udata.
 * Since Linux 6.17 reg_user_mr also gets struct ib_dmah, a DMA handle.
 */
#ifndef COMPAT_HAS_CQ_ATTRS
#define srnic_create_cq(...) srnic_create_cq_attrs(__VA_ARGS__)
#endif
#ifndef COMPAT_HAS_DMAH
#define srnic_reg_user_mr(...) srnic_reg_user_mr_dmah(__VA_ARGS__)
#endif

/* Refuse a netdev without MAC address: rdma_cm would find no device there. */
#ifdef COMPAT_RDMA_CM_BY_MAC
static inline int compat_set_netdev(struct ib_device *ibdev, struct net_device *netdev, u32 port)
{
	if (netdev->addr_len < ETH_ALEN || is_zero_ether_addr(netdev->dev_addr)) {
		pr_err("srnic: %s has no hardware address: before Linux 6.5 rdma_cm finds no device there\n",
		       netdev_name(netdev));
		return -EOPNOTSUPP;
	}
	return ib_device_set_netdev(ibdev, netdev, port);
}

#define ib_device_set_netdev compat_set_netdev
#endif

#endif /* _SRNIC_COMPAT_RDMA_IB_VERBS_H */
