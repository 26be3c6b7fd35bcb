/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _COMPAT_LINUX_SOCKET_H
#define _COMPAT_LINUX_SOCKET_H

#include_next <linux/socket.h>

/* The newest kernels have this type for addresses of any length. */
#ifndef COMPAT_HAS_SOCKADDR_UNSIZED
#define sockaddr_unsized sockaddr
#endif

#endif
