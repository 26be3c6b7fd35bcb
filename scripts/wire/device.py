# SPDX-License-Identifier: GPL-2.0
"""The device under test, as far as a peer and a ULP can tell one from another."""

import re

import needs
from mpa import READ, SEND, WRITE

OURS = 128          # Reads that our devices serve, and send, at a time
MOST = 255          # stands for the most that a device supports


class Srnic:
    rtr = SEND | WRITE | READ       # RTR types that the device receives and sends
    rev = 2                         # newest revision of MPA that the device supports
    asks_rtr = True                 # does the device set A in its Request?
    asks_crc = True
    has_markers = True
    most_ird = most_ord = OURS
    bad_crc = "WC RECV Work Request Flushed Error 0"    # completion after a wrong CRC; None: any error
    modify_qp = "srnic_modify_qp"   # the driver's function for ibv_modify_qp
    outlived = True                 # the device can be removed while programs have it open
    tells_of_runts = True           # a first FPDU shorter than its header gets a Terminate of DDP; None: unknown
    repeats_rtr = True              # a Write as RTR message is repeated for a silent peer
    urgent = "err_URGENT"           # the counter of streams that end because of urgent data
    faults = {}                     # messages of srnic in the log -> those of this driver
    own_terminates = True           # the library or the driver makes Terminates, not siw

    @staticmethod
    def depths(ird, ord):  # pylint: disable=redefined-builtin
        return ird, ord


class SiwMpa(Srnic):
    rtr = WRITE | READ
    has_markers = False
    bad_crc = "WC RECV general error {size}"
    modify_qp = "siw_mpa_qp_modify"
    outlived = False
    tells_of_runts = False
    urgent = "STREAM"
    faults = {"wrong CRC": "siw found an error",
              "the peer found an error; Terminate received: layer 2, type 0, code 0x02":
              "siw gave the stream up"}
    own_terminates = False

    @staticmethod
    def depths(ird, ord):  # pylint: disable=redefined-builtin
        """IRD and ORD as siw uses them: its queues have a power of two of entries. It rounds
        IRD up, and with siw_mpa ORD is rounded down."""
        return 1 << (ird - 1).bit_length() if ird else 0, 1 << ord.bit_length() - 1 if ord else 0


class Other(Srnic):
    """A driver that is not ours, as the kernel's siw. Its first connections say what it has: see survey.py."""

    rtr = 0
    has_markers = False
    bad_crc = None
    modify_qp = None
    outlived = False
    tells_of_runts = None
    repeats_rtr = False


DEVICES = {"srnic": Srnic, "siw_mpa": SiwMpa, "siw": Other, "other": Other}
OWN = "srnic", "siw_mpa"
CHOSEN = ["srnic"]

# Optional features: a name, whether the device has it, and the rules about it
FEATURES = (
    ("MPA revision 2", lambda it: it.rev >= 2, r"(E|X)-.*|F-rtr"),
    ("to ask for an RTR message", lambda it: it.asks_rtr,
     r"initiator .*(E-5-[12]|E-9\.2-(1|2|8|9|12|13)|E-8-1|F-rtr)"),
    ("Markers", lambda it: it.has_markers, r"F-4\.3-\d+|M-4\.3-.*|M-7\.1\.1-5"),
)


def choose(name):
    CHOSEN[:] = [name]


def driver_name():
    return CHOSEN[0]


def device():
    return DEVICES[driver_name()]


def need_depths(ird, ord):  # pylint: disable=redefined-builtin
    """librdmacm refuses what the device has not: a test for so many is about another device."""
    if ird not in range(device().most_ird + 1) and ird != MOST or \
            ord not in range(device().most_ord + 1) and ord != MOST:
        raise needs.Unsupported("so many Reads at a time")


def need_repeats():
    if not device().repeats_rtr:
        raise needs.Unsupported("to repeat the RTR message")


def lacks(module, ids):
    """Return the feature that a test of these rules needs, if the device lacks it. For our own
    devices each test checks that itself."""
    if driver_name() in OWN:
        return None
    return next((name for name, has, rules in FEATURES if not has(device()) and
                 any(re.fullmatch(rules, one) or re.fullmatch(rules, f"{module} {one}") for one in ids)), None)
