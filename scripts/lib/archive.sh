# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Debian's archive, of any release: lib.sh sources this.
#
#   archive SUITE apt-get|apt-cache ARGUMENT...    run apt with the packages of that suite of Debian
#   archive_refresh SUITE                          fetch the suite's lists of packages, if they are old
#   archive_sources SUITE                          print a sources.list for the suite
#   download SUITE PACKAGE=VERSION...              fetch packages into the current folder
#
# SUITE may end with the name of another architecture, as in trixie-arm64.
#
# The lists of packages are kept in $CACHE/apt, so the host's own apt, which knows the host's release, is not changed.
# Mirrors and proxy are those of the host's configuration.

ARCHIVE_KEYS=/usr/share/keyrings/debian-archive-keyring.gpg

# archive_mirror security|main: print the host's mirror for this part of the archive
archive_mirror() {
	# shellcheck disable=SC2016 # for apt
	apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
		awk -v want="$1" '{ is = $1 ~ /-security/ ? "security" : "main" }
			is == want && $2 ~ /debian/ { print $2; exit }'
}

# archive_arch SUITE: print the architecture of the suite
archive_arch() {
	case $1 in
	*-arm64 | *-s390x) echo "${1##*-}" ;;
	*) host_arch ;;
	esac
}

# archive_sources SUITE: print a sources.list for the suite. For another architecture it has only
# packages of the release itself, no updates, security fixes and backports: mirrors get these at
# different times.
archive_sources() {
	local name main security arch

	arch=$(archive_arch "$1")
	name=${1%-"$arch"}
	name=${name%-backports}
	main=$(archive_mirror main)
	security=$(archive_mirror security)
	[[ -n $main ]] || die "apt knows no mirror of Debian: see sources.list(5)"
	if [[ $1 == *-"$arch" ]]; then
		echo "deb [signed-by=$ARCHIVE_KEYS] $main $name main"
		return
	fi
	printf "deb [signed-by=$ARCHIVE_KEYS] %s %s main\n" "$main" "$name" "$main" "$name-updates" \
		"$main" "$name-backports" ${security:+"$security" "$name-security"}
}

archive() {
	local suite=$1 dir=$CACHE/apt/${1%-backports} program=$2 arch

	arch=$(archive_arch "$suite")
	suite=${suite%-"$arch"}
	shift 2
	"$program" -q -o "Dir::State=$dir" -o "Dir::State::lists=$dir/lists" \
		-o "Dir::State::status=$dir/status" -o "Dir::Cache=$dir/cache" \
		-o "Dir::Etc::sourcelist=$dir/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferencesparts=/dev/null -o "APT::Default-Release=$suite" \
		-o "APT::Architecture=$arch" -o "APT::Architectures=$arch" \
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
	local dir=$CACHE/apt/${1%-backports}

	# Do nothing if the lists are less than a day old, and from the mirrors that the host uses now.
	[[ -z $(find "$dir/updated" -mtime 0 2>/dev/null) || $(archive_sources "$1") != "$(<"$dir/sources.list")" ]] ||
		return 0
	need_space 400
	HINT="is there a network, and does 'apt-get update' work?" \
		quietly "reading what packages ${1%-backports} has" archive_update "$1"
}

# If the first try fails, refresh the lists: the archive may have newer packages than the lists name.
download() {
	local suite=$1

	shift
	archive "$suite" apt-get download "$@" ||
		{ archive_update "$suite" && archive "$suite" apt-get download "$@"; }
}
