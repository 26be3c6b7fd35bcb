// SPDX-License-Identifier: GPL-2.0
/*
 * A fake rdma_cm, from which the library reads the network namespace of a ULP: the namespace is in
 * rdma_cm's id, to which the context of a cm_id points. The patch series for the kernel has another
 * file of this name, for an iw_cm whose cm_ids have the namespace.
 */

#include "iw_mpa_fake_owner.h"
#include "iw_mpa_fakes.h"

#include <linux/slab.h>
#include <rdma/rdma_cm.h>

/*
 * Make rdma_cm's id the context of a cm_id whose addresses are set. Return rdma_cm's id, so that a
 * test can change what rdma_cm has decided.
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

/* Move the ULP to another network namespace than the device's. */
void fake_live_elsewhere(struct fake_id *fid)
{
	fake_own(fid)->route.addr.dev_addr.net = fakes_elsewhere(fid->f);
}

/*
 * Nothing to do: the library takes a cm_id without rdma_cm's id for one of the device's namespace.
 */
void fake_live_here(struct fake_id *fid)
{
}
