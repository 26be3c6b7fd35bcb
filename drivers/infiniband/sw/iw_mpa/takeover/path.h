/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_PATH_H
#define _IW_MPA_PATH_H

#include <linux/types.h>

struct iw_mpa_path;
struct sock;

void iw_mpa_path_read(struct sock *sk, struct iw_mpa_path *path);
void iw_mpa_path_refresh(struct sock *sk, struct iw_mpa_path *path);
bool iw_mpa_path_differs(const struct iw_mpa_path *a,
			 const struct iw_mpa_path *b);
void iw_mpa_path_put(struct iw_mpa_path *path);

#endif /* _IW_MPA_PATH_H */
