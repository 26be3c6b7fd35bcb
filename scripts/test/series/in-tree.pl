#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0
#
# Take out of the sources what only a module outside of the kernel's tree needs, or works around an iw_cm without the
# patches: in-tree.pl FOLDER, which has the files at their places in the kernel's tree. Each edit has to find its text,
# wherever lines are broken.

use strict;
use warnings;

my $sw = 'drivers/infiniband/sw';
my $tree = shift or die "usage: in-tree.pl FOLDER\n";
chdir $tree or die "$tree: $!\n";

sub get { my $file = shift; local $/; open my $from, '<', $file or die "$file: $!\n"; return scalar <$from>; }
sub put { my ($file, $text) = @_; open my $to, '>', $file or die "$file: $!\n"; print $to $text; close $to or die; }

# edit FILE REGEX TEXT...: replace each text that matches, of which there is one
sub edit {
	my ($file, @edits) = @_;
	my $text = get($file);

	while (my ($regex, $by) = splice @edits, 0, 2) {
		my $nr = $text =~ s/$regex/ref $by ? $by->() : $by/gesm;
		die "$file has " . ($nr || 'no') . " text like $regex\n" unless $nr == 1;
	}
	put($file, $text);
}

# words TEXT: a regular expression for a sentence of a comment or a page
sub words { my @words = map { quotemeta } split ' ', shift; local $" = '(?:\s|\*)+'; return "@words"; }

# function HEAD ARGUMENTS END: laid out in 80 columns
sub function {
	my ($head, $arguments, $end) = @_;
	my @lines = ($head);

	for (split /,\s*/, $arguments) {
		my $width = length($lines[-1] =~ s/\t/' ' x 8/ger);
		push @lines, "\t" x (length($head) / 8) . ' ' x (length($head) % 8) if $width + length() + 3 > 80;
		$lines[-1] .= ' ' if $lines[-1] =~ /,$/;
		$lines[-1] .= "$_,";
	}
	$lines[-1] =~ s/,$/$end/;
	return join "\n", @lines;
}

my $comment = '(?:^/\*(?:(?!\*/).)*\*/\n)?';	# one above a function
my $function = '.*?\n}\n\n';			# the rest of one

# The version of the modules, and the number of the contract, by which a driver of another tree is refused

edit 'include/rdma/iw_mpa.h',
	'#define IW_MPA_VERSION[^\n]*\n#define IW_MPA_API[^\n]*\n\n', '',
	'^int __iw_mpa_register_device\((.*?),\s*unsigned int api\);\n\n/\*[^/]*\*/\n#define iw_mpa_register_device.*?IW_MPA_API\)\n',
	sub { function('int iw_mpa_register_device(', $1, ');') . "\n" };
edit "$sw/iw_mpa/main.c",
	'^MODULE_VERSION\([^\n]*\n', '', '^MODULE_INFO\(iw_mpa_api[^\n]*\n', '', '^#include <linux/stringify.h>\n', '';
edit "$sw/iw_mpa/register.c",
	'^#include <linux/stringify.h>\n', '',
	'^(static const char \*device_check\([^{]*?),\s*unsigned int api\)', sub { "$1)" },
	'^\t/\* First, since the structures may be others, too. \*/\n\tif \(api != IW_MPA_API\)\n.*?;\n', '',
	'(device_check\(ibdev, netdev, ops, attr), api\)', sub { "$1)" },
	'^ \* __iw_mpa_register_device -', ' * iw_mpa_register_device -',
	'^ \* \@api:[^\n]*\n(?: \*\t[^\n]*\n)*', '',
	words('that says what is missing, or that the driver is compiled for another IW_MPA_API; -EEXIST'),
	"that says what is missing;\n * -EEXIST",
	'^int __iw_mpa_register_device\(([^)]*?),\s*unsigned int api\)', sub { function('int iw_mpa_register_device(', $1, ')') },
	'a driver was refused: %s \(IW_MPA_API %u\), network', 'a driver was refused: %s, network',
	'(module_name\(ibdev->ops\.owner\)), api,', sub { "$1," },
	'EXPORT_SYMBOL_GPL\(__iw_mpa_register_device\)', 'EXPORT_SYMBOL_GPL(iw_mpa_register_device)';
edit 'Documentation/infiniband/iw_mpa_driver.rst', ' \(IW_MPA_API \.\.\.\), network', ', network';
edit "$sw/srnic/device.c",
	'^MODULE_VERSION\([^\n]*\n', '',
	$comment . '^static u64 device_fw_ver' . $function, '',
	'^static void srnic_get_dev_fw_str' . $function, '',
	'^\t+\.fw_ver\s*= device_fw_ver\(\),\n', '', '^\t+\.get_dev_fw_str\s*= srnic_get_dev_fw_str,\n', '';

# In the kernel's tree no driver selects IW_MPA_TAKEOVER, so the suites' configuration has to.

edit "$sw/iw_mpa/.kunitconfig", '^CONFIG_IW_MPA_KUNIT_TEST=y\n', "CONFIG_IW_MPA_KUNIT_TEST=y\nCONFIG_IW_MPA_TAKEOVER=y\n";

# What iw_cm does without the patches: it calls iw_accept and iw_reject more than once, and loses references on QPs.

edit "$sw/iw_mpa/cm.c",
	'\s+' . words('Until iw_cm has handled ESTABLISHED it lets a ULP call iw_accept again: a further call with the '
		. 'same QP changes nothing, one with another QP ends the connection.'), '',
	'\s+' . words('A connection that was accepted is ended; iw_cm expects no event any more then.'), '',
	'^\tif \(!\(word & 1\)\)\n\t\treturn iw_mpa_iwcm_accept_again\(.*?;\n', '',
	'^\tcall\.err = iw_mpa_iwcm_accepted\(.*?;\n', '',
	'^\tunsigned long word = [^\n]*;\n', '', 'ep = iw_mpa_ep_find\(word\);', 'ep = iw_mpa_iwcm_find(id);';
edit 'include/rdma/iw_mpa.h',
	'^ \* \@qp: the QP\n(?= \* \@dev: [^\n]*,\s+with a reference)', '',
	'^ \* \@node: [^\n]*\n', '',
	'^struct iw_mpa_qp_end \{.*?^\};', "struct iw_mpa_qp_end {\n\tstruct iw_mpa_device\t*dev;\n};";
edit "$sw/iw_mpa/qp.c", '^\tend->qp = qp;\n', '', '^\tiw_mpa_iwcm_qp_gone\(end\);\n', '', '^\tiw_mpa_iwcm_qp_freed\(end\);\n', '',
	'^#include "iwcm.h"\n', '';
edit "$sw/iw_mpa/register.c", '^\tiw_mpa_iwcm_device_gone\(dev\);\n', '', '^#include "iwcm.h"\n', '';
edit "$sw/iw_mpa/Makefile", ' iwcm_faults\.o\b', '';
edit "$sw/iw_mpa/listen.c", '^\tiw_mpa_iwcm_keep_requests\(lis->cm_id\);\n', '';
edit "$sw/iw_mpa/run.c", '^#include "iwcm.h"\n', '',
	'= iw_mpa_iwcm_check_device\(ep\);\n\n\tif \(!err\)\n\t\terr (= [^\n]*\n)', sub { "$1\n" };
edit "$sw/iw_mpa/device.h", '^ \* \@lent:[^\n]*\n', '', '^\tbool\s*lent;\n', '';
edit "$sw/iw_mpa/stats.h", '^\tX\(accepted_again\)\s*\\\\\n', '';
edit 'Documentation/infiniband/iw_mpa.rst', '^``accepted_again``[^\n]*\n', '', '``iw_mpa_iwcm_check_device\(\)``, ', '',
	'``iw_mpa_ep_find\(\)``, ``iw_mpa_run_answer', '``iw_mpa_iwcm_find()`` and so ``iw_mpa_ep_find()``, ``iw_mpa_run_answer',
	'^``cm\.c`` +``iw_mpa_iwcm_accepted\(\)``\n', '',
	words('It is for an address of another device, or rdma_cm has chosen another: Reject.'),
	'It is for an address of another device: Reject.';
