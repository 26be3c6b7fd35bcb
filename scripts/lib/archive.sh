# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Debian's archive, of any release: lib.sh sources this.
#
#   archive SUITE apt-get|apt-cache ARGUMENT...    with the packages of that suite
#   archive_refresh SUITE                          the lists of its packages, if they are old
#   archive_sources SUITE                          sources.list for it
#   download SUITE PACKAGE=VERSION...              into the current folder
#
# The host's own apt knows the host's own release, and is left alone: lists of packages are kept
# in $CACHE/apt. Mirror, proxy and the like are what the host's configuration says.

ARCHIVE_KEYS=/usr/share/keyrings/debian-archive-keyring.gpg

# archive_mirror security|main: where the host gets these from
archive_mirror() {
	# shellcheck disable=SC2016 # for apt
	apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
		awk -v want="$1" '{ is = $1 ~ /-security/ ? "security" : "main" }
			is == want && $2 ~ /debian/ { print $2; exit }'
}

archive_sources() {
	local name=${1%-backports} main security

	main=$(archive_mirror main)
	security=$(archive_mirror security)
	[[ -n $main ]] || die "apt knows no mirror of Debian: see sources.list(5)"
	printf "deb [signed-by=$ARCHIVE_KEYS] %s %s main\n" "$main" "$name" "$main" "$name-updates" \
		"$main" "$name-backports" ${security:+"$security" "$name-security"}
}

archive() {
	local suite=$1 dir=$CACHE/apt/${1%-backports} program=$2

	shift 2
	"$program" -q -o "Dir::State=$dir" -o "Dir::State::lists=$dir/lists" \
		-o "Dir::State::status=$dir/status" -o "Dir::Cache=$dir/cache" \
		-o "Dir::Etc::sourcelist=$dir/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferencesparts=/dev/null -o "APT::Default-Release=$suite" \
		-o APT::Sandbox::User=root "$@"
}

archive_update() {
	local dir=$CACHE/apt/${1%-backports}

	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
	: >"$dir/status"
	archive_sources "$1" >"$dir/sources.list"
	archive "$1" apt-get -o APT::Update::Error-Mode=any update
	touch "$dir/updated"
}

archive_refresh() {
	local file=$CACHE/apt/${1%-backports}/updated

	[[ -z $(find "$file" -mtime 0 2>/dev/null) ]] || return 0
	need_space 400
	HINT="is there a network, and does 'apt-get update' work?" \
		quietly "reading what packages ${1%-backports} has" archive_update "$1"
}

# A list of packages may be older than the archive.
download() {
	local suite=$1

	shift
	archive "$suite" apt-get download "$@" ||
		{ archive_update "$suite" && archive "$suite" apt-get download "$@"; }
}
