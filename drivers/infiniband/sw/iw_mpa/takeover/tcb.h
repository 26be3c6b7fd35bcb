/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_TCB_C_H
#define _IW_MPA_TCB_C_H

#include <rdma/iw_mpa.h>

struct sock;

u8 iw_mpa_tcb_options(const struct sock *sk);
bool iw_mpa_tcb_is_at_rest(const struct sock *sk);
int iw_mpa_tcb_read(struct sock *sk, struct iw_mpa_tcb *tcb);
void iw_mpa_tcb_free(struct iw_mpa_tcb *tcb);

#endif /* _IW_MPA_TCB_C_H */
