/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IW_MPA_FAKE_ULP_H
#define _IW_MPA_FAKE_ULP_H

struct fake_id;
struct rdma_cm_id;

struct rdma_cm_id *fake_own(struct fake_id *fid);

#endif /* _IW_MPA_FAKE_ULP_H */
