# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions for SMB Direct in a guest, with the kernel's server, ksmbd, and its client, cifs; commands
# source this file.

SMB_SHARE=/run/share
SMB_MOUNT=/run/smb
SMB_DIR=/run/ksmbd
SMB_ACCOUNT='guide secret'	# name and password
SMB_PORT=5445			# SMB Direct on iWARP; ksmbd has no option for another port

# smb_serve: start the server; the share is in memory.
smb_serve() {
	local account

	read -ra account <<<"$SMB_ACCOUNT"
	at_clean_up "ksmbd.control -s; bg_stop ksmbd; umount $SMB_SHARE"
	mkdir -p "$SMB_SHARE" "$SMB_DIR" /etc/ksmbd
	mount -t tmpfs share "$SMB_SHARE"
	printf '%s\n' '[global]' 'server string = guest' '[share]' "path = $SMB_SHARE" \
		'read only = no' 'force user = root' 'force group = root' >"$SMB_DIR/conf"
	: >"$SMB_DIR/accounts"
	ksmbd.adduser -C "$SMB_DIR/conf" -P "$SMB_DIR/accounts" -a -p "${account[1]}" "${account[0]}"
	bg_start ksmbd "ksmbd.mountd -n -C $SMB_DIR/conf -P $SMB_DIR/accounts"
	poll 20 rdma_listens "$SMB_PORT"
}

smb_serve_end() {
	ksmbd.control -s
	poll 20 bg_ended ksmbd
	umount "$SMB_SHARE"
}

# smb_mount ADDRESS: mount the share. With the option rdma the client does not fall back to TCP. mount(8) does not pass
# user= on, so this function uses username=. hard: requests that a lost connection interrupts are repeated.
smb_mount() {
	local account

	read -ra account <<<"$SMB_ACCOUNT"
	at_clean_up "umount -f $SMB_MOUNT"
	mkdir -p "$SMB_MOUNT"
	mount -i -t cifs "//$1/share" "$SMB_MOUNT" \
		-o "rdma,vers=3.1.1,ip=$1,username=${account[0]},password=${account[1]},cache=none,hard"
	grep " $SMB_MOUNT cifs .*rdma" /proc/mounts
}

# smb_is_back BEFORE: more than BEFORE connections were established, so the client has connected again.
smb_is_back() { [[ $(sed -n 's/^established //p' /sys/kernel/debug/iw_mpa/stats) -gt $1 ]]; }
