// SPDX-License-Identifier: GPL-2.0
/*
 * Actions of administrators while others use the devices: links of srnic, and the network devices
 * below, are made, changed and removed; by netlink, as ip and rdma use it.
 */

#define _GNU_SOURCE

#include "random.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SETTINGS	"/proc/sys/net/iw_mpa"
#define VRF		"rvrf"
#define MOST_SETTINGS	64

/* Buffer of the netlink message that is sent, and then of the last answer */
static union {
	struct nlmsghdr hdr;
	char octets[16384];
} message;

static void begin(int type, int flags, const void *head, size_t size)
{
	memset(&message, 0, 1024);
	message.hdr = (struct nlmsghdr) {
		.nlmsg_len = NLMSG_SPACE(size), .nlmsg_type = type,
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags,
	};
	memcpy(NLMSG_DATA(&message.hdr), head, size);
}

static struct nlattr *attribute(int type, const void *data, size_t size)
{
	struct nlattr *at = (void *)message.octets + message.hdr.nlmsg_len;

	*at = (struct nlattr) { NLA_HDRLEN + size, type };
	if (size)
		memcpy(at + 1, data, size);
	message.hdr.nlmsg_len += NLMSG_ALIGN(at->nla_len);
	return at;
}

static void word(int type, uint32_t value)
{
	attribute(type, &value, sizeof(value));
}

static void text(int type, const char *value)
{
	attribute(type, value, strlen(value) + 1);
}

static void end(struct nlattr *nest)
{
	nest->nla_len = message.octets + message.hdr.nlmsg_len - (char *)nest;
}

/* Send the message; call @show for each part of the answer. Return true on success. */
static bool talk(int protocol, void (*show)(const struct nlmsghdr *))
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol), error = -1;
	bool dumps = message.hdr.nlmsg_flags & NLM_F_DUMP;
	struct nlmsghdr *h;
	int size;

	if (send(fd, &message, message.hdr.nlmsg_len, 0) < 0) {
		close(fd);
		return false;
	}
	while (error < 0 && (size = recv(fd, &message, sizeof(message), 0)) > 0) {
		for (h = &message.hdr; NLMSG_OK(h, (unsigned int)size); h = NLMSG_NEXT(h, size)) {
			if (h->nlmsg_type == NLMSG_ERROR)
				error = -((struct nlmsgerr *)NLMSG_DATA(h))->error;
			else if (h->nlmsg_type == NLMSG_DONE && dumps)
				error = 0;
			else if (show)
				show(h);
		}
	}
	close(fd);
	return !error;
}

/* --- network devices ------------------------------------------------------------------- */

static const char *netdev(int link)
{
	static char name[8];

	sprintf(name, "rv%d", link);
	return name;
}

static bool link_message(const char *name, unsigned int up, unsigned int change)
{
	struct ifinfomsg info = {
		.ifi_index = if_nametoindex(name), .ifi_flags = up, .ifi_change = change,
	};

	begin(RTM_NEWLINK, 0, &info, sizeof(info));
	return info.ifi_index;
}

static bool set_up(const char *name, bool up)
{
	return link_message(name, up ? IFF_UP : 0, IFF_UP) && talk(NETLINK_ROUTE, NULL);
}

static bool address(int link, bool six, int type)
{
	struct sockaddr_in6 sa;
	struct ifaddrmsg info = {
		.ifa_family = six ? AF_INET6 : AF_INET, .ifa_prefixlen = six ? 64 : 24,
		.ifa_index = if_nametoindex(netdev(link)),
	};

	if (!info.ifa_index)
		return false;
	if (six)
		info.ifa_flags = IFA_F_NODAD;
	address_of(&sa, link, 0, six);
	begin(type, type == RTM_NEWADDR ? NLM_F_CREATE | NLM_F_REPLACE : 0, &info, sizeof(info));
	if (six)
		attribute(IFA_ADDRESS, &sa.sin6_addr, 16);
	attribute(IFA_LOCAL, six ? (void *)&sa.sin6_addr : &((struct sockaddr_in *)&sa)->sin_addr,
		  six ? 16 : 4);
	return talk(NETLINK_ROUTE, NULL);
}

static bool make_pair(int link)
{
	struct ifinfomsg info = {};
	struct nlattr *kind, *data, *peer;

	begin(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &info, sizeof(info));
	text(IFLA_IFNAME, netdev(link));
	kind = attribute(IFLA_LINKINFO, NULL, 0);
	text(IFLA_INFO_KIND, "veth");
	data = attribute(IFLA_INFO_DATA, NULL, 0);
	peer = attribute(VETH_INFO_PEER, &info, sizeof(info));
	text(IFLA_IFNAME, netdev(link ^ 1));
	end(peer);
	end(data);
	end(kind);
	return talk(NETLINK_ROUTE, NULL);
}

static void dress(int link)
{
	set_up(netdev(link), true);
	address(link, false, RTM_NEWADDR);
	address(link, true, RTM_NEWADDR);
}

static bool op_net_add(void)
{
	int link = chance(LINKS);
	bool done = make_pair(link);

	dress(link);
	dress(link ^ 1);
	return done;
}

static bool remove_netdev(const char *name)
{
	struct ifinfomsg info = { .ifi_index = if_nametoindex(name) };

	begin(RTM_DELLINK, 0, &info, sizeof(info));
	return info.ifi_index && talk(NETLINK_ROUTE, NULL);
}

static bool op_net_del(void) { return remove_netdev(netdev(chance(LINKS))); }
static bool op_net_down(void) { return set_up(netdev(chance(LINKS)), false); }

static bool op_net_up(void)
{
	int link = chance(LINKS);

	dress(link);
	return if_nametoindex(netdev(link));
}

static bool op_address_del(void) { return address(chance(LINKS), one_in(2), RTM_DELADDR); }
static bool op_address_add(void) { return address(chance(LINKS), one_in(2), RTM_NEWADDR); }

static bool op_net_mtu(void)
{
	if (!link_message(netdev(chance(LINKS)), 0, 0))
		return false;
	word(IFLA_MTU, CHOOSE(68, 576, 1280, 1500, 1500, 4000, 9000, 65535));
	return talk(NETLINK_ROUTE, NULL);
}

static bool op_net_mac(void)
{
	uint64_t mac = 2 | any() << 8;

	if (!link_message(netdev(chance(LINKS)), 0, 0))
		return false;
	attribute(IFLA_ADDRESS, &mac, 6);
	return talk(NETLINK_ROUTE, NULL);
}

static bool op_net_master(void)
{
	int link = chance(LINKS), vrf = if_nametoindex(VRF);
	bool done;

	if (!link_message(netdev(link), 0, 0))
		return false;
	word(IFLA_MASTER, one_in(2) ? vrf : 0);
	done = talk(NETLINK_ROUTE, NULL);
	/* A change of the master removes the IPv6 address. */
	if (one_in(2))
		dress(link);
	return done;
}

static bool op_net_netns(void)
{
	int link = chance(LINKS);

	if (!link_message(netdev(link), 0, 0))
		return false;
	word(IFLA_NET_NS_FD, namespaces[chance(NAMESPACES)]);
	return talk(NETLINK_ROUTE, NULL);
}

static bool is_exclusive;	/* RDMA core's netns mode: each namespace has its own devices */

/* --- links of srnic -------------------------------------------------------------------- */

#define RDMA(command)	RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_##command)
#define MOST_FOUND	16

/* What any_link() found last: the index of each of our links, and the number in its name */
static uint32_t found[MOST_FOUND];
static int digits[MOST_FOUND];
static int nr_found;

static void note(const struct nlmsghdr *h)
{
	const struct nlattr *at = NLMSG_DATA(h);
	int left = h->nlmsg_len - NLMSG_HDRLEN;
	const char *name = "";
	uint32_t index = 0;

	for (; left >= NLA_HDRLEN && at->nla_len >= NLA_HDRLEN;
	     at = (void *)at + NLA_ALIGN(at->nla_len)) {
		if (at->nla_type == RDMA_NLDEV_ATTR_DEV_INDEX)
			memcpy(&index, at + 1, 4);
		else if (at->nla_type == RDMA_NLDEV_ATTR_DEV_NAME)
			name = (char *)(at + 1);
		left -= NLA_ALIGN(at->nla_len);
	}
	if (name[0] == 'r' && nr_found < MOST_FOUND) {
		digits[nr_found] = name[2] - '0';
		found[nr_found++] = index;
	}
}

/* Find our links in this namespace. Return one of them, or an unused index. */
static uint32_t any_link(void)
{
	nr_found = 0;
	begin(RDMA(GET), NLM_F_DUMP, NULL, 0);
	talk(NETLINK_RDMA, note);
	return nr_found && !one_in(20) ? found[chance(nr_found)] : chance(100);
}

static bool add_link(int link)
{
	char name[8];

	sprintf(name, "r%c%d", "nm"[chance(2)], link);
	begin(RDMA(NEWLINK), 0, NULL, 0);
	text(RDMA_NLDEV_ATTR_DEV_NAME, name);
	text(RDMA_NLDEV_ATTR_LINK_TYPE, "srnic");
	text(RDMA_NLDEV_ATTR_NDEV_NAME, netdev(link));
	return talk(NETLINK_RDMA, NULL);
}

static bool op_link_add(void) { return add_link(chance(LINKS)); }

static bool op_link_del(void)
{
	uint32_t link = any_link();

	begin(RDMA(DELLINK), 0, NULL, 0);
	word(RDMA_NLDEV_ATTR_DEV_INDEX, link);
	return talk(NETLINK_RDMA, NULL);
}

/* The last character of the name is the number of the link, for open_link(). */
static bool op_link_rename(void)
{
	char name[8];
	int which;

	any_link();
	if (!nr_found)
		return false;
	which = chance(nr_found);
	sprintf(name, "r%c%d", "nmo"[chance(3)], digits[which] & 15);
	begin(RDMA(SET), 0, NULL, 0);
	word(RDMA_NLDEV_ATTR_DEV_INDEX, found[which]);
	text(RDMA_NLDEV_ATTR_DEV_NAME, name);
	return talk(NETLINK_RDMA, NULL);
}

static bool op_link_netns(void)
{
	uint32_t link = any_link();

	/* In the shared mode a link can only move with its network device. */
	if (!is_exclusive)
		return op_net_netns();
	begin(RDMA(SET), 0, NULL, 0);
	word(RDMA_NLDEV_ATTR_DEV_INDEX, link);
	word(RDMA_NLDEV_NET_NS_FD, namespaces[chance(NAMESPACES)]);
	return talk(NETLINK_RDMA, NULL);
}

static bool set_system(bool exclusive)
{
	uint8_t shared = !exclusive;

	begin(RDMA(SYS_SET), 0, NULL, 0);
	attribute(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, &shared, 1);
	return talk(NETLINK_RDMA, NULL);
}


/* The RDMA core refuses to change its mode while there is another network namespace. */
static bool op_system(void)
{
	if (one_in(4))
		return set_system(one_in(2) ? is_exclusive : !is_exclusive);
	begin(RDMA(SYS_GET), 0, NULL, 0);
	return talk(NETLINK_RDMA, NULL);
}

static bool op_dump(void)
{
	uint32_t link = any_link();

	begin(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, CHOOSE(
		RDMA_NLDEV_CMD_PORT_GET, RDMA_NLDEV_CMD_RES_GET, RDMA_NLDEV_CMD_RES_QP_GET,
		RDMA_NLDEV_CMD_RES_CM_ID_GET, RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_CMD_RES_MR_GET,
		RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_CMD_RES_SRQ_GET,
		RDMA_NLDEV_CMD_STAT_GET)), NLM_F_DUMP, NULL, 0);
	word(RDMA_NLDEV_ATTR_DEV_INDEX, link);
	if (one_in(2))
		word(RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	return talk(NETLINK_RDMA, NULL);
}

/* --- files ----------------------------------------------------------------------------- */

static bool read_all(const char *path)
{
	char buffer[8192];
	int fd = open(path, O_RDONLY);
	bool done = fd >= 0 && read(fd, buffer, sizeof(buffer)) > 0;

	while (done && read(fd, buffer, 1 + chance(sizeof(buffer))) > 0)
		;
	if (fd >= 0)
		close(fd);
	return done;
}

static bool write_text(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);
	bool done = fd >= 0 && write(fd, value, strlen(value)) > 0;

	if (fd >= 0)
		close(fd);
	return done;
}

/* Read the names in a folder. Return their number. */
static int names_of(const char *folder, char (*names)[64])
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int count = 0;

	while (dir && (entry = readdir(dir)) && count < MOST_SETTINGS)
		if (entry->d_name[0] != '.')
			snprintf(names[count++], 64, "%.63s", entry->d_name);
	if (dir)
		closedir(dir);
	return count;
}

static bool any_of(const char *folder, char *path)
{
	char names[MOST_SETTINGS][64];
	int count = names_of(folder, names);

	if (count)
		sprintf(path, "%s/%s", folder, names[chance(count)]);
	return count;
}

/*
 * Names and first values of iw_mpa's sysctls, for restore(): if odd values were left, few
 * connections would be established.
 */
static char names[MOST_SETTINGS][64], values[MOST_SETTINGS][24];

static void restore(void)
{
	char path[200];

	for (int i = 0; i < MOST_SETTINGS && names[i][0]; i++) {
		sprintf(path, SETTINGS "/%.63s", names[i]);
		if (values[i][0])
			write_text(path, values[i]);
	}
}

static bool op_setting(void)
{
	char path[300], value[24];

	if (!any_of(SETTINGS, path))
		return false;
	sprintf(value, "%u", one_in(2) ? chance(4) :
			CHOOSE(0, 1, 10, 100, 1000, 5000, 100000, 0x7fffffff));
	return one_in(4) ? read_all(path) : write_text(path, value);
}

static bool op_show(void)
{
	char path[300], link[200];

	if (one_in(2))
		return any_of("/sys/kernel/debug/iw_mpa", path) && read_all(path);
	if (!any_of("/sys/class/infiniband", link))
		return false;
	strcat(link, one_in(2) ? "/ports/1/hw_counters" : "/ports/1");
	return any_of(link, path) && read_all(path);
}

/* --- operations in namespaces ---------------------------------------------------------- */

/* Run an operation, in a third of the cases in another namespace. */
static bool somewhere(bool (*op)(void))
{
	bool done;

	if (open_namespace(one_in(2) ? 0 : chance(NAMESPACES)))
		return false;
	done = op();
	open_namespace(0);
	return done;
}

/*
 * Make a link usable again: with a network device in the first namespace, its addresses, and
 * iw_mpa's sysctls as they were at the beginning.
 */
static bool op_mend(void)
{
	int link = chance(LINKS), i;

	if (!if_nametoindex(netdev(link))) {
		for (i = 1; i < NAMESPACES; i++) {
			open_namespace(i);
			remove_netdev(netdev(link));
		}
		open_namespace(0);
		make_pair(link);
	}
	if (link_message(netdev(link), 0, 0)) {
		word(IFLA_MASTER, 0);
		word(IFLA_MTU, 1500);
		talk(NETLINK_ROUTE, NULL);
	}
	dress(link);
	restore();
	return add_link(link);
}

#define ADMIN_OPS OP(mend, 60) OP(net_add, 12) OP(net_del, 3) OP(net_down, 4) OP(net_up, 12)	\
	OP(net_mtu, 4) OP(net_mac, 3) OP(net_master, 4) OP(net_netns, 3) OP(address_del, 4)	\
	OP(address_add, 6) OP(link_add, 20) OP(link_del, 5) OP(link_rename, 4)			\
	OP(link_netns, 3) OP(system, 4) OP(dump, 20) OP(setting, 8) OP(show, 12)

#define OP(name, weight)	static bool somewhere_##name(void) { return somewhere(op_##name); }
ADMIN_OPS
#undef OP
#define OP(name, weight)	{ #name, weight, somewhere_##name },

const struct op admin_ops[] = { ADMIN_OPS {} };

bool admin_set_up(bool exclusive)
{
	int count = names_of(SETTINGS, names), i;
	char path[200];

	for (i = 0; i < count; i++) {
		FILE *f;

		sprintf(path, SETTINGS "/%.63s", names[i]);
		f = fopen(path, "r");
		if (!f || (fgets(values[i], sizeof(values[i]), f) && values[i][0] == '\n'))
			values[i][0] = 0;
		if (f)
			fclose(f);
	}
	is_exclusive = exclusive;
	if (exclusive && !set_system(true))
		return false;
	if (!count || system("ip link add " VRF " type vrf table 77 && ip link set " VRF " up"))
		return false;
	for (i = 0; i < LINKS; i += 2) {
		if (!make_pair(i))
			return false;
		dress(i);
		dress(i + 1);
	}
	for (i = 0; i < LINKS; i++)
		if (!add_link(i))
			return false;
	return true;
}

/* When no user is left, remove all: each link, or at random first the network device below it. */
bool admin_clear(void)
{
	bool good = true;
	int i, n;

	for (n = 0; n < NAMESPACES; n++) {
		open_namespace(n);
		for (i = 0; i < LINKS; i++)
			if (one_in(2))
				remove_netdev(netdev(i));
		for (i = 0; i < 100 && (any_link(), nr_found); i++) {
			begin(RDMA(DELLINK), 0, NULL, 0);
			word(RDMA_NLDEV_ATTR_DEV_INDEX, found[0]);
			talk(NETLINK_RDMA, NULL);
		}
		if (nr_found) {
			printf("link %u stays\n", found[0]);
			good = false;
		}
		for (i = 0; i < LINKS; i++)
			remove_netdev(netdev(i));
	}
	open_namespace(0);
	remove_netdev(VRF);
	restore();
	for (i = 1; i < NAMESPACES; i++)
		close(namespaces[i]);
	return good;
}
