// SPDX-License-Identifier: GPL-2.0
/* Interfaces for tests of addresses and routes: see iw_mpa_fakes.h. */

#include "iw_mpa_fakes.h"

#include <linux/etherdevice.h>
#include <linux/in.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>

static netdev_tx_t nowhere(struct sk_buff *skb, struct net_device *netdev)
{
	dev_kfree_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops nowhere_ops = {
	.ndo_start_xmit	= nowhere,
};

static void nowhere_setup(struct net_device *netdev)
{
	ether_setup(netdev);
	netdev->netdev_ops = &nowhere_ops;
	eth_hw_addr_random(netdev);
}

/*
 * Make an interface with @address. It is up, and drops all that is sent over it. The host accepts
 * packets to @address on any interface. fake_netdev_remove() removes the interface.
 */
struct net_device *fake_netdev_add(struct kunit *test, __be32 address)
{
	struct net_device *netdev = alloc_netdev(0, "mpa%d", NET_NAME_UNKNOWN, nowhere_setup);
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = address };
	struct ifreq ifr = {};

	KUNIT_ASSERT_NOT_NULL(test, netdev);
	rtnl_lock();
	KUNIT_EXPECT_EQ(test, register_netdevice(netdev), 0);
	KUNIT_EXPECT_EQ(test, dev_open(netdev, NULL), 0);
	rtnl_unlock();
	strscpy(ifr.ifr_name, netdev->name, sizeof(ifr.ifr_name));
	memcpy(&ifr.ifr_addr, &sin, sizeof(sin));
	KUNIT_EXPECT_EQ(test, devinet_ioctl(&init_net, SIOCSIFADDR, &ifr), 0);
	return netdev;
}

/* Undo fake_netdev_add(). */
void fake_netdev_remove(struct net_device *netdev)
{
	rtnl_lock();
	unregister_netdevice(netdev);
	rtnl_unlock();
	free_netdev(netdev);
}
