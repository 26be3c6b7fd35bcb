# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="SMB Direct: written, read back and compared, also when the connection was lost"
WIRES=clean
KIT=smb
FAMILIES="4"

# Stock kernels are built without SMB over RDMA; kernels with detectors have it.
applies() { both_ours && ! stock_kernel; }

# compare NAME: the client's file, the server's file, and what the client reads from the server are the same
compare() {
	local want got

	want=$(on "$CLIENT" "sha256sum </run/$1")
	got=$(inside "$SERVER" "sha256sum <\$SMB_SHARE/$1")
	[[ $got == "$want" ]] || fail "$1 is not what the client wrote"
	got=$(inside "$CLIENT" "sha256sum <\$SMB_MOUNT/$1")
	[[ $got == "$want" ]] || fail "$1 is not what the server has"
}

check() {
	local before

	inside "$SERVER" smb_serve
	on "$CLIENT" "head -c 4M /dev/urandom >/run/one; head -c 4M /dev/urandom >/run/two"
	inside "$CLIENT" "smb_mount $SERVER_IP" 120
	inside "$CLIENT" "cp /run/one \$SMB_MOUNT; sync \$SMB_MOUNT/one" 120
	compare one

	before=$(established "$CLIENT")
	inside "$CLIENT" "tcp_cut \$SMB_PORT; poll 60 smb_is_back $before" 90
	inside "$CLIENT" "cp /run/two \$SMB_MOUNT; sync \$SMB_MOUNT/two" 120
	compare two

	inside "$CLIENT" "umount \$SMB_MOUNT; rm /run/one /run/two; poll 20 rdma_is_idle"
	inside "$SERVER" "smb_serve_end; poll 20 rdma_is_idle"
	echo "result: 8 MB"
}
