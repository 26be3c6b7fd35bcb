// SPDX-License-Identifier: GPL-2.0
/*
 * Fakes of rdma_cm's ids (struct rdma_cm_id). The member context of iw_cm's cm_id points to one,
 * and iw_mpa reads the ULP's network namespace from it. The patches in scripts/test/series add the
 * namespace to iw_cm's cm_id, where iw_mpa_fake_owner.c sets it.
 */

#include "iw_mpa_fake_ulp.h"
#include "iw_mpa_fakes.h"

#include <linux/slab.h>
#include <rdma/rdma_cm.h>

/*
 * Make a struct rdma_cm_id the context of @fid->id, and copy the device and the addresses of
 * @fid->id, which the caller has set, into it. Return the struct rdma_cm_id, so that a test can
 * change what rdma_cm would have set.
 */
struct rdma_cm_id *fake_own(struct fake_id *fid)
{
	struct kunit *test = fid->f->test;
	struct rdma_cm_id *owner = kunit_kzalloc(test, sizeof(*owner), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, owner);
	owner->device = fid->id.device;
	owner->route.addr.src_addr = fid->listener ? fid->id.m_local_addr : fid->id.local_addr;
	owner->route.addr.dst_addr = fid->listener ? fid->id.m_remote_addr : fid->id.remote_addr;
	owner->route.addr.dev_addr.net = &init_net;
	fid->id.context = owner;
	return owner;
}

/* Make iw_mpa find the ULP of @fid in another network namespace than the device's. */
void fake_live_elsewhere(struct fake_id *fid)
{
	fake_own(fid)->route.addr.dev_addr.net = fakes_elsewhere(fid->f);
}

/*
 * Make iw_mpa find the ULP of @fid in the device's network namespace. There is nothing to do:
 * iw_mpa assumes that namespace if the context of the cm_id is no struct rdma_cm_id.
 */
void fake_live_here(struct fake_id *fid)
{
}
