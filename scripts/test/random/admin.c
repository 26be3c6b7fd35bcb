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

/* Messages are right while all is set up and removed. */
static bool may_spoil;

/* Send the message; call @show for each part of the answer. Return true on success. */
static bool talk(int protocol, void (*show)(const struct nlmsghdr *))
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol), error = -1;
	bool dumps = message.hdr.nlmsg_flags & NLM_F_DUMP;
	struct nlmsghdr *h;
	int size;

	if (may_spoil && protocol == NETLINK_RDMA)
		spoil(NLMSG_DATA(&message.hdr), message.hdr.nlmsg_len - NLMSG_HDRLEN);
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

/*
 * The index of a network device in this namespace; 0: there is none. if_nametoindex() is not called
 * then: the kernel would run modprobe for the name.
 */
static unsigned int index_of(const char *name)
{
	char path[64];

	sprintf(path, "/proc/sys/net/ipv4/conf/%s", name);
	return access(path, F_OK) ? 0 : if_nametoindex(name);
}

/* A link's network device in this namespace, whose name op_net_rename() may have changed */
static const char *netdev(int link)
{
	static char name[8];

	sprintf(name, "rw%d", link);
	if (!index_of(name))
		name[1] = 'v';
	return name;
}

static bool link_message(const char *name, unsigned int up, unsigned int change)
{
	struct ifinfomsg info = {
		.ifi_index = index_of(name), .ifi_flags = up, .ifi_change = change,
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
		.ifa_index = index_of(netdev(link)),
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
	struct ifinfomsg info = { .ifi_index = index_of(name) };

	begin(RTM_DELLINK, 0, &info, sizeof(info));
	return info.ifi_index && talk(NETLINK_ROUTE, NULL);
}

static bool op_net_del(void) { return remove_netdev(netdev(chance(LINKS))); }
static bool op_net_down(void) { return set_up(netdev(chance(LINKS)), false); }

static bool op_net_up(void)
{
	int link = chance(LINKS);

	dress(link);
	return index_of(netdev(link));
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

/* Older kernels rename only an interface that is down. */
static bool op_net_rename(void)
{
	int link = chance(LINKS);
	char name[8];
	bool done;

	strcpy(name, netdev(link));
	if (!one_in(4))
		set_up(name, false);
	if (!link_message(name, 0, 0))
		return false;
	name[1] = name[1] == 'v' ? 'w' : 'v';
	text(IFLA_IFNAME, name);
	done = talk(NETLINK_ROUTE, NULL);
	dress(link);
	return done;
}

/*
 * Masters, and how ip makes them. The kernels with detectors have only the VRF. Both ends of a pair
 * may be ports of the bridge: with STP no frame runs in a circle.
 */
static const struct { const char *name, *type; } masters[] = {
	{ "rvrf", "vrf table 77" }, { "rbridge", "bridge stp_state 1" }, { "rbond", "bond" },
};

#define NR_MASTERS	(sizeof(masters) / sizeof(masters[0]))

static bool op_net_master(void)
{
	int link = chance(LINKS), master = index_of(masters[chance(NR_MASTERS)].name);
	bool done;

	/* A bond takes only an interface that is down. */
	if (one_in(2))
		set_up(netdev(link), false);
	if (!link_message(netdev(link), 0, 0))
		return false;
	word(IFLA_MASTER, one_in(3) ? 0 : master);
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

/* What any_link() found last: the index of each link, and the number in its name if it has one */
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
	if (nr_found < MOST_FOUND) {
		digits[nr_found] = strlen(name) > 2 ? name[2] & (LINKS - 1) : 0;
		found[nr_found++] = index;
	}
}

/* Find the links in this namespace. Return one of them, or an unused index. */
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
	sprintf(name, "r%c%d", "nmo"[chance(3)], digits[which]);
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

/* Half of the values are the default, with which a link can connect. */
static bool op_device_setting(void)
{
	char path[400], link[200], value[24];

	if (!any_of("/sys/class/infiniband", link))
		return false;
	strcat(link, "/iw_mpa");
	if (!any_of(link, path))
		return false;
	if (one_in(4))
		return read_all(path);
	sprintf(value, "%d", (int)(one_in(8) ? CHOOSE(-1, 3, 127, 128, 256) : chance(3)));
	return write_text(path, one_in(2) ? "default" : value);
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
	may_spoil = true;
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

	if (!index_of(netdev(link))) {
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
	OP(net_mtu, 4) OP(net_mac, 3) OP(net_master, 6) OP(net_netns, 3) OP(net_rename, 4)	\
	OP(address_del, 4) OP(address_add, 6) OP(link_add, 20) OP(link_del, 5)			\
	OP(link_rename, 4) OP(link_netns, 3) OP(system, 4) OP(dump, 20) OP(setting, 8)		\
	OP(device_setting, 8) OP(show, 12)

#define OP(name, weight)	static bool somewhere_##name(void) { return somewhere(op_##name); }
ADMIN_OPS
#undef OP
#define OP(name, weight)	{ #name, weight, somewhere_##name },

const struct op admin_ops[] = { ADMIN_OPS {} };

bool admin_set_up(bool exclusive)
{
	int count = names_of(SETTINGS, names), i;
	char path[200], command[100];
	size_t m;

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
	for (m = 0; m < NR_MASTERS; m++) {
		sprintf(command, "ip link add %s type %s && ip link set %s up", masters[m].name,
			masters[m].type, masters[m].name);
		/* The first one, the VRF, is in all kernels. */
		if (system(command) && !m)
			return false;
	}
	if (!count)
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
			while (remove_netdev(netdev(i)))
				;
	}
	open_namespace(0);
	for (i = 0; i < (int)NR_MASTERS; i++)
		remove_netdev(masters[i].name);
	restore();
	for (i = 1; i < NAMESPACES; i++)
		close(namespaces[i]);
	return good;
}
