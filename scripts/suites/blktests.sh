# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="blktests, group nvme with tr=rdma: target and initiator in one host, on a link that the suite adds"
SOURCE="https://github.com/linux-blktests/blktests.git a608cb56341e0f4cacf473f5e0ac6052f1f12de9"
BUILT_OF=scripts/suites/blktests.patch
PACKAGES="patch uuid-runtime xfsprogs"
UNPACKED="gawk libsigsegv2"
SAMPLED='^nvme/(003|008|rest)$'

# "rest" reports all other tests, which do not run over RDMA, or not in a guest.
groups() {
	printf 'nvme/%s\n' 003 004 005 006 008 010 012 014 018 019 021 022 023 025 026 027 028 029 030 031 038 040 \
		041 042 043 044 045 047 048 051 054 057 058 060 061 065 068 rest
}

build() {
	patch -p1 --no-backup-if-mismatch --fuzz=0 <"$TOP/scripts/suites/blktests.patch"
	ln -s gawk usr/bin/awk
	mv usr/lib/*/libsigsegv.so.* usr/lib/
}

BLK=/run/blktests

# blktests loads and unloads $DRIVER for each test, so modprobe has to find the modules in /share.
# The target opens its files with O_DIRECT, which a tmpfs possibly does not support: so they are on
# ext4. iw_mpa is loaded only if it is built: for the driver siw it need not be.
begin() {
	local ours='[ ! -e /share/modules/iw_mpa.ko ] ||'

	on "$CLIENT" "set -e
		driver_clear >/dev/null
		printf '%s\n' 'install $DRIVER $ours insmod /share/modules/iw_mpa.ko; insmod /share/modules/$DRIVER.ko' \
			'remove $DRIVER rmmod $DRIVER; $ours rmmod iw_mpa' >/etc/modprobe.d/driver.conf
		[[ -e /dev/fd ]] || ln -s /proc/self/fd /dev/fd
		cp '/host$(realpath "$KDIR")/.config' \"/boot/config-\$(uname -r)\"
		modprobe -a configfs loop ext4
		mkdir -p $BLK
		truncate -s 1G $BLK.disk
		at_clean_up 'rm $BLK.disk; modprobe -r loop'
		mkfs.ext4 -q $BLK.disk
		mount -o loop $BLK.disk $BLK
		at_clean_up 'umount $BLK'
		mountpoint -q /sys/kernel/config || mount -t configfs config /sys/kernel/config
		at_clean_up 'umount /sys/kernel/config'
		at_clean_up '[[ ! -d /sys/module/$DRIVER ]] || modprobe -r $DRIVER; rm /etc/modprobe.d/driver.conf'"
}

# outcomes: print the suite's results as cases. A test may run for two kinds of disks, "bd=device" and "bd=file".
outcomes() {
	awk '/^(nvme|srp)\/.*\[(passed|failed|not run)\]$/ {
			if (name) print outcome, name, text
			name = $1 (match($0, /bd=[a-z]+/) ? "/" substr($0, RSTART + 3, RLENGTH - 3) : "")
			outcome = /\[passed\]$/ ? "pass" : /\[failed\]$/ ? "fail" : "skip"
			text = ""
			next
		}
		/^ / { text = text " " $0 }
		END { if (name) print outcome, name, text }' | tr -s ' \t' ' '
}

# rest: report all tests without a group as skipped, for the reason that the suite itself would print
rest() {
	local file name

	for file in "$BUILT"/tests/nvme/[0-9][0-9][0-9]; do
		name=nvme/${file##*/}
		if groups | grep -qx "$name"; then
			continue
		elif grep -q '^test_device()' "$file"; then
			case_is skip "$name" "there is no device in TEST_DEVS"
		elif grep -Eq '^\s_require_nvme_trtype(_is_loop| tcp)$' "$file"; then
			case_is skip "$name" "it is for another transport"
		elif grep -q '^\s_have_kernel_options KASAN$' "$file"; then
			case_is skip "$name" "it is for a kernel with KASAN"
		else
			case_is fail "$name" "it is in no list"
		fi
	done
}

# run_test VARIABLE=VALUE...: run the group's test with these variables
run_test() {
	local output status=0 some=no outcome name text

	output=$(client "cd /host$BUILT && PATH=/host$BUILT/usr/bin:\$PATH LD_LIBRARY_PATH=/host$BUILT/usr/lib \
		USE_IWARP=$DRIVER $* ./check -o $BLK $VARIANT" 590) || status=$?
	echo "$output"
	[[ $status -le 1 ]] || fail "status $status"
	while read -r outcome name text; do
		case_is "$outcome" "$name" "$text"
		some=yes
	done < <(outcomes <<<"$output")
	[[ $some == yes ]] || fail "nothing ran"
}

# An emulated processor can finish these sizes and numbers in time.
check() {
	local size=16M limit=""

	[[ $VARIANT != nvme/012 ]] || size=350M limit=20
	if [[ $VARIANT == nvme/rest ]]; then
		rest
		return
	fi
	begin
	run_test NVMET_TRTYPES=rdma NVME_IMG_SIZE=$size NVME_NUM_ITER=10 "TIMEOUT=$limit"
}
