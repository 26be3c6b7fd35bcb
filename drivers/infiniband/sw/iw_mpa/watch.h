/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_WATCH_H
#define _IW_MPA_WATCH_H

struct iw_mpa_driver_ops;
struct iw_mpa_takeovers;

void iw_mpa_watch_begin(struct iw_mpa_takeovers *all, const struct iw_mpa_driver_ops *drv);
void iw_mpa_watch_end(struct iw_mpa_takeovers *all);

int iw_mpa_watch_init(void);
void iw_mpa_watch_exit(void);

#endif /* _IW_MPA_WATCH_H */
