# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Sourced by deb.sh and test/series/compose.sh: parts of pages are not for each reader. Lines that are comments for
# programs that show a page say for whom the text is that follows, up to the next such line:
#
#   .. in tree          for all. If a comment follows, as indented text is, it is for readers of the kernel's tree
#   .. out of tree      not for them
#   .. in sources       only for those who have the sources of this project
#
# Lines ".. check: ...", ".. quote: ..." and ".. run: ..." are for the tests.

# page_for kernel|package FILE: print a page without such lines, as the kernel's tree or a package has it
page_for() {
	awk -v whom="$1" '/^ *\.\. (out of tree|in sources)$/ { out = whom == "kernel" || / in sources$/; next }
		/^ *\.\. in tree$/ { out = 0; text = index($0, "."); next }
		out || /^\.\. (quote|check|run): / { next }
		text && NF && substr($0, 1, text + 2) !~ /^ +$/ { text = 0 }
		text && NF && whom == "package" { next }
		text && NF { $0 = substr($0, 1, text - 1) substr($0, text + 3) }
		{ print }' "$2" | cat -s | sed '${/^$/d}'
}
