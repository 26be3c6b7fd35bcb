// SPDX-License-Identifier: GPL-2.0
/* The trace events are made here. */

#define CREATE_TRACE_POINTS
#include "trace.h"
