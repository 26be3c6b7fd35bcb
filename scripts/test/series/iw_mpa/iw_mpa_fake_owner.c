// SPDX-License-Identifier: GPL-2.0
/* The fake rdma_cm: the namespace of a ULP is in its cm_id. */

#include "iw_mpa_fakes.h"

#include <net/net_namespace.h>

void fake_live_here(struct fake_id *fid)
{
	fid->id.net = &init_net;
}

/* Move the ULP to another network namespace than the device's. */
void fake_live_elsewhere(struct fake_id *fid)
{
	fid->id.net = fakes_elsewhere(fid->f);
}
