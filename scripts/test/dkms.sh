#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A test of dkms.conf, on kernels whose headers are there. dkms adds, builds, installs and removes the modules, by the
# commands of iw_mpa_admin.rst. Two guests that boot the kernel run rping over the installed modules: srnic, and
# siw_mpa, which is built if an administrator asks for it. A driver whose sources are not in this tree, made by the
# package iw-mpa-dev, is built against the installed iw_mpa, connects, and is built again when iw_mpa is upgraded.
#
#   scripts/test/dkms.sh [KERNEL...]        default: 6.1, and 6.12 if its headers are there
#
# dkms uses its usual folders, but not the host's: all of this runs in a mount namespace in which /usr/src, /etc/dkms,
# /lib/modules and /var/lib/dkms are covered by throw-away layers. The kernel's own modules are those of the image that
# the guests boot.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"
# shellcheck source=scripts/lib/guest/guest.sh
. "$TOP/scripts/lib/guest/guest.sh"
# shellcheck source=scripts/e2e/lib.sh
. "$TOP/scripts/e2e/lib.sh"

WORK=$CACHE/dkms
KIT=nvme	# what commands inside a guest know of
VERSION=$(our_version)
NAME=iw_mpa/$VERSION

# cover FOLDER LOWER...: writes go nowhere
cover() {
	local folder=$1 dir=$WORK/layers$1

	shift
	mkdir -p "$dir"/{upper,work}
	mount -t overlay -o "lowerdir=$(IFS=:; echo "$*"),upperdir=$dir/upper,workdir=$dir/work" \
		dkms "$folder"
}

cover_folders() {
	local image

	image=$("$TOP/scripts/lib/guest/image.sh")
	mkdir -p "$WORK"
	mount -t tmpfs -o mode=755 dkms "$WORK"
	mkdir "$WORK/var"
	cover /usr/src /usr/src
	cover /etc/dkms /etc/dkms
	cover /lib/modules "$image/lib/modules" /lib/modules
	mount --bind "$WORK/var" /var/lib/dkms
	# All that dkms takes from there in spite of --kernelsourcedir is what signs modules.
	! unpacked || { mkdir "/lib/modules/$KREL/build" &&
		ln -s "$KDIR/scripts" "/lib/modules/$KREL/build"; }
}

uncover_folders() { umount /usr/src /etc/dkms /lib/modules /var/lib/dkms "$WORK"; }

# Run dkms with the environment of an administrator, without the variables of this tree's scripts, but with the headers
# that are only in $CACHE.
run_dkms() {
	local -a environment=(env -u IW_MPA_CACHE -u TOP -u KERNEL -u KREL) kernel=()

	if unpacked; then
		environment+=("IW_MPA_CACHE=$CACHE")
		kernel=(--kernelsourcedir "$KDIR")
	fi
	"${environment[@]}" dkms "$@" "${kernel[@]}"
}

installed() {
	find "/lib/modules/$KREL/updates/dkms" -name '*.ko*' -printf '%f\n' |
		sed 's/\.ko.*//' | sort
}

# expect_installed MODULE...: these and no others, and dkms and depmod know
expect_installed() {
	local have module

	have=$(installed | paste -sd ' ')
	[[ $have == "$*" ]] ||
		fail "not $*, but installed: $have" || return 1
	expect_text "$(dkms status "$NAME" -k "$KREL")" \
		"^$NAME, ${KREL//+/\\+}, x86_64: installed" || return 1
	for module in "$@"; do
		expect_text "$(modinfo -k "$KREL" -n "$module")" "/updates/dkms/$module\.ko" || return 1
	done
}

# --- the tests ---------------------------------------------------------------------------------

test_add() {
	run_dkms add "$TOP" &&
		expect_text "$(dkms status)" "^$NAME: added"
}

# with_package_version VERSION COMMAND...: what dpkg-query says of linux-source; empty: nothing.
with_package_version() (
	mkdir -p "$WORK/bin"
	cat >"$WORK/bin/dpkg-query" <<-END
	#!/bin/sh
	case "\$*" in
	*linux-source-*) ${1:+echo "$1"; exit 0;} exit 1 ;;
	esac
	exec $(command -v dpkg-query) "\$@"
	END
	chmod +x "$WORK/bin/dpkg-query"
	PATH=$WORK/bin:$PATH
	shift
	"$@"
)

test_install() {
	install_expecting iw_mpa srnic
}

# install_expecting MODULE...
install_expecting() {
	local output

	output=$(run_dkms install "$NAME" -k "$KREL") || { echo "$output"; return 1; }
	echo "$output"
	[[ $output != *'LEFT OUT'* ]] || return 1
	expect_installed "$@"
}

# skips MODULE/VERSION KERNEL [SED]: dkms does not build for that kernel, whose configuration is ours after SED, and
# ends by 77, which packages take for no fault.
skips() {
	local status=0

	mkdir -p "/lib/modules/$2/build"
	sed "${3:-}" "$KDIR/.config" >"/lib/modules/$2/build/.config"
	env -u IW_MPA_CACHE -u TOP -u KERNEL -u KREL dkms build "$1" -k "$2" || status=$?
	rm -r "/lib/modules/$2"
	[[ $status -eq 77 ]] || fail "$1 for $2: status $status"
}

test_skipped() {
	skips "$NAME" 5.10.0-1-amd64 && skips "$NAME" 6.18.0-plain /^CONFIG_INFINIBAND=/d &&
		skips "$NAME" 6.13.0-plain /^CONFIG_LIBCRC32C=/d
}

# All of it without the package; of the message alone, also with another version of it.
test_no_source() {
	local output want

	want=$(kernel_version)
	touch /etc/dkms/iw_mpa-siw
	run_dkms unbuild "$NAME" -k "$KREL" || return 1
	output=$(with_package_version '' run_dkms install "$NAME" -k "$KREL") || return 1
	echo "$output"
	expect_text "$output" "siw_mpa is LEFT OUT for $KREL" &&
		expect_text "$output" "apt-get install $KSOURCE=$want$" &&
		expect_text "$(</var/lib/dkms/iw_mpa/"$VERSION/$KREL"/x86_64/log/make.log)" 'LEFT OUT' &&
		expect_installed iw_mpa srnic
}

test_other_source() {
	local output want

	want=$(kernel_version)
	cp -r "$TOP/scripts" "$WORK/var/"
	output=$(with_package_version 6.1.1-1 env -u IW_MPA_CACHE \
		"$WORK/var/scripts/lib/dkms-siw.sh" "$KREL" "$VERSION")
	echo "$output"
	rm -r "$WORK/var"/{scripts,make.log}
	expect_text "$output" "LEFT OUT for $KREL" &&
		expect_text "$output" "$KSOURCE is 6.1.1-1, the headers of $KREL are $want" &&
		expect_text "$output" "apt-get install $KSOURCE=$want"
}

# As the message says
test_with_siw() {
	touch /etc/dkms/iw_mpa-siw
	run_dkms unbuild "$NAME" -k "$KREL" && install_expecting iw_mpa siw_mpa srnic
}

test_modinfo() {
	local module field

	for module in iw_mpa srnic siw_mpa; do
		for field in description author license srcversion depends; do
			field "$module" "$field" . || return 1
		done
		field "$module" version "^$VERSION$" || return 1
		field "$module" vermagic "^${KREL//+/\\+} " || return 1
		field "$module" signer '^DKMS module signing key$' || return 1
	done
	field srnic depends '\biw_mpa\b' &&
		field siw_mpa depends '\biw_mpa\b'
}

# field MODULE NAME REGEX
field() {
	local value

	value=$(modinfo -k "$KREL" -F "$2" "$1")
	echo "$1 $2: $value"
	grep -Eq "$3" <<<"$value" || fail "$1: $2 is not like $3"
}

# As the author of a driver has it, who has the packages and not this tree
test_driver() {
	get_dev "$("$TOP/scripts/lib/deb.sh")"
	"$WORK/dev/usr/bin/iw-mpa-new-driver" acme "$WORK/acme" && run_dkms add "$WORK/acme" &&
		skips acme/0.1 5.10.0-1-amd64 && skips acme/0.1 6.18.0-plain /^CONFIG_INFINIBAND=/d &&
		run_dkms install acme/0.1 -k "$KREL" || return
	field acme depends '\biw_mpa\b' && field iw_mpa iw_mpa_api '^[0-9]+$'
}

# get_dev PACKAGE: of iw-mpa-dkms; the other one is beside it
get_dev() {
	rm -rf "${WORK:?}/dev"
	dpkg-deb -x "${1/iw-mpa-dkms_/iw-mpa-dev_}" "$WORK/dev"
}

NEXT=99

# Another version of iw_mpa takes the place of this one, as dpkg has it: iw-mpa-dev is configured last.
test_upgrade() {
	local next built=/var/lib/dkms/acme/0.1/$KREL/x86_64/module

	next=$("$TOP/scripts/lib/deb.sh" "$NEXT") || return
	touch "$WORK/before"
	dpkg-deb -x "$next" "$WORK/next" && cp -r "$WORK/next/usr/src/iw_mpa-$NEXT" /usr/src/ || return
	run_dkms remove "$NAME" --all && run_dkms add "iw_mpa/$NEXT" && run_dkms install "iw_mpa/$NEXT" -k "$KREL" || return
	get_dev "$next"
	[[ -z $(find "$built" -newer "$WORK/before") ]] || fail 'it was built again before' || return
	dpkg-deb --ctrl-tarfile "${next/iw-mpa-dkms_/iw-mpa-dev_}" | tar -xO ./postinst | sh -s configure || return
	[[ -n $(find "$built" -name 'acme.ko*' -newer "$WORK/before") ]] || fail 'it was not built again' || return
	[[ -n $(find "/lib/modules/$KREL/updates/dkms" -name 'acme.ko*' -newer "$WORK/before") ]] ||
		fail 'it was not installed again' || return
	run_dkms remove acme/0.1 --all && run_dkms remove "iw_mpa/$NEXT" --all || return
	rm -r "/usr/src/iw_mpa-$NEXT" /usr/src/acme-0.1
	run_dkms add "$TOP" && run_dkms install "$NAME" -k "$KREL"
}

test_driver_goes() { run_dkms remove acme/0.1 --all && rm -r /usr/src/acme-0.1; }

# Host A loads the driver by its name; on host B the kernel loads it by the type of the link, as the guide advises.
test_rping() (
	set -e
	PORT=7300
	set_addresses 4
	for guest in A B; do
		guest_run "$guest" "mount --bind /host/lib/modules /lib/modules &&
			echo blacklist siw >/etc/modprobe.d/siw_mpa.conf"
	done
	rping_over srnic srnic
	rping_over siw_mpa siw
	nvme_over_acme
)

# The driver of the other source has no verbs for applications.
nvme_over_acme() {
	guest_run A "modprobe acme && rdma link add siw0 type acme netdev eth0 && poll 10 rdma_is_up"
	guest_run B "modprobe srnic && rdma link add siw0 type srnic netdev eth0 && poll 10 rdma_is_up"
	inside B "nvme_serve 4 10.0.0.2 4420 0"
	inside A "nvme_attach 10.0.0.2 4420" 120
	inside A "nvme_detach"
	inside B "nvme_serve_end"
	guest_run A "rdma link delete siw0 && modprobe -r acme && ! grep iw_mpa /proc/modules"
	guest_run B "poll 10 only_pool && rdma link delete siw0 && modprobe -r srnic"
}

# rping_over DRIVER TYPE-OF-LINK
rping_over() {
	local guest module

	guest_run A "modprobe $1 && rdma_add"
	guest_run B "poll 10 has_carrier && rdma link add siw0 type $2 netdev eth0 && poll 10 rdma_is_up"
	for guest in A B; do
		[[ $(guest_run "$guest" driver_get) == "$1" ]] || fail "$guest: another driver"
		for module in iw_mpa "$1"; do
			[[ $(guest_run "$guest" "cat /sys/module/$module/srcversion") == \
				"$(modinfo -k "$KREL" -F srcversion "$module")" ]] ||
				fail "$guest: $module is not the one that dkms installed"
		done
	done
	rping_once 10
	for guest in A B; do
		guest_run "$guest" "rdma link delete siw0 && modprobe -r $1 && ! grep iw_mpa /proc/modules"
	done
}

# errexit has to be on in it: no "if", no "||"
rping_in_guests() {
	local status

	IW_MPA_BUILD=/lib/modules/$KREL/updates guest_boot A B
	set +e
	test_rping >"$CACHE/dkms.log" 2>&1
	status=$?
	set -e
	guest_down || status=1
	guest_kill_all
	if [[ $status -eq 0 ]]; then
		tap ok "$1"
		guest_forget_logs
	else
		tap 'not ok' "$1"
		sed 's/^/# /' "$CACHE/dkms.log"
		echo "# logs: $GUEST_RUN"
	fi
}

# What depmod writes anew has to be without our names; dkms keeps its key.
list_files() {
	find "/lib/modules/$KREL/" /var/lib/dkms ! -name 'modules.*' ! -name 'mok.*' | sort
}

test_remove() {
	local left

	run_dkms remove "$NAME" --all || return 1
	list_files | diff "$WORK/files" - || fail 'dkms remove left something' || return 1
	! grep -lE 'iw_mpa|srnic' "/lib/modules/$KREL"/modules.* || fail 'depmod still has it' || return 1
	left=$(dkms status) || fail 'dkms status fails' || return 1
	[[ -z $left ]] || fail "$left"
}

test_kernel() {
	need_kernel "$1"
	say "dkms for $KREL"
	cover_folders
	list_files >"$WORK/files"
	tap_run "$1: dkms add" test_add
	tap_run "$1: dkms skips kernels that are too old, or without the RDMA core" test_skipped
	tap_run "$1: dkms install: iw_mpa and srnic" test_install
	if ! unpacked; then
		tap_run "$1: siw_mpa, too, but no linux-source: what to install" test_no_source
		tap_run "$1: linux-source of another version: what to install" test_other_source
	fi
	tap_run "$1: dkms unbuild and install, as that said: siw_mpa, too" test_with_siw
	tap_run "$1: modinfo is complete, the modules are signed" test_modinfo
	tap_run "$1: a driver of another source, by iw-mpa-new-driver: dkms add and install" test_driver
	say "booting two guests with $KREL"
	rping_in_guests "$1: rping over the installed modules, and NVMe over the other source's"
	if unpacked; then
		tap_run "$1: dkms removes the other source's driver" test_driver_goes
	else
		tap_run "$1: an upgrade of iw_mpa builds the other source's driver again" test_upgrade
	fi
	tap_run "$1: dkms remove leaves nothing" test_remove
	uncover_folders
}

main() {
	local kernel

	if [[ ${1:-} != --inside ]]; then
		need_root 'this covers folders of the host in a mount namespace'
		# shellcheck disable=SC2046 # a list of words is what it is
		"$TOP/scripts/lib/setup.sh" build guest dkms deb $(stock_kernels "$@")
		unshare -m true || die 'no permission to make a mount namespace'
		[[ $# -gt 0 || -z $(find_krel 6.12) ]] || set -- 6.1 6.12
		[[ $# -gt 0 ]] || set -- 6.1
		exec unshare -m "$0" --inside "$@"
	fi
	shift
	for kernel in "$@"; do
		test_kernel "$kernel"
	done
	tap_end dkms
}

main "$@"
