// SPDX-License-Identifier: GPL-2.0
/* KUnit's fake rdma_cm: with the patches a cm_id has a field for the ULP's network namespace. */

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
