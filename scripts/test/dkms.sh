#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A test of dkms.conf, on kernels whose headers are there. dkms adds, builds, installs and removes the modules, by the
# commands of iw_mpa_admin.rst. Two guests that boot the kernel run rping over the installed modules: srnic, and
# siw_mpa, which is built if an administrator asks for it.
#
# With two kernels: a driver whose sources are not in this tree. apt installs iw-mpa-dkms and iw-mpa-dev on a copy of
# this host, which runs the first kernel, and in which this tree is hidden; iw-mpa-new-driver makes the driver, and DKMS
# installs it, also for the second kernel when its headers are installed. iw_mpa is upgraded to another IW_MPA_API, for
# which the driver first does not compile, then does. Guests of both kernels refuse the old modules, and connect over
# the new ones.
#
#   scripts/test/dkms.sh [KERNEL...]        default: 6.1, and 6.12 if its headers are there
#
# dkms uses its usual folders, but not the host's: all of this runs in a mount namespace in which throw-away layers
# cover /usr/src, /etc/dkms, /lib/modules and /var/lib/dkms, or, for the packages, all of the host's root. The kernels'
# own modules are those of the images that the guests boot.

# shellcheck source=scripts/lib/lib.sh
. "$(dirname "$0")/../lib/lib.sh"
# shellcheck source=scripts/lib/tap.sh
. "$TOP/scripts/lib/tap.sh"
# shellcheck source=scripts/lib/guest/guest.sh
. "$TOP/scripts/lib/guest/guest.sh"
# shellcheck source=scripts/e2e/lib.sh
. "$TOP/scripts/e2e/lib.sh"

WORK=$CACHE/dkms
KIT=nvme	# the kit for inside() of e2e/lib.sh
VERSION=$(our_version)
NAME=iw_mpa/$VERSION

# cover FOLDER LOWER...: mount a layer over FOLDER that takes all writes, and is thrown away at the end
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
	# --kernelsourcedir does not apply to the programs that sign modules, which dkms takes from this folder.
	! unpacked || { mkdir "/lib/modules/$KREL/build" &&
		ln -s "$KDIR/scripts" "/lib/modules/$KREL/build"; }
}

uncover_folders() { umount /usr/src /etc/dkms /lib/modules /var/lib/dkms "$WORK"; }

# Run dkms with the environment of an administrator, without the variables of this tree's scripts.
# If the kernel's headers are not installed, but only unpacked in $CACHE, name their folder to dkms.
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

# expect_installed MODULE...: check that exactly these modules are installed, also according to dkms and depmod
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

# with_package_version VERSION COMMAND...: run COMMAND with a dpkg-query that reports this version of linux-source;
# empty: linux-source is not installed
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

# install_expecting MODULE...: install by dkms, and check that exactly these modules are installed
install_expecting() {
	local output

	output=$(run_dkms install "$NAME" -k "$KREL") || { echo "$output"; return 1; }
	echo "$output"
	[[ $output != *'LEFT OUT'* ]] || return 1
	expect_installed "$@"
}

# skips MODULE/VERSION KERNEL [SED]: give KERNEL a folder of headers that only has the configuration
# of the test's kernel, edited by SED. dkms must not build MODULE for KERNEL, but exit with 77,
# which packages do not count as a failure.
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

# siw_mpa is asked for, but linux-source is not installed: dkms leaves siw_mpa out, and says what to install.
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

# If linux-source is installed, dkms builds siw_mpa, by the commands in the message that
# test_no_source() checks.
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

# field MODULE NAME REGEX: check that this field of modinfo matches REGEX
field() {
	local value

	value=$(modinfo -k "$KREL" -F "$2" "$1")
	echo "$1 $2: $value"
	grep -Eq "$3" <<<"$value" || fail "$1: $2 is not like $3"
}

# Host A loads the driver by name; on host B the kernel loads it by the type of the link, as the guide advises.
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
)

# rping_over DRIVER TYPE-OF-LINK: load the driver on both hosts, and run rping over it
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

# in_guests UPDATES NAME COMMAND...: boot two guests with the modules in the folder UPDATES, and run
# COMMAND as the test NAME. COMMAND is not called behind "if" or before "||", which would switch
# errexit off in it.
in_guests() {
	local updates=$1 name=$2 status

	shift 2
	IW_MPA_BUILD=$updates guest_boot A B
	set +e
	"$@" >"$CACHE/dkms.log" 2>&1
	status=$?
	set -e
	guest_down || status=1
	guest_kill_all
	if [[ $status -eq 0 ]]; then
		tap ok "$name"
		guest_forget_logs
	else
		tap 'not ok' "$name"
		sed 's/^/# /' "$CACHE/dkms.log"
		echo "# logs: $GUEST_RUN"
	fi
}

# List the files that "dkms remove" has to leave as they were. Left out are modules.*, which depmod writes, and dkms's
# key, which stays.
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
	say "booting two guests with $KREL"
	in_guests "/lib/modules/$KREL/updates" "$1: rping over the installed modules" test_rping
	tap_run "$1: dkms remove leaves nothing" test_remove
	uncover_folders
}

# --- drivers of other sources ------------------------------------------------------------------

HOST=$WORK/root
NEXT=99
FIRST=	# release of the kernel that uname prints in the copy of the host
SECOND=	# release of another kernel, whose headers are installed later

# make_host FIRST SECOND: mount a copy of this host, without anything that DKMS has built on the
# host, but with the modules of the kernels FIRST and SECOND. Of these two, the copy has only the
# headers of FIRST.
make_host() {
	local lower

	lower=$("$TOP/scripts/lib/guest/image.sh" "$1")/lib/modules
	lower+=:$("$TOP/scripts/lib/guest/image.sh" "$2")/lib/modules
	mkdir -p "$WORK"
	mount -t tmpfs -o mode=755 dkms "$WORK"
	mkdir "$WORK"/{upper,work,root,modules,modules-work}
	mount -t overlay -o "lowerdir=/,upperdir=$WORK/upper,workdir=$WORK/work" dkms "$HOST"
	mount -t overlay -o "lowerdir=$lower:/lib/modules,upperdir=$WORK/modules,workdir=$WORK/modules-work" \
		dkms "$HOST/lib/modules"
	mount -t proc proc "$HOST/proc"
	mount --rbind /dev "$HOST/dev"
	# The author of a driver has not this tree. A cache within it has to be seen.
	[[ $CACHE/ == "$TOP"/* ]] || { mkdir -p "$HOST$TOP" && mount -t tmpfs hidden "$HOST$TOP"; }
	mkdir -p "$HOST$CACHE/debian"
	mount --bind "$CACHE/debian" "$HOST$CACHE/debian"
	rm -rf "$HOST"/var/lib/dkms/* "$HOST"/etc/dkms/iw_mpa* "$HOST"/usr/src/iw_mpa-* "$HOST"/lib/modules/*/updates \
		"$HOST"/boot/config-*
	headers_come "$1"
	FIRST=$KREL
	need_kernel "$2"
	SECOND=$KREL
	rm -f "$HOST/lib/modules/$SECOND/build"
	# uname has to print $FIRST on the copy of the host. dpkg runs packages' scripts with its
	# own PATH, so the file /usr/bin/uname is replaced.
	mv "$HOST/usr/bin/uname" "$HOST/usr/bin/uname.real"
	printf '%s\n' '#!/bin/sh' "[ \"\$*\" = -r ] && echo $FIRST || exec /usr/bin/uname.real \"\$@\"" \
		>"$HOST/usr/bin/uname"
	chmod +x "$HOST/usr/bin/uname"
}

# headers_come KERNEL: put the headers of KERNEL on the copy of the host, as apt does before it runs
# the scripts in header_postinst.d
headers_come() {
	need_kernel "$1"
	[[ -e $HOST/lib/modules/$KREL/build/Makefile ]] || ln -sfn "$KDIR" "$HOST/lib/modules/$KREL/build"
}

# there COMMAND...: run a command on the copy of the host, as an administrator who types it
there() {
	env -i HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
		PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin \
		chroot "$HOST" bash -ec "$1" </dev/null
}

# apt_install PACKAGE...: install these files of $WORK/deb
apt_install() {
	cp "$@" "$HOST/root/"
	there "cd /root; apt-get -q -y -o APT::Get::Upgrade-By-Source-Package=false --no-install-recommends \
		--reinstall install $(printf './%s ' "${@##*/}") 2>&1"
}

# status_is KREL MODULE/VERSION STATUS: check what dkms reports
status_is() {
	expect_text "$(there "dkms status $2${1:+ -k $1}")" "^$2${1:+, ${1//+/\\+}, [a-z0-9_]+}: $3\$"
}

module_of() { ls "$HOST/lib/modules/$2/updates/dkms/$1".ko*; }

# crcs_fit KREL VERSION: do the symbol versions that drivers expect match those of iw_mpa and the kernel?
crcs_fit() {
	local module symbols other="/var/lib/dkms/iw_mpa/$2/$1/*/Module.symvers"

	there "cut -f 1,2 $other /lib/modules/$1/build/Module.symvers | sort" >"$WORK/there"
	for module in acme srnic; do
		there "modprobe --dump-modversions $(module_of "$module" "$1" | sed "s|^$HOST||") | sort" \
			>"$WORK/wanted"
		symbols=$(there "cut -f 2 $other" | grep -cwFf - "$WORK/wanted")
		echo "$1: $module: $(wc -l <"$WORK/wanted") symbols, $symbols of them of iw_mpa"
		[[ $symbols -ge 5 && -z $(comm -23 "$WORK/wanted" "$WORK/there") ]] ||
			fail "$module is of another iw_mpa: $(comm -23 "$WORK/wanted" "$WORK/there")" || return
	done
}

test_apt() {
	local deb

	deb=$("$TOP/scripts/lib/deb.sh" --into "$WORK/deb") || return
	apt_install "$deb" "${deb/iw-mpa-dkms_/iw-mpa-dev_}" && status_is "$FIRST" "$NAME" installed &&
		[[ $(there "dkms status -k $SECOND") != *installed* ]]
}

test_author() {
	there "iw-mpa-new-driver acme /root/acme; dkms add /root/acme; dkms install acme/0.1 -k $FIRST" &&
		status_is "$FIRST" acme/0.1 installed && crcs_fit "$FIRST" "$VERSION" || return
	# shellcheck disable=SC2016 # expands in the chroot
	there 'for kernel in 5.10.0-1-amd64 6.18.0-plain; do
		mkdir -p /lib/modules/$kernel/build
		echo "# CONFIG_INFINIBAND is not set" >/lib/modules/$kernel/build/.config
		status=0; dkms build acme/0.1 -k $kernel || status=$?
		rm -r /lib/modules/$kernel; [[ $status -eq 77 ]]; done'
}

# When the headers of the second kernel are installed, dkms builds iw_mpa for it, and then acme, the
# driver that iw-mpa-new-driver has made.
test_kernel_comes() {
	headers_come "$1"
	there "run-parts --verbose --exit-on-error --arg=$SECOND /etc/kernel/header_postinst.d" || return
	status_is "$SECOND" "$NAME" installed && status_is "$SECOND" acme/0.1 installed && crcs_fit "$SECOND" "$VERSION"
}

api() { sed -n 's/^#define IW_MPA_API[[:space:]]*\([0-9]*\).*/\1/p' "$TOP/include/rdma/iw_mpa.h"; }

# next_packages: make a package of another version, with another IW_MPA_API
next_packages() {
	local deb header=$WORK/next/usr/src/iw_mpa-$NEXT/include/rdma/iw_mpa.h

	deb=$("$TOP/scripts/lib/deb.sh" --into "$WORK/deb" "$NEXT") || return
	dpkg-deb -R "$deb" "$WORK/next"
	sed -i "s/^\(#define IW_MPA_API[[:space:]]*\)$(api)/\1$(($(api) + 1))/" "$header" &&
		grep "^#define IW_MPA_API[[:space:]]*$(($(api) + 1))\b" "$header" || return
	dpkg-deb -b "$WORK/next" "$deb" && echo "$deb" >"$WORK/next.deb"
}

# Another version of the driver, acme/0.2, is only added, and must not be built.
test_does_not_compile() {
	local deb output kernel

	next_packages && deb=$(<"$WORK/next.deb") || return
	there 'cp -r /root/acme /root/acme2; sed -i "s/0\.1/0.2/" /root/acme2/dkms.conf; dkms add /root/acme2' || return
	printf '%s\n' "#if IW_MPA_API != $(api)" '#error it has to be changed' '#endif' \
		>>"$HOST/usr/src/acme-0.1/acme.h"
	for kernel in "$FIRST" "$SECOND"; do
		cp "$(module_of acme "$kernel")" "$HOST/root/old-$kernel.ko" || return
	done
	output=$(apt_install "$deb" "${deb/iw-mpa-dkms_/iw-mpa-dev_}") || { echo "$output" && return 1; }
	echo "$output"
	for kernel in "$FIRST" "$SECOND"; do
		expect_text "$output" "^iw-mpa: acme/0\.1 does not build on iw_mpa $NEXT for ${kernel//+/\\+}/" &&
			status_is "$kernel" "iw_mpa/$NEXT" installed && status_is "$kernel" acme/0.1 installed &&
			cmp "$(module_of acme "$kernel")" "$HOST/root/old-$kernel.ko" || return
	done
	[[ -z $(find "$HOST/var/lib/dkms/acme" -name '.kept') ]] || fail 'something is left'
}

test_compiles() {
	local deb kernel

	deb=$(<"$WORK/next.deb")
	sed -i '/^#if IW_MPA_API/,$d' "$HOST/usr/src/acme-0.1/acme.h"
	apt_install "${deb/iw-mpa-dkms_/iw-mpa-dev_}" || return
	for kernel in "$FIRST" "$SECOND"; do
		status_is "$kernel" "iw_mpa/$NEXT" installed && status_is "$kernel" acme/0.1 installed &&
			crcs_fit "$kernel" "$NEXT" || return
		! cmp -s "$(module_of acme "$kernel")" "$HOST/root/old-$kernel.ko" ||
			fail "$kernel: it is the old one" || return
	done
	status_is '' acme/0.2 added
}

# The driver acme, compiled for the old iw_mpa, is loaded beside the new one. No type has changed, so the kernel takes
# it. iw_mpa refuses it, and logs that the number of its API is another.
# shellcheck disable=SC2016 # expands on the guest
test_refused() {
	local guest

	for guest in A B; do
		inside "$guest" \
			"mount --bind /host$HOST/lib/modules /lib/modules; old=/host$HOST/root/old"'-$(uname -r).ko
			modprobe iw_mpa; needs=$(modinfo -F depends "$old"); modprobe -a ${needs//,/ }
			if insmod "$old" && rdma link add siw0 type acme netdev eth0; then exit 1; fi
			dmesg | grep "a driver was refused: acme .*it is compiled for another IW_MPA_API than"
			if grep "^acme " /proc/modules; then rmmod acme; fi'
	done
}

# over_acme INITIATOR TARGET ADDRESS: run NVMe, since acme has no verbs for programs.
over_acme() {
	guest_run "$1" \
		"poll 10 has_carrier && modprobe acme && rdma link add siw0 type acme netdev eth0 && poll 10 rdma_is_up"
	guest_run "$2" "modprobe srnic && rdma link add siw0 type srnic netdev eth0 && poll 10 rdma_is_up"
	inside "$2" "nvme_serve 4 $3 4420 0"
	inside "$1" "nvme_attach $3 4420" 120
	inside "$1" "nvme_detach"
	inside "$2" "nvme_serve_end"
	guest_run "$1" "rdma link delete siw0 && modprobe -r acme && ! grep iw_mpa /proc/modules"
	guest_run "$2" "poll 10 only_pool && rdma link delete siw0 && modprobe -r srnic"
}

test_old_and_new() (
	set -e
	test_refused
	over_acme A B 10.0.0.2
	over_acme B A 10.0.0.1
)

test_gone() {
	there "apt-get -q -y purge iw-mpa-dkms iw-mpa-dev; dkms remove acme/0.1 --all; dkms remove acme/0.2 --all
		[[ -z \$(dkms status) && -z \$(find /lib/modules/*/updates -name '*.ko*' 2>/dev/null) ]]"
}

# test_packages FIRST SECOND
test_packages() {
	say "the packages on a copy of this host, with $1 and $2"
	make_host "$1" "$2"
	tap_run 'apt installs iw-mpa-dkms and iw-mpa-dev' test_apt
	tap_run 'a driver of another source, by iw-mpa-new-driver: dkms add and install' test_author
	tap_run "the headers of $2 come: DKMS installs iw_mpa and the driver" test_kernel_comes "$2"
	tap_run 'an upgrade for which the driver does not compile leaves its modules' test_does_not_compile
	tap_run 'an upgrade builds the driver again, for each kernel' test_compiles
	need_kernel "$1"
	GUEST_KERNEL=([B]=$2)
	mkdir -p "$CACHE/build/$SECOND"		# guest_boot copies modules from this folder, which has to exist
	say "booting two guests with $FIRST and $SECOND"
	in_guests "$HOST/lib/modules/$FIRST/updates" 'the old modules are refused; NVMe over the new ones' \
		test_old_and_new
	GUEST_KERNEL=()
	tap_run 'what is purged leaves nothing' test_gone
	umount -R "$WORK"
}

main() {
	local kernel

	if [[ ${1:-} != --inside ]]; then
		need_root 'this covers folders of the host in a mount namespace'
		# shellcheck disable=SC2046 # a list of words is what it is
		"$TOP/scripts/lib/setup.sh" build guest remote dkms deb $(stock_kernels "$@")
		unshare -m true || die 'no permission to make a mount namespace'
		[[ $# -gt 0 || -z $(find_krel 6.12) ]] || set -- 6.1 6.12
		[[ $# -gt 0 ]] || set -- 6.1
		exec unshare -m "$0" --inside "$@"
	fi
	shift
	for kernel in "$@"; do
		test_kernel "$kernel"
	done
	if [[ $# -gt 1 ]]; then
		test_packages "$1" "$2"
	else
		tap ok 'a driver of another source # SKIP needs two kernels'
	fi
	tap_end dkms
}

main "$@"
