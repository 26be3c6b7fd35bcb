/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_CONFIG_H
#define _IW_MPA_CONFIG_H

#include <linux/types.h>

struct net;

/**
 * struct iw_mpa_config - an administrator's settings, one set per network
 *	namespace (sysctl net.iw_mpa.*)
 * @connect_timeout_ms: initiator: for TCP to connect
 * @request_timeout_ms: responder: for the MPA Request
 * @verdict_timeout_ms: responder: for the ULP to accept or reject
 * @reply_timeout_ms: initiator: for the MPA Reply
 * @rtr_timeout_ms: responder: for the RTR message
 * @linger_timeout_ms: for the peer to close after a Reject or TERM message; for an orderly end
 *	to move an octet
 * @rtr_repeat_ms: initiator: until an RTR message is repeated for a peer that may have
 *	missed it; 0: never
 * @half_open_max: connections of a device that may wait for the MPA Request, or
 *	for the peer to close after a Reject; then the one that does so longest yields
 * @half_open_listener_max: the same for those of one listener, and how many Requests may wait
 *	for its ULP to have room
 * @crc: ask for CRC (RFC 5044 4.4: on unless an administrator turns it off)
 * @markers: ask for Markers in what comes, if the device can receive them (RFC 5044 4.3)
 * @mpa_rev: revision to offer, 1 or 2
 * @peer_to_peer: initiator: ask for the peer-to-peer model, that is an RTR
 * @peer_to_peer_ports: ports, local or remote, for which the answer is yes
 * @client_server_ports: ports, local or remote, for which it is no
 * @fence: responder without RTR: hold TX back until the first FPDU (RFC 5044 7.1.2);
 *	off lets an application speak first to an initiator that cannot ask for RTR
 * @fence_timeout_ms: how long it is held back at most; 0: as long as it takes, as RFC 5044 asks
 * @v1_fallback: retry with revision 1 if the peer closes on a v2 Request
 * @strict_ird_ord: refuse rather than adjust IRD and ORD
 * @source_port_retry: let the stack choose the source port if that of rdma_cm is
 *	in use by TCP
 * @fast_open: TCP Fast Open: an initiator sends its Request with the SYN, a listener takes it
 * @log: a line in the kernel's log for each startup that fails, within limits
 *
 * Readers take each value with READ_ONCE; a change holds for new connections.
 */
struct iw_mpa_config {
	unsigned int	connect_timeout_ms;
	unsigned int	request_timeout_ms;
	unsigned int	verdict_timeout_ms;
	unsigned int	reply_timeout_ms;
	unsigned int	rtr_timeout_ms;
	unsigned int	linger_timeout_ms;
	unsigned int	rtr_repeat_ms;
	unsigned int	fence_timeout_ms;
	unsigned int	half_open_max;
	unsigned int	half_open_listener_max;
	u8		crc;
	u8		markers;
	u8		mpa_rev;
	u8		peer_to_peer;
	u8		fence;
	u8		v1_fallback;
	u8		strict_ird_ord;
	u8		source_port_retry;
	u8		fast_open;
	u8		log;
	unsigned long	*peer_to_peer_ports;
	unsigned long	*client_server_ports;
};

/**
 * enum iw_mpa_choice - a setting that may be left to a wider one
 * @IW_MPA_CHOICE_DEFAULT: as the network namespace has it
 * @IW_MPA_CHOICE_OFF: off
 * @IW_MPA_CHOICE_ON: on
 */
enum iw_mpa_choice {
	IW_MPA_CHOICE_DEFAULT,
	IW_MPA_CHOICE_OFF,
	IW_MPA_CHOICE_ON,
};

const struct iw_mpa_config *iw_mpa_config(struct net *net);
bool iw_mpa_config_peer_to_peer(const struct iw_mpa_config *config,
				enum iw_mpa_choice device, u16 local_port,
				u16 remote_port);
int iw_mpa_config_init(void);
void iw_mpa_config_exit(void);

#endif /* _IW_MPA_CONFIG_H */
