# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="iw-mpa link: what the kernel uses stays without --force, and a target at all addresses listens again"
WIRES=clean
FAMILIES="4"
KIT=nvme
LONG=yes

applies() { [[ $CLIENT_DRIVER/$SERVER_DRIVER == srnic/srnic ]] && stock_kernel; }

link() { on "$1" "/host$TOP/scripts/iw-mpa link $2 2>&1" 60; }

# libexec GUEST ARGUMENTS: run the program that the package's units, and its scripts, call
libexec() { on "$1" "/usr/libexec/iw-mpa/link $2 2>&1" 60; }

# refuses GUEST ARGUMENTS USER: the command is refused, reports USER as user of the link, and the link stays
refuses() {
	local output

	! output=$(guest_run "$1" "/host$TOP/scripts/iw-mpa link $2 2>&1") || fail "link $2 is not refused" || return 1
	expect_text "$output" \
		"^iw-mpa: siw0 stays, for the kernel uses it: $3: end that, or: iw-mpa link down --force siw0$"
	on "$1" '[[ -e /sys/class/infiniband/siw0 ]]'
}

# "link up --netdev", which the unit iw-mpa-netdev@ calls, makes a link for an interface, unless /etc/iw-mpa/links has a
# line for the interface.
of_an_interface() {
	on "$CLIENT" \
		'ip link add plain0 type veth peer name plain1; at_clean_up "ip link delete plain0 2>/dev/null || :"'
	libexec "$CLIENT" 'up --netdev plain0'
	on "$CLIENT" "rdma link show srnic_plain0/1 | grep 'netdev plain0'"
	# When an interface gets another name, systemd stops the unit, which calls "link down --netdev". The link must
	# stay.
	on "$CLIENT" 'ip link set plain0 name plain9'
	expect_text "$(libexec "$CLIENT" 'down --netdev plain0')" \
		'^iw-mpa: srnic_plain0 stays, .* plain0 is plain9 by now$'
	on "$CLIENT" 'ip link set plain9 name plain0 && [[ -e /sys/class/infiniband/srnic_plain0 ]]'
	libexec "$CLIENT" 'down --netdev plain0'
	on "$CLIENT" 'ip link delete plain0; [[ ! -e /sys/class/infiniband/srnic_plain0 ]]'
	expect_text "$(libexec "$CLIENT" 'up --netdev eth0')" \
		'^iw-mpa: eth0 has a line in /etc/iw-mpa/links, which holds$'
	on "$CLIENT" '[[ ! -e /sys/class/infiniband/srnic_eth0 ]]'
}

# "link down NAME" removes only links of drivers on iw_mpa, or links in /etc/iw-mpa/links.
of_no_line() {
	local output

	! output=$(guest_run "$CLIENT" "/host$TOP/scripts/iw-mpa link down siw9 2>&1") || fail "there is no siw9" ||
		return 1
	expect_text "$output" '^iw-mpa: /etc/iw-mpa/links has no link siw9, and iw_mpa has none of that name$'
}

# In the mode "exclusive" a link of another network namespace is hidden, and loaded modules stay because of it. The
# mode can be set only while there is no other namespace. modinfo is a fake, by which the modules on the disk are newer.
of_another_namespace() {
	local output

	on "$CLIENT" "rdma system set netns exclusive && ip netns add box && mkdir /run/fake &&
		ip link add plain0 type veth peer name plain1 && ip link set plain0 netns box &&
		ip netns exec box rdma link add srnic_box type srnic netdev plain0 && rdma dev set srnic_box netns box &&
		at_clean_up 'ip netns delete box; poll 20 rdma system set netns shared; rm -r /run/fake' &&
		printf '%s\n' '#!/bin/sh' 'echo newer' >/run/fake/modinfo && chmod +x /run/fake/modinfo &&
		[[ ! -e /sys/class/infiniband/srnic_box ]]"
	for output in restart remove; do
		! output=$(guest_run "$CLIENT" "PATH=/run/fake:\$PATH /usr/libexec/iw-mpa/link $output 2>&1") ||
			fail "it is not refused" || return 1
		expect_text "$output" '^iw-mpa: .* another network namespace has srnic_box[:,]'
		on "$CLIENT" '[[ -e /sys/class/infiniband/siw0 ]]; ip netns exec box rdma link show srnic_box/1'
	done
	on "$CLIENT" 'ip netns delete box; poll 20 eval "! ip link show plain1" && rdma system set netns shared'
}

# An NVMe target that listens at the address of a link stops listening when the link is removed. It listens again only
# after commands that the administrator's guide has.
port_at_an_address() {
	local links='/sys/kernel/config/nvmet/ports/1/subsystems'

	inside "$SERVER" "nvme_serve 4 $SERVER_IP $PORT 0"
	link "$SERVER" 'down siw0'
	link "$SERVER" 'up siw0'
	on "$SERVER" "poll 20 rdma_is_up && sleep 3 && ! tcp_listens $PORT"
	on "$SERVER" "name=\$(ls $links); rm $links/\$name; ln -s /sys/kernel/config/nvmet/subsystems/\$name $links/
		poll 20 tcp_listens $PORT"
	inside "$SERVER" 'nvme_serve_end'
}

# shellcheck disable=SC2016 # expands on the guest
check() {
	local want name output

	for name in "$CLIENT" "$SERVER"; do
		on "$name" "mkdir -p /usr/libexec/iw-mpa && ln -s /host$TOP/scripts/deb/link /usr/libexec/iw-mpa/link
			at_clean_up 'rm -r /usr/libexec/iw-mpa'"
		on "$name" 'mkdir -p /etc/iw-mpa && echo siw0 eth0 >/etc/iw-mpa/links
			at_clean_up "rm -f /etc/iw-mpa/links"'
	done
	of_an_interface
	of_no_line
	guest_serve "$SERVER" server $((PORT + 1000)) "rping -s -P -a $SERVER_IP -p $((PORT + 1000))"
	guest_bg "$CLIENT" client "rping -c -a $SERVER_IP -p $((PORT + 1000)) -C 10000000"
	on "$CLIENT" 'program_is_connected() {
			rdma resource show cm_id link siw0/1 | grep -q "state CONNECT .* comm rping"
		}
		poll 20 program_is_connected && pkill -STOP rping'
	inside "$SERVER" "nvme_serve 4 0.0.0.0 $PORT 0"
	inside "$CLIENT" "nvme_attach $SERVER_IP $PORT"
	disk_write_and_compare 'at first'
	# "link users" lists connections of kernel ULPs, but not that of the program rping.
	expect_text "$(libexec "$CLIENT" users)" "^siw0: nvme_rdma with $SERVER_IP:$PORT$"
	[[ $(libexec "$CLIENT" users | wc -l) -eq 1 ]] || fail 'a program is a user' || return 1
	refuses "$CLIENT" 'down siw0' "nvme_rdma with $SERVER_IP:$PORT"
	refuses "$CLIENT" restart "nvme_rdma with $SERVER_IP:$PORT"
	refuses "$SERVER" 'down siw0' "nvmet_rdma with $CLIENT_IP:.*"
	! output=$(guest_run "$CLIENT" '/usr/libexec/iw-mpa/link remove 2>&1') || fail 'remove is not refused' ||
		return 1
	expect_text "$output" "^siw0: nvme_rdma with $SERVER_IP:$PORT$"
	disk_has "$want" 'after what was refused'
	link "$CLIENT" 'down --force siw0'
	inside "$CLIENT" 'poll 30 nvme_is_gone; [[ ! -e /sys/class/infiniband/siw0 ]]'
	link "$CLIENT" 'up siw0'
	on "$CLIENT" 'poll 20 rdma_is_up'
	link "$SERVER" 'down --force siw0'
	link "$SERVER" 'up siw0'
	on "$SERVER" "poll 20 rdma_is_up && poll 20 tcp_listens $PORT"
	inside "$CLIENT" "nvme_attach $SERVER_IP $PORT"
	disk_has "$want" 'after both links were gone'
	# A disk that reconnects has no connection, and would be gone for good without its link.
	link "$SERVER" 'down --force siw0'
	inside "$CLIENT" 'poll 20 grep -q connecting "$(nvme_controller)/state"'
	refuses "$CLIENT" 'down siw0' "nvme_rdma \(to connect again\) with $SERVER_IP:$PORT"
	link "$SERVER" 'up siw0'
	inside "$CLIENT" 'poll 60 grep -q live "$(nvme_controller)/state"'
	inside "$CLIENT" 'nvme_detach'
	inside "$SERVER" 'nvme_serve_end'
	port_at_an_address
	of_another_namespace
	on "$CLIENT" 'pkill -CONT rping || :'
	guest_stop "$CLIENT" client >/dev/null || :
	guest_stop "$SERVER" server >/dev/null || :
	devices_go
}
