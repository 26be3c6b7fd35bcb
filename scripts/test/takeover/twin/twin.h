/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TWIN_H
#define _TWIN_H

#include <rdma/iw_mpa.h>

/* twin_hw.c: messages to and from the process that acts as the hardware */
void twin_tell(const char *fmt, ...) __printf(1, 2);
int twin_ask(const char *fmt, ...) __printf(1, 2);
int twin_hw_init(int (*command)(const char *verb, const char *args));
void twin_hw_exit(void);

#endif /* _TWIN_H */
