# SPDX-License-Identifier: GPL-2.0
"""The properties in which the drivers under test differ, as far as a peer or a ULP can observe
them."""

import re

import needs
from mpa import READ, SEND, WRITE

OURS = 128          # limit of IRD and of ORD of srnic and siw_mpa
MOST = 255          # librdmacm's RDMA_MAX_RESP_RES: stands for the device's limit of IRD or ORD


class Srnic:
    rtr = SEND | WRITE | READ       # RTR types that the device receives
    sent_rtr = rtr                  # those that it sends
    rev = 2                         # newest revision of MPA that the device supports
    asks_rtr = True                 # does the device set A in its Request?
    asks_crc = True
    has_markers = True
    most_ird = most_ord = OURS
    bad_crc = "WC RECV Work Request Flushed Error 0"    # a receive's WC, wrong CRC; None: any error
    modify_qp = "srnic_modify_qp"   # the driver's function for ibv_modify_qp
    outlived = True                 # the device can be removed while programs have it open
    # If the first FPDU is shorter than its headers, does the ULP get ESTABLISHED without an error,
    # and the peer a Terminate? False: ESTABLISHED reports an error; None: unknown
    tells_of_runts = True
    repeats_rtr = True              # a Write as RTR message is repeated while the peer is silent
    urgent = "err_URGENT"           # the counter of streams that end because of TCP urgent data
    faults = {}                     # srnic's messages in the kernel's log -> those of this driver
    own_terminates = True           # iw_mpa or srnic makes the Terminates; for siw_mpa siw does

    @staticmethod
    def depths(ird, ord):  # pylint: disable=redefined-builtin
        return ird, ord


class SiwMpa(Srnic):
    rtr = sent_rtr = WRITE | READ
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
        """Return the IRD and ORD that siw uses if `ird` and `ord` are asked for. siw's queues for
        Reads have a power of two entries: siw rounds IRD up, and siw_mpa rounds ORD down before it
        passes ORD to siw."""
        return 1 << (ird - 1).bit_length() if ird else 0, 1 << ord.bit_length() - 1 if ord else 0


class Other(Srnic):
    """Any other driver, such as the kernel's siw: survey.py finds out which features it has."""

    rtr = sent_rtr = 0
    has_markers = False
    bad_crc = None
    modify_qp = None
    outlived = False
    tells_of_runts = None
    repeats_rtr = False


DEVICES = {"srnic": Srnic, "siw_mpa": SiwMpa, "siw": Other, "other": Other}
OWN = "srnic", "siw_mpa"
CHOSEN = ["srnic"]

# Optional features: name, function that returns whether a device has the feature, and a regular
# expression for the rules whose tests need it: "ID" or, if only those of one module, "MODULE ID"
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
    """Skip the test if `ird` or `ord` exceeds the device's limit: librdmacm would refuse the value,
    and no connection would be tried."""
    if ird not in range(device().most_ird + 1) and ird != MOST or \
            ord not in range(device().most_ord + 1) and ord != MOST:
        raise needs.Unsupported("so many Reads at a time")


def need_sent_rtr(kind):
    """Skip the test if the device does not send RTR messages of this type."""
    if kind & ~device().sent_rtr:
        raise needs.Unsupported("to send an RTR message of each type")


def need_outlived():
    """Skip the test if the module of the device's driver is in use while programs have the device
    open."""
    if not device().outlived:
        raise needs.Unsupported("to be removed while programs have it open")


def need_repeats():
    if not device().repeats_rtr:
        raise needs.Unsupported("to repeat the RTR message")


def lacks(module, ids):
    """Return the name of an optional feature that the device lacks and a test of `module` for the
    rules `ids` needs, else None. For srnic and siw_mpa always return None: tests find out the
    features of these two by device()."""
    if driver_name() in OWN:
        return None
    return next((name for name, has, rules in FEATURES if not has(device()) and
                 any(re.fullmatch(rules, one) or re.fullmatch(rules, f"{module} {one}") for one in ids)), None)
