/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_CONFIG_H
#define _IW_MPA_CONFIG_H

#include <linux/compiler.h>
#include <linux/types.h>

struct net;
struct pernet_operations;

/*
 * The settings, sysctl net.iw_mpa.* of each network namespace. Each entry has a
 * comment with the meaning, then the name, least value, greatest value and
 * default. A setting of type PORTS is a list of ports, empty by default. Tables
 * in the documentation are made from these entries.
 */
#define IW_MPA_SETTINGS(UINT, U8, PORTS) \
	/* initiator: time for TCP to connect */ \
	UINT(connect_timeout_ms, 10, 3600000, 20000) \
	/* initiator: time for the MPA Reply to come */ \
	UINT(reply_timeout_ms, 10, 3600000, 60000) \
	/* responder: time for the MPA Request to come */ \
	UINT(request_timeout_ms, 10, 3600000, 10000) \
	/* responder: time for the ULP to accept or reject */ \
	UINT(verdict_timeout_ms, 10, 3600000, 50000) \
	/* responder: time for the RTR message to come */ \
	UINT(rtr_timeout_ms, 10, 3600000, 20000) \
	/* time for the peer to close after a Reject or Terminate, and for */ \
	/* the next byte of a close by FIN to move */ \
	UINT(linger_timeout_ms, 10, 3600000, 5000) \
	/* time for a close by FIN as a whole, whatever moves; what was */ \
	/* posted and is not out by then is lost */ \
	UINT(finish_timeout_ms, 1000, 3600000, 60000) \
	/* initiator: time until the RTR message is repeated for a peer */ \
	/* that named Write alone and says nothing; 0: never */ \
	UINT(rtr_repeat_ms, 0, 1000, 10) \
	/* responder: connections of a device, in this network namespace, */ \
	/* that may wait for the Request, or for the peer to close after a */ \
	/* Reject; if there are more, the oldest is closed */ \
	UINT(half_open_max, 1, 1000000, 4096) \
	/* responder: as half_open_max, for each listener; also how many */ \
	/* Requests may await room in ULPs */ \
	UINT(half_open_listener_max, 1, 1000000, 1024) \
	/* ask for CRC; 0 has an effect only on devices that work without */ \
	/* CRC */ \
	U8(crc, 0, 1, 1) \
	/* ask for Markers; 1 has an effect only on devices that can */ \
	/* receive them */ \
	U8(markers, 0, 1, 0) \
	/* allow FPDUs of more than one TCP segment, if the peer allows */ \
	/* them, too; not with Markers; 1 has an effect only on devices */ \
	/* that know them */ \
	U8(large_fpdu, 0, 1, 0) \
	/* initiator: the revision of MPA to offer */ \
	U8(mpa_rev, 1, 2, 2) \
	/* initiator: ask for the peer-to-peer model, in which either end */ \
	/* may send first */ \
	U8(peer_to_peer, 0, 1, 1) \
	/* initiator: always ask for the peer-to-peer model if this list */ \
	/* has a port of the connection, either end's */ \
	PORTS(peer_to_peer_ports) \
	/* initiator: never ask for peer-to-peer if this list has a port of */ \
	/* either side; peer_to_peer_ports wins */ \
	PORTS(client_server_ports) \
	/* client-server responder: send nothing before the first FPDU has */ \
	/* come, as RFC 5044 asks; 0: a server that sends first may do so */ \
	/* at once */ \
	U8(fence, 0, 1, 1) \
	/* client-server responder: wait no longer than this for the first */ \
	/* FPDU; 0: without limit */ \
	UINT(fence_timeout_ms, 0, 3600000, 0) \
	/* initiator: take revision 1 if the peer does not answer as */ \
	/* revision 2; but not with strict_ird_ord, nor if a port or the */ \
	/* device asks for the peer-to-peer model */ \
	U8(v1_fallback, 0, 1, 1) \
	/* refuse depths (IRD, ORD) that do not fit; 0: adjust them */ \
	U8(strict_ird_ord, 0, 1, 0) \
	/* initiator: let TCP choose the source port if TCP uses the wanted */ \
	/* one */ \
	U8(source_port_retry, 0, 1, 1) \
	/* TCP Fast Open: an initiator sends its Request with the SYN, a */ \
	/* new listener takes it; see iw_mpa.rst first */ \
	U8(fast_open, 0, 1, 0) \
	/* write a line into the kernel's log for each connection that */ \
	/* fails, before or after it is up, or that comes up without what */ \
	/* was asked for, at most 10 for a device in 5 s */ \
	U8(log, 0, 1, 1)

/*
 * The settings of a network namespace. sysctl may change a value at any time,
 * so readers use READ_ONCE(). A change has an effect on new connections; that
 * of a time limit also has an effect on each wait that begins later.
 */
struct iw_mpa_config {
#define MEMBER_UINT(name, min, max, value)	unsigned int name;
#define MEMBER_U8(name, min, max, value)		u8 name;
#define MEMBER_PORTS(name)			unsigned long *(name);
	IW_MPA_SETTINGS(MEMBER_UINT, MEMBER_U8, MEMBER_PORTS)
#undef MEMBER_UINT
#undef MEMBER_U8
#undef MEMBER_PORTS
};

/* A device's setting: use that of the network namespace; memset() can set it */
#define IW_MPA_DEFAULT	(-1)

/*
 * Settings that a device may override in sysfs, with the same names and values
 * as in IW_MPA_SETTINGS(). Readers use READ_ONCE(), too; a change has an effect
 * on new connections only.
 */
#define IW_MPA_DEVICE_SETTINGS(S8) \
	S8(crc) \
	S8(markers) \
	S8(large_fpdu) \
	S8(mpa_rev) \
	S8(peer_to_peer)

struct iw_mpa_device_config {
#define MEMBER_S8(name)		s8 name;
	IW_MPA_DEVICE_SETTINGS(MEMBER_S8)
#undef MEMBER_S8
};

/* Return: a device's own setting, or the network namespace's if it has none. */
static inline u8 iw_mpa_config_narrow(const s8 *device, const u8 *net)
{
	s8 value = READ_ONCE(*device);

	return value == IW_MPA_DEFAULT ? READ_ONCE(*net) : value;
}

extern struct pernet_operations iw_mpa_config_net_ops;

const struct iw_mpa_config *iw_mpa_config(struct net *net);
bool iw_mpa_config_peer_to_peer(const struct iw_mpa_config *config,
				const struct iw_mpa_device_config *device,
				u16 local, u16 remote, bool *fall_back);
int iw_mpa_config_show(struct iw_mpa_device_config *device, const char *name,
		       char *buf);
int iw_mpa_config_store(struct iw_mpa_device_config *device, const char *name,
			const char *buf);

#endif /* _IW_MPA_CONFIG_H */
