# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="rdma link delete under a living connection, on either side; the link comes back"

applies() { is_ours "$CLIENT_DRIVER" || is_ours "$SERVER_DRIVER"; }

# Wait until the first block of data has been verified.
is_moving() { on "$CLIENT" "poll 20 grep -q 'rdma-ping-0:' /run/bg/client/output"; }

# A command that succeeds if the client has ended, or has got an event. After the event one rping in twenty does not
# end: it waits in user space for a receive that it posted, to a queue in mapped memory, after the driver had flushed
# the queue.
noticed='bg_ended client || grep -Eq "DISCONNECT EVENT|device removal" /run/bg/client/output'

# delete_on GUEST: remove the link there while rping uses it. rping may fail in any way; the kernel must not, and must
# free every object. siw's code cannot take a device from a program: with siw and siw_mpa "rdma link delete" ends when
# the last program does.
delete_on() {
	local host=$1

	serve "rping -s -P -a $SERVER_IP -p $PORT"
	guest_bg "$CLIENT" client "rping -c -a $SERVER_IP -p $PORT -C 1000000 -V -v"
	is_moving
	guest_bg "$host" delete "rdma link delete siw0"
	# If ib_uverbs and rdma_cm are built in, as in kernels with detectors, the device is removed
	# first from ib_uverbs, which with siw_mpa waits until programs close the device, and only
	# then from rdma_cm, which sends programs a removal event.
	kernel_debugs "$KERNEL" || on "$CLIENT" "noticed() { $noticed; }; poll 20 noticed"
	guest_stop "$CLIENT" client | tail -n 3
	guest_stop "$SERVER" server
	loudly guest_wait "$host" delete 60
	on "$host" rdma_add
	rping_once 10
}

check() {
	! is_ours "$CLIENT_DRIVER" || delete_on "$CLIENT"
	! is_ours "$SERVER_DRIVER" || delete_on "$SERVER"
}
