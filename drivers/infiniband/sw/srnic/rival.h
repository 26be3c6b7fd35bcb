/* SPDX-License-Identifier: GPL-2.0 */
/* Modules that must not be loaded beside srnic. */
#ifndef _SRNIC_RIVAL_H
#define _SRNIC_RIVAL_H

int srnic_rival_init(void);
void srnic_rival_exit(void);
int srnic_rival_look(void);

#endif /* _SRNIC_RIVAL_H */
