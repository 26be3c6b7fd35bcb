// SPDX-License-Identifier: GPL-2.0
/* This makes the functions that trace.h declares: one for each trace event. */

#define CREATE_TRACE_POINTS
#include "trace.h"
