# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Runs in the guest, for scale.sh: a device with very many connections. By the guest's clock an
# instruction takes a nanosecond.

ENDPOINTS=/sys/kernel/debug/iw_mpa/endpoints
TRACING=/sys/kernel/tracing

crowd_is_up() {
	until grep -q '^memory' /run/bg/crowd/output; do
		[[ -d /proc/$(cat /run/bg/crowd/pid) ]] || { cat /run/bg/crowd/output; return 1; }
		sleep 10
	done
}

now() { date +%s%N; }

# The function tracer times endpoints_show(), which writes a part of the file under one RCU read lock.
crowd_trace_listing() {
	echo endpoints_show >"$TRACING/set_ftrace_filter"
	echo function_graph >"$TRACING/current_tracer"
	cat "$ENDPOINTS" >/dev/null
	echo 0 >"$TRACING/tracing_on"
	awk '/ us / { for (i = 1; i < NF; i++) if ($(i + 1) == "us" && $i + 0 > longest) longest = $i + 0 }
		END { print "longest", int(longest * 1000) }' "$TRACING/trace"
	echo nop >"$TRACING/current_tracer"
	: >"$TRACING/set_ftrace_filter"
	echo 1 >"$TRACING/tracing_on"
}

# Remove the device, and count from trace events on which processor each of its connections has
# ended. The trace buffer is enlarged, since events that do not fit into it would be missing.
crowd_remove() {
	local began

	echo 65536 >"$TRACING/buffer_size_kb"
	echo 1 >"$TRACING/events/iw_mpa/iw_mpa_state/enable"
	began=$(now)
	rdma link delete siw0 || return
	echo "removal $(($(now) - began))"
	echo 0 >"$TRACING/events/iw_mpa/iw_mpa_state/enable"
	sed -n 's/.*\[\(0[0-9]*\)\].*--> DEAD .*/\1/p' "$TRACING/trace" | sort | uniq -c |
		awk '{ print "cpu" $2 + 0, $1 }'
}

crowd_measure() {
	local began

	awk '{ print $1, $2 }' /run/bg/crowd/output | grep -E '^(slab|memory) '
	began=$(now)
	echo "endpoints $(wc -l <"$ENDPOINTS")"
	echo "listing $(($(now) - began))"
	echo 65536 >"$TRACING/buffer_size_kb"
	crowd_trace_listing && crowd_remove
}
