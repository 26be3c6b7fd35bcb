#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Unit tests of scripts/iw-mpa, scripts/ci-setup and scripts/iw_mpa.lua; they need no RDMA device.

    tools.py [-v] [CLASS[.TEST]...]
"""

import contextlib
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import stat
import struct
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

TOP = pathlib.Path(__file__).resolve().parents[3]


def load(path):
    loader = importlib.machinery.SourceFileLoader('tool', str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('tool', loader))
    loader.exec_module(module)
    return module


sys.dont_write_bytecode = True
sys.path.insert(0, str(TOP / 'scripts' / 'test' / 'fuzz' / 'sctp'))

import judge            # noqa: E402
import judge_tshark     # noqa: E402

TOOL = load(TOP / 'scripts' / 'iw-mpa')


# --- metrics --------------------------------------------------------------------------------------


class Metrics(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for patch in (mock.patch.object(TOOL, 'metrics_lines', lambda: ['a 1', 'b 2']),
                      mock.patch.object(sys, 'argv', ['iw-mpa', 'metrics', '-o'])):
            patch.start()
            self.addCleanup(patch.stop)

    def write(self, name):
        sys.argv[3:] = [str(self.folder / name)]
        TOOL.metrics(TOOL.options())

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_file(self):
        for _ in range(2):
            self.write('new')
            self.assertEqual((self.folder / 'new').read_text(), 'a 1\nb 2\n')
            self.assertEqual(stat.S_IMODE((self.folder / 'new').stat().st_mode), 0o644)
            self.assertEqual(self.names(), ['new'])
            (self.folder / 'new').write_text('old')

    def test_symlink(self):
        (self.folder / 'there').mkdir()
        (self.folder / 'link').symlink_to('there/file')
        self.write('link')
        self.assertTrue((self.folder / 'link').is_symlink())
        self.assertEqual((self.folder / 'there' / 'file').read_text(), 'a 1\nb 2\n')

    def test_no_regular_file(self):
        os.mkfifo(self.folder / 'pipe')
        with subprocess.Popen(['cat', str(self.folder / 'pipe')], stdout=subprocess.PIPE, text=True) as reader, \
                contextlib.ExitStack() as stack:
            stack.callback(reader.kill)
            self.write('pipe')
            self.assertEqual(self.names(), ['pipe'])
            if not stat.S_ISFIFO((self.folder / 'pipe').stat().st_mode):
                reader.kill()
                self.fail('the pipe is gone')
            self.assertEqual(reader.communicate()[0], 'a 1\nb 2\n')

    def test_folder(self):
        for name in '.', '/', str(self.folder):
            with self.subTest(name), self.assertRaises(IsADirectoryError):
                self.write(name)

    def test_failed_write(self):
        with mock.patch.object(pathlib.Path, 'chmod', side_effect=OSError), self.assertRaises(OSError):
            self.write('new')
        self.assertEqual(self.names(), [])

    def test_no_symlink(self):
        """The file that is renamed later may not be one that another user has laid in the way."""
        (self.folder / f'.new.{os.getpid()}').symlink_to('victim')
        with self.assertRaises(FileExistsError):
            self.write('new')
        self.assertFalse((self.folder / 'victim').exists())

    def test_standard_output(self):
        sys.argv[3:] = ['-']
        with mock.patch('builtins.print') as printed:
            TOOL.metrics(TOOL.options())
        self.assertEqual(printed.call_args[0], ('a 1\nb 2\n',))

    def test_label(self):
        self.assertEqual(list(TOOL.metric('n', 'gauge', 'text', [({'device': 'a"b\\c\nd', 'state': 1}, 5)]))[2],
                         'n{device="a\\"b\\\\c\\nd",state="1"} 5')


class Read(unittest.TestCase):
    def test_device(self):
        """A device whose name has digits alone has a name, not a number."""
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(TOOL, 'DEBUGFS', pathlib.Path(folder)):
            pathlib.Path(folder, 'listeners').write_text('id=1 dev=0 socket=no\nid=2 dev=my rnic backlog=3\n')
            self.assertEqual(TOOL.read('listeners'), [{'id': 1, 'dev': '0', 'socket': 'no'},
                                                      {'id': 2, 'dev': 'my rnic', 'backlog': 3}])


# --- on bare hosts --------------------------------------------------------------------------------


class Host(unittest.TestCase):
    def test_interrupt(self):
        with mock.patch.object(sys, 'argv', ['iw-mpa', 'doctor']), self.assertRaises(SystemExit) as end, \
                mock.patch.object(TOOL, 'doctor', side_effect=KeyboardInterrupt):
            TOOL.main()
        self.assertEqual(end.exception.code, 130)

    def test_no_curses(self):
        with mock.patch.dict(sys.modules, curses=None):
            bare = load(TOP / 'scripts' / 'iw-mpa')
            self.assertFalse(bare.has_screen())

    def test_path(self):
        for path in '/bin', None:
            with self.subTest(path), mock.patch.dict(os.environ, {'PATH': path} if path else {}, clear=True):
                load(TOP / 'scripts' / 'iw-mpa').find_all_programs()
                self.assertTrue({'/bin', '/usr/local/sbin', '/usr/sbin', '/sbin'} <= set(os.environ['PATH'].split(':')))


def in_namespace(script, **environment):
    """Run a script of bash in a mount namespace with an empty /sys. Return its status, stdout and stderr."""
    done = subprocess.run(['unshare', '-m' if os.geteuid() == 0 else '-rm', 'bash', '-c',
                           f'set -eu; mount -t tmpfs none /sys\n{script}'],
                          capture_output=True, text=True, check=False, env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


class Container(unittest.TestCase):
    """Root of a container may not read the debugfs of its host, even if it is mounted there."""

    def ends(self, command):
        return in_namespace('mkdir -p /sys/module/iw_mpa; mkdir -p -m 0 /sys/kernel/debug; '
                            f'setpriv --bounding-set -dac_override,-dac_read_search "$TOOL" {command}',
                            TOOL=str(TOP / 'scripts' / 'iw-mpa'))

    def test_show(self):
        for what in 'endpoints', 'metrics':
            self.assertEqual(self.ends(what)[2].partition('Permission')[2],
                             ' denied (in a container: this is for its host)\n')

    def test_doctor(self):
        _, found, error = self.ends('doctor')
        self.assertEqual(error, '')
        self.assertIn('there is no link', found)


# --- doctor: firewalls ----------------------------------------------------------------------------

# Verdicts of rules, as nft -j prints them
DROP, ACCEPT, RETURN = {'drop': None}, {'accept': None}, {'return': None}
# a match by iptables: the JSON of nft names it, but lacks its arguments
CONNTRACK = {'xt': {'type': 'match', 'name': 'conntrack'}}
OFTEN = {'limit': {'rate': 10, 'burst': 5, 'per': 'second', 'inv': True}}


def match(kind, key, right, op='=='):
    if kind in ('meta', 'ct'):
        return {'match': {'op': op, 'left': {kind: {'key': key}}, 'right': right}}
    return {'match': {'op': op, 'left': {'payload': {'protocol': kind, 'field': key}}, 'right': right}}


def to(chain, how='jump'):
    return {how: {'target': chain}}


def vmap(key, *pairs):
    return {'vmap': {'key': key, 'data': {'set': [list(pair) for pair in pairs]}}}


PORT, OTHER = match('tcp', 'dport', 4420), match('tcp', 'dport', 22)
SOME = match('ip', 'saddr', {'prefix': {'addr': '192.0.2.0', 'len': 24}})
STATE, IIFNAME = {'ct': {'key': 'state'}}, {'meta': {'key': 'iifname'}}
UP = match('ct', 'state', ['established', 'related'], 'in')
LOCAL = {'match': {'op': '==', 'left': {'fib': {'result': 'type', 'flags': ['daddr']}}, 'right': 'local'}}
NEW_LOCAL = {'match': {'op': '==', 'left': {'fib': {'result': 'type', 'flags': 'daddr'}}, 'right': 'local'}}

# For each firewall: the level of doctor's finding, "" for none; the policy of the chain "input",
# its rules, and other chains to which these jump
FIREWALLS = {
    'open': ('', 'accept', [[UP, ACCEPT]], {}),
    'policy': ('fault', 'drop', [[UP, ACCEPT], [OTHER, ACCEPT], [match('meta', 'iifname', 'lo'), ACCEPT]], {}),
    'port': ('fault', 'accept', [[PORT, DROP]], {}),
    'mark': ('fault', 'accept', [[PORT, {'mangle': {'key': {'meta': {'key': 'mark'}}, 'value': 1}}, DROP]], {}),
    'reject': ('fault', 'accept', [[PORT, {'counter': None}, {'reject': {'type': 'tcp reset'}}]], {}),
    'not_the_port': ('fault', 'accept', [[match('tcp', 'dport', {'set': [22, {'range': [1, 80]}]}, '!='), DROP]], {}),
    'range': ('', 'drop', [[match('tcp', 'dport', {'range': [4000, 5000]}), ACCEPT]], {}),
    'greater': ('fault', 'accept', [[match('tcp', 'dport', 1024, '>'), DROP]], {}),
    'not_greater': ('', 'accept', [[match('tcp', 'dport', 4420, '>'), DROP]], {}),
    'greater_or_equal': ('', 'drop', [[match('tcp', 'dport', 4420, '>='), ACCEPT]], {}),
    'less': ('', 'accept', [[match('tcp', 'dport', 1024, '<'), DROP]], {}),
    'less_or_equal': ('fault', 'accept', [[match('tcp', 'dport', 4420, '<='), DROP]], {}),
    'greater_than_a_set': ('warning', 'accept', [[match('tcp', 'dport', '@rdma', '>'), DROP]], {}),
    'port_from_some': ('warning', 'accept', [[SOME, PORT, DROP]], {}),
    'port_for_some': ('warning', 'drop', [[SOME, PORT, ACCEPT]], {}),
    'all_for_some': ('warning', 'drop', [[SOME, ACCEPT]], {}),
    'none_for_some': ('', 'accept', [[SOME, DROP]], {}),
    # Jumps, as in ufw, and goto, as in firewalld
    'jump_accepts': ('', 'drop', [[to('first')], [to('user')]],
                     {'first': [[CONNTRACK, ACCEPT], [CONNTRACK, DROP], [to('local')]],
                      'local': [[{'xt': {'type': 'match', 'name': 'addrtype'}}, RETURN], [DROP]],
                      'user': [[PORT, ACCEPT]]}),
    'jump_drops': ('fault', 'accept', [[to('user')], [ACCEPT]], {'user': [[OTHER, RETURN], [DROP]]}),
    'jump_of_some': ('', 'accept', [[SOME, to('bad')]], {'bad': [[DROP]]}),
    'port_returns_for_some': ('warning', 'accept', [[SOME, PORT, RETURN], [PORT, DROP]], {}),
    'some_return': ('', 'accept', [[SOME, RETURN], [DROP]], {}),
    'jump_returns_for_some': ('warning', 'accept', [[to('user')], [ACCEPT]], {'user': [[SOME, PORT, RETURN], [DROP]]}),
    'jump_returns_to_drop': ('fault', 'accept', [[to('user')], [DROP]], {'user': [[SOME, PORT, RETURN], [DROP]]}),
    'range_of_something_else': ('warning', 'drop', [[match('meta', 'l4proto', {'range': [50, 51]}), ACCEPT]], {}),
    'return': ('', 'accept', [[to('user')]], {'user': [[PORT, RETURN], [DROP]]}),
    'goto_accepts': ('', 'drop', [[to('zones')], [DROP]],
                     {'zones': [[to('zone', 'goto')], [DROP]], 'deny': [],
                      'zone': [[to('deny')], [PORT, ACCEPT], [DROP]]}),
    'goto_drops': ('fault', 'accept', [[to('zones')], [DROP]],
                   {'zones': [[to('zone', 'goto')], [ACCEPT]], 'zone': [[OTHER, ACCEPT]]}),
    'goto_of_the_interface': ('fault', 'accept', [[match('meta', 'iifname', 'eth0'), to('zone', 'goto')]],
                              {'zone': [[DROP]]}),
    'goto_of_another': ('', 'accept', [[match('meta', 'iifname', 'eth1'), to('zone', 'goto')]],
                        {'zone': [[DROP]]}),
    # Sets and maps, named and anonymous
    'named_set': ('', 'drop', [[match('tcp', 'dport', '@rdma'), ACCEPT]], {}),
    'named_set_drops': ('fault', 'accept', [[match('tcp', 'dport', '@rdma'), DROP]], {}),
    'unknown_set': ('warning', 'drop', [[match('tcp', 'dport', '@nosuch'), ACCEPT]], {}),
    'states': ('fault', 'drop', [[vmap(STATE, ('established', ACCEPT), ('related', ACCEPT), ('invalid', DROP))]], {}),
    'new': ('', 'drop', [[PORT, match('ct', 'state', {'set': ['new', 'untracked']}), ACCEPT]], {}),
    'interfaces': ('fault', 'accept', [[vmap(IIFNAME, ('lo', ACCEPT), ('eth0', to('zone')), ('*', ACCEPT))]],
                   {'zone': [[DROP]]}),
    'named_map': ('', 'drop', [[{'vmap': {'key': PORT['match']['left'], 'data': '@ports'}}]], {}),
    'two_fields': ('warning', 'drop', [[{'match': {'op': '==', 'right': '@pairs', 'left': {
        'concat': [SOME['match']['left'], PORT['match']['left']]}}}, ACCEPT]], {}),
    # Rules that doctor cannot judge
    'often': ('warning', 'accept', [[PORT, OFTEN, DROP]], {}),
    'often_all': ('', 'accept', [[OFTEN, DROP]], {}),
    'invalid_of_iptables': ('', 'accept', [[CONNTRACK, DROP]], {}),
    'established_of_iptables': ('warning', 'drop', [[CONNTRACK, ACCEPT]], {}),
    'old_nft': ('', 'accept', [[{'xt': None}, DROP]], {}),
    'queue': ('warning', 'drop', [[{'queue': {'num': 1}}]], {}),
    # Rules that are not for TCP, not for IPv4, or for all packets to this host
    'protocols': ('', 'drop', [
        [match('meta', 'l4proto', {'set': ['icmp', 'udp']}), DROP], [match('udp', 'dport', 4420), DROP],
        [match('icmp', 'type', 'echo-request'), DROP], [match('ip6', 'saddr', '2001:db8::1'), DROP],
        [match('meta', 'nfproto', 'ipv6'), DROP], [match('ip', 'protocol', 'tcp'), LOCAL, ACCEPT]], {}),
    # Without /etc/protocols nft has numbers, and later ones have a flag of fib without a list.
    'numbers': ('', 'drop', [[match('meta', 'l4proto', {'set': [1, 17]}), DROP], [match('ip', 'protocol', 17), DROP],
                             [match('meta', 'l4proto', {'set': [6, 17]}), PORT, ACCEPT]], {}),
    'number': ('fault', 'accept', [[match('ip', 'protocol', 6), NEW_LOCAL, DROP]], {}),
}
SETS = [{'set': {'family': 'inet', 'table': 't', 'name': 'rdma',
                 'elem': [20049, {'range': [4000, 4010]}, {'elem': {'val': 4420, 'timeout': 60}}]}},
        {'map': {'family': 'inet', 'table': 't', 'name': 'ports', 'elem': [[22, DROP], [4420, ACCEPT]]}},
        {'set': {'family': 'inet', 'table': 't', 'name': 'pairs', 'elem': [{'concat': ['192.0.2.1', 4420]}]}}]


def ruleset(policy, chains, family='inet', sets=()):
    yield {'metainfo': {'version': '1.0.6'}}
    yield {'chain': {'family': family, 'table': 't', 'name': 'input', 'hook': 'input', 'policy': policy}}
    yield {'chain': {'family': family, 'table': 't', 'name': 'output', 'hook': 'output', 'policy': 'drop'}}
    yield from sets
    for chain, rules in chains.items():
        yield from ({'rule': {'family': family, 'table': 't', 'chain': chain, 'expr': rule}} for rule in rules)
    yield {'rule': {'family': family, 'table': 'another', 'chain': 'input', 'expr': [DROP]}}


class Firewall(unittest.TestCase):
    def judged(self, rules, version=4):
        return ' '.join(finding.level for finding in TOOL.look_at_firewall(list(rules), 4420, version, 'eth0'))

    def test_rulesets(self):
        for name, (want, policy, rules, chains) in FIREWALLS.items():
            with self.subTest(name):
                self.assertEqual(self.judged(ruleset(policy, {'input': rules, **chains}, sets=SETS)), want)

    def test_family(self):
        for family, wants in (('ip', ('fault', '')), ('ip6', ('', 'fault')), ('inet', ('fault', 'fault')),
                              ('bridge', ('', '')), ('arp', ('', ''))):
            for version, want in zip((4, 6), wants):
                with self.subTest(f'{family} {version}'):
                    self.assertEqual(self.judged(ruleset('drop', {'input': []}, family), version), want)


class Listeners(unittest.TestCase):
    def levels(self, netdev, nft):
        listener = {'dev': 'srnic0', 'local': '0.0.0.0:4420', 'socket': 'yes'}
        with mock.patch.multiple(TOOL, links_on=lambda _: [{'ifname': 'srnic0', 'netdev': netdev}],
                                 read=lambda _: [listener, {**listener, 'local': '[::]:4420'}], said=lambda *_: nft):
            return [finding.level for finding in TOOL.look_at_listeners(None)]

    def test_firewall(self):
        shut = json.dumps({'nftables': list(ruleset('drop', {'input': []}))})
        self.assertEqual(self.levels('eth0', shut), ['ok', 'fault'])
        # doctor cannot read the firewall of another network namespace.
        self.assertEqual(self.levels(None, shut), ['ok'])

    def test_no_answer(self):
        for nft in None, '', '{}', json.dumps({'nftables': list(ruleset('drop', {'input': [[{'match': {}}]]}))}):
            with self.subTest(nft):
                self.assertEqual(self.levels('eth0', nft), ['ok'])


# --- doctor: the build ----------------------------------------------------------------------------


class Build(unittest.TestCase):
    def test_kernel_without_rdma(self):
        for config, want in (('# CONFIG_INFINIBAND is not set', 'has no RDMA'), ('CONFIG_INFINIBAND=m', 'not installed'),
                             ('', 'not installed')):
            with self.subTest(config), mock.patch.object(pathlib.Path, 'exists', return_value=True), \
                    mock.patch.multiple(TOOL, said=lambda *_: None, text_of=lambda _, config=config: config):
                finding, = TOOL.look_at_build('6.1.0-1-amd64')
                self.assertEqual(finding.level, 'fault')
                self.assertIn(want, finding.text)


class Kernel(unittest.TestCase):
    def test_tested(self):
        with mock.patch.object(TOOL, 'said', lambda *_: None):
            for release, want in (('6.1.0-57-amd64', 'ok'), ('6.12.117+deb12-rt-amd64', 'ok'),
                                  ('6.12.9+deb13-amd64', 'ok'), ('7.3.1+deb13-amd64', 'ok'), ('6.16.3+deb13-amd64', 'warning'),
                                  ('6.1.0-57-cloud-amd64', 'warning')):
                self.assertEqual([finding.level for finding in TOOL.look_at_kernel(release)], [want], release)


class Log(unittest.TestCase):
    def test_lines(self):
        for line, want in (('Loading of unsigned module is rejected', 'signature'),
                           ('Loading of module with unsupported crypto is rejected', 'signature'),
                           ('Loading of module with unavailable key is rejected', 'signature'),
                           ('Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7',
                            'locked down'),
                           ('RDMA CMA: cma_listen_on_dev, error -98', 'could not listen')):
            with self.subTest(line), mock.patch.object(TOOL, 'said', lambda *_, line=line: f'[    1.2] {line}\n'):
                finding, = TOOL.look_at_log()
                self.assertIn(want, finding.text)


# --- doctor: addresses and links ------------------------------------------------------------------


class Address(unittest.TestCase):
    def found(self, address, own=False, down=False, fits=9000, told=()):
        """Have doctor check ADDRESS. Return the levels of doctor's findings, the interface, and the
        commands that doctor ran. OWN: ADDRESS is the host's; DOWN: there is no route to ADDRESS.
        FITS: size of the largest packets that arrive; TOLD: what TCP knows of it after each loss."""
        def objects(*command):
            commands.append(' '.join(command))
            if down:
                return []
            if command[-4:] == ('address', 'show', 'dev', 'eth1'):
                return [{'ifname': 'eth1', 'mtu': 9000}]
            return [{'dev': 'eth1'}] if 'route' in command else [{'ifname': 'eth1'}] if own else []

        def said(*command):
            commands.append(' '.join(command))
            return '' if command[0] != 'ping' or int(command[-2]) + 28 <= fits else None

        commands, levels, told = [], [], iter(told)
        with mock.patch.multiple(TOOL, objects=objects, said=said, path_mtu=lambda _: next(told)), \
                mock.patch('shutil.which', return_value='ping'):
            look = TOOL.look_at_address(TOOL.interface_or_address(address))
            while True:
                try:
                    levels.append(next(look))
                except StopIteration as end:
                    return ' '.join(finding.level for finding in levels), end.value, commands

    def test_far(self):
        levels, netdev, commands = self.found('192.0.2.1')
        self.assertEqual((levels, netdev), ('ok', 'eth1'))
        self.assertEqual(commands[1], 'ip -j route get 192.0.2.1')
        self.assertTrue(commands[-1].endswith(' -s 8972 192.0.2.1'), commands)      # MTU without headers of IP and ICMP

    def test_path(self):
        for told, want in ([9000], 'fault'), ([1500], 'ok'), ([4000, 1500], 'ok'), ([4000, 4000], 'fault'):
            with self.subTest(told):
                self.assertEqual(self.found('192.0.2.1', fits=1500, told=told)[0], want)

    def test_scope(self):
        levels, netdev, commands = self.found('fe80::1%eth1')
        self.assertEqual((levels, netdev), ('ok', 'eth1'))
        pings = [command for command in commands if command.startswith('ping')]
        self.assertEqual(len(pings), 2)
        for command in set(commands) - {'ip -j address show dev eth1'}:
            self.assertTrue(command.endswith(' fe80::1%eth1' if command in pings else ' fe80::1 dev eth1'), command)

    def test_no_scope(self):
        self.assertEqual(self.found('fe80::1')[:2], ('fault', None))
        self.assertEqual(self.found('fe80::1', own=True)[:2], ('', 'eth1'))

    def test_no_way(self):
        self.assertEqual(self.found('fe80::1%eth1', down=True)[:2], ('fault', None))
        self.assertEqual(self.found('192.0.2.1', down=True)[:2], ('fault', None))


class Link(unittest.TestCase):
    def test_other_name(self):
        """An interface may have a second name, which "rdma link" does not print."""
        asked = []
        with mock.patch.multiple(TOOL, interface=lambda _: {'ifname': 'eth0'}, is_exclusive=lambda: False,
                                 links_on=lambda name: asked.append(name) or []):
            list(TOOL.findings('enp9s0'))
        self.assertEqual(set(asked) - {None}, {'eth0'})

    def test_ipv6_alone(self):
        routes = {('2001:db8::1',): [{'dev': 'eth6'}]}
        with mock.patch.multiple(TOOL, objects=lambda *command: routes.get(command[4:], []), links_on=lambda _: [],
                                 is_exclusive=lambda: False, has_units=lambda: False):
            self.assertIn('netdev eth6', next(TOOL.look_at_links(None)).remedy)

    def level(self, *scopes):
        addresses = [{'local': str(number), 'scope': scope} for number, scope in enumerate(scopes)]
        row = {'flags': ['UP'], 'mtu': 1500, 'addr_info': addresses}
        with mock.patch.object(TOOL, 'objects', lambda *_: [row]):
            return ' '.join(finding.level for finding in TOOL.look_at_link('a', 'eth0', 'ACTIVE'))

    def test_addresses(self):
        self.assertEqual([self.level(), self.level('link'), self.level('link', 'global')], ['fault', 'warning', 'ok'])


# --- ci-setup -------------------------------------------------------------------------------------

LINKS = '''
link rxe0/1 state ACTIVE physical_state LINK_UP netdev eth0
link srnic_eth0/1 state DOWN physical_state DISABLED netdev eth0
link siw1/1 state ACTIVE physical_state LINK_UP netdev eth0
link srnic_eth1/1 state ACTIVE physical_state LINK_UP netdev eth0x1
'''


class CiSetup(unittest.TestCase):
    """Tests of functions of ci-setup, in a mount namespace with a made-up /sys/class/infiniband"""

    def ends(self, command):
        return in_namespace('\n'.join([
            'mkdir -p /sys/class/infiniband/{rxe0,{srnic_eth0,siw1,srnic_eth1}/iw_mpa}',
            'rdma() { [[ $# -eq 2 ]] && echo "$LINKS" || grep "^link $3 " <<<"$LINKS"; }',
            'eval "$(sed \'$d\' "$CI_SETUP")"', command]),
            LINKS=LINKS.strip(), CI_SETUP=str(TOP / 'scripts' / 'ci-setup'))

    def test_device(self):
        self.assertEqual(self.ends('device_on eth0'), (0, 'srnic_eth0\n', ''))
        self.assertEqual(self.ends('device_on eth0.1'), (0, '', ''))
        self.assertEqual(self.ends('device_on eth0x1'), (0, 'srnic_eth1\n', ''))

    def test_address(self):
        for line, want in (('eth1 UP 10.0.0.5/24 10.0.0.6/24 2001:db8::5/64', '10.0.0.5'),
                           ('wg0 UNKNOWN 10.9.0.1 peer 10.9.0.2/32', '10.9.0.1'),
                           ('eth2@if5 UP 2001:db8::5/64', '2001:db8::5'), ('eth3 DOWN', ''), ('', '')):
            with self.subTest(line):
                status, said, _ = self.ends(f'ip() {{ echo {line}; }}; address_of any')
                self.assertEqual((status, said.strip()), (0, want))

    def test_headers(self):
        """A kernel may have headers that are of no package."""
        for folder, want in ('some', 'apt-get -q -y install /pkg '), ('none', 'there is no package linux-headers-x'):
            with self.subTest(folder), tempfile.TemporaryDirectory() as top:
                os.makedirs(f'{top}/some/build')
                pathlib.Path(top, 'some', 'build', 'Makefile').touch()
                self.assertIn(want, ' '.join(self.ends(
                    f'KREL={folder}; mount --bind {top} /lib/modules; headers() {{ echo linux-headers-x; }}\n'
                    'apt-get() { echo apt-get "$@"; }; has_package() { false; }; is_installed() { true; }\n'
                    'install /pkg')[1:]))

    def test_active(self):
        for netdev, status in ('eth0', 1), ('eth0x1', 0), ('eth0.1', 1):
            with self.subTest(netdev):
                self.assertEqual(self.ends(f'is_active {netdev}')[0], status)


# --- iw_mpa.lua -----------------------------------------------------------------------------------


def segment(frames=b'', sender=1, flags=0x18, seq=1, ack=1):
    """Return an IP packet with a TCP segment of the client (SENDER 1) or of the server (2)."""
    ports = (20000, 4420)[::3 - 2 * sender]
    tcp = struct.pack('>HHIIBBHHH', *ports, seq, ack, 0x50, flags, 65535, 0, 0) + frames
    return struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0,
                       bytes((10, 0, 0, sender)), bytes((10, 0, 0, 3 - sender))) + tcp


def shown(packets, snap=65535):
    """Return tshark's text for each packet; the capture has at most SNAP bytes of each."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'some.pcap')
        with open(path, 'wb') as file:
            file.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, snap, 228))
            for number, data in enumerate(packets):
                file.write(struct.pack('<IIII', number, 0, len(data[:snap]), len(data)) + data[:snap])
        return judge_tshark.run(path, '-O', 'iw_mpa,iw_mpa_segment').split('\nFrame ')


class Lua(unittest.TestCase):
    def opening(self, flags, revision, private_data, snap):
        """Return tshark's text for an MPA Request, of which the capture has at most SNAP bytes."""
        request = b'MPA ID Req Frame' + struct.pack('>BBH', flags, revision, len(private_data)) + private_data
        text = shown([segment(flags=2, seq=0, ack=0), segment(sender=2, flags=0x12, seq=0), segment(request)], snap)[2]
        self.assertNotIn('Lua Error', text)
        return text

    def test_cut(self):
        for flags, revision in (0x40, 1), (0x50, 2):
            for snap in 60, 64, 163:
                with self.subTest(f'{revision} {snap}'):
                    text = self.opening(flags, revision, struct.pack('>HH', 0x8001, 1) + bytes(100), snap)
                    self.assertIn('MPA enhanced (RFC 6581), cut by the capture\n', text)
                    self.assertNotIn('IRD', text)
            self.assertNotIn('MPA enhanced', self.opening(flags, revision, bytes(100), 59))

    def test_whole(self):
        for snap in 164, 65535:
            text = self.opening(0x50, 2, struct.pack('>HH', 0x8001, 1) + bytes(100), snap)
            self.assertNotIn('cut', text)
            self.assertIn('= IRD: 1\n', text)
            self.assertIn('private data: 100]\n', text)
        self.assertIn('private data: 0]\n', self.opening(0x40, 1, b'', 60))
        self.assertIn('IRD and ORD are missing', self.opening(0x50, 2, b'abc', 60))

    def test_sctp(self):
        chunks = (b'\0\1', b'\0\1A', b'\0\1' + bytes(10), b'\0\1AC' + bytes(3), b'\0\1AG' + bytes(18))
        for text in shown([judge.packet(20000 + number, 1, 1, 0, 16, chunk) for number, chunk in enumerate(chunks)]):
            self.assertIn('Malformed Packet', text)
            self.assertNotIn('Lua Error', text)
        good = shown([judge.packet(20000, 1, 1, 0, 16, b'\0\1\xc1\x40' + bytes(12) + b'data')])[0]
        self.assertNotIn('Malformed', good)
        self.assertIn('DDP-SSN: 1\n', good)


if __name__ == '__main__':
    unittest.main()
