#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0
#
# Take out of the sources what only a module outside of the kernel's tree needs, or works around an iw_cm without the
# patches: in-tree.pl FOLDER, which has the files at their places in the kernel's tree.

use strict;
use warnings;

chdir shift or die "usage: in-tree.pl FOLDER\n";
my ($sw, $doc) = ('drivers/infiniband/sw', 'Documentation/infiniband');

# edit FILE EDITS: call EDITS, which change $_ and return how many texts each edit has found: it has to be one.
sub edit {
	my ($file, $edits) = @_;

	open my $from, '<', $file or die "$file: $!\n";
	local $_ = do { local $/; <$from> };
	my @found = $edits->();
	$found[$_] eq 1 or die "$file: edit $_ finds " . ($found[$_] || 'no') . " text\n" for 0 .. $#found;
	open my $to, '>', $file or die "$file: $!\n";
	print $to $_;
	close $to or die "$file: $!\n";
}

# cut REGEX...: remove the line that matches, for each
sub cut { my @found; for my $regex (@_) { push @found, s/^.*$regex.*\n//gm } return @found }

# The version of the modules, and the number of the contract, by which a driver of another tree is refused; and what
# iw_cm does without the patches: it calls iw_accept and iw_reject more than once, and loses references on QPs

my $api = qr/^int __(iw_mpa_register_device\([^)]*?),\s*unsigned int api\)/m;
sub without_api { return 'int ' . $1 =~ s/\n\t+ +\K  //gr . ')' }	# indented less, since the name is shorter

edit 'include/rdma/iw_mpa.h', sub {
	s/^#define IW_MPA_VERSION.*\n#define IW_MPA_API.*\n\n//gm,
	s/$api;.*?IW_MPA_API\)/without_api() . ';'/gse,
	s/^ \* \@qp: the QP\n(?= \* \@dev: .*,\s+with a reference)//gm,
	s/^struct iw_mpa_qp_end \{\n\K.*?(?=^\};)/\tstruct iw_mpa_device\t*dev;\n/gms,
	cut('^ \* \@node: '),
};
edit "$sw/iw_mpa/main.c", sub { cut('^MODULE_VERSION', '^MODULE_INFO\(iw_mpa_api', '<linux/stringify.h>') };
edit "$sw/iw_mpa/register.c", sub {
	cut('<linux/stringify.h>', '"iwcm.h"', '\tiw_mpa_iwcm_device_gone\(', '\@api:.*\n.*adds it$'),
	s/^static const char \*device_check\([^{]*?attr\K,\s*unsigned int api//gm,
	s,^\t/\* First\, since the structures may be others\, too\. \*/\n\tif \(api != IW_MPA_API\)\n.*?;\n,,gms,
	s/device_check\(ibdev, netdev, ops, attr\K, api//g,
	s/ \* \K__(?=iw_mpa_register_device -)//g,
	s/that says what is missing\K, or that the\n.*IW_MPA_API; (?=-EEXIST)/;\n * /g,
	s/$api/without_api()/ge,
	s/ \(IW_MPA_API %u\)//g,
	s/module_name\(ibdev->ops\.owner\)\K, api//g,
	s/EXPORT_SYMBOL_GPL\(\K__//g,
};
edit "$sw/srnic/device.c", sub {
	s{^/\* ib_device_attr\.fw_ver(?:(?!\*/).)*\*/\nstatic u64 device_fw_ver.*?\n\}\n\n}{}gms,
	s/^static void srnic_get_dev_fw_str.*?\n\}\n\n//gms,
	cut('^MODULE_VERSION', '= device_fw_ver\(\)', '= srnic_get_dev_fw_str'),
};
edit "$sw/iw_mpa/cm.c", sub {
	s/\s+Until iw_cm has handled ESTABLISHED it lets.*?ends the connection\.//gs,
	s/\s+A connection that was accepted is ended;.*?any more then\.//gs,
	s/^\tif \(!\(word & 1\)\)\n\t\treturn iw_mpa_iwcm_accept_again\(.*\n//gm,
	s/ep = iw_mpa_ep_find\(word\);/ep = iw_mpa_iwcm_find(id);/g,
	cut('call\.err = iw_mpa_iwcm_accepted', '\tunsigned long word = '),
};
edit "$sw/iw_mpa/qp.c", sub { cut('\tend->qp = qp;', 'iw_mpa_iwcm_qp_gone', 'iw_mpa_iwcm_qp_freed', '"iwcm.h"') };
edit "$sw/iw_mpa/listen.c", sub { cut('iw_mpa_iwcm_keep_requests') };
edit "$sw/iw_mpa/run.c", sub {
	cut('"iwcm.h"'), s/= \Kiw_mpa_iwcm_check_device\(ep\);\n\n\tif \(!err\)\n\t\terr = (.*\n)/$1\n/g;
};
edit "$sw/iw_mpa/device.h", sub { cut('^ \* \@lent:', '^\tbool\s*lent;') };
edit "$sw/iw_mpa/stats.h", sub { cut('^\tX\(accepted_again\)') };
edit "$sw/iw_mpa/Makefile", sub { s/ iwcm_faults\.o\b//g };
edit "$doc/iw_mpa_driver.rst", sub { s/ \(IW_MPA_API \.\.\.\)//g };
edit "$doc/iw_mpa.rst", sub {
	cut('^``accepted_again``', '^``cm\.c`` +``iw_mpa_iwcm_accepted\(\)``'),
	s/``iw_mpa_iwcm_check_device\(\)``, //g,
	s/``iw_mpa_ep_find\(\)``, (?=``iw_mpa_run_answer)/``iw_mpa_iwcm_find()`` and so $&/g,
	s/for an address of another device\K, or rdma_cm has chosen another:\s+(?=Reject)/: /g;
};

# In the kernel's tree no driver selects IW_MPA_TAKEOVER, so the suites' configuration has to.

edit "$sw/iw_mpa/.kunitconfig", sub { s/^CONFIG_IW_MPA_KUNIT_TEST=y\n/$&CONFIG_IW_MPA_TAKEOVER=y\n/gm };
