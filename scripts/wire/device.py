# SPDX-License-Identifier: GPL-2.0
"""The device under test, as far as a peer and a ULP can tell one from another."""

from mpa import READ, SEND, WRITE


class Srnic:
    rtr = SEND | WRITE | READ       # the RTR types that it takes and sends
    bad_crc = "WC RECV Work Request Flushed Error 0"    # of a Send whose CRC is wrong
    modify_qp = "srnic_modify_qp"   # a function of its own that handles ibv_modify_qp
    outlived = True                 # programs that have it open do not keep it
    tells_of_runts = True           # a first FPDU shorter than its header is DDP's error, and told
    urgent = "err_URGENT"           # what counts streams that end as urgent data comes
    faults = {}                     # what the log says of a stream in other words than srnic
    own_terminates = True           # the library or the driver makes them, not siw

    @staticmethod
    def depths(ird, ord):  # pylint: disable=redefined-builtin
        return ird, ord


class SiwMpa:
    rtr = WRITE | READ
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
        """What siw makes of them: queues of it have a power of two of entries. It takes the next
        above for what it serves, siw_mpa the next below for what it asks for."""
        return 1 << (ird - 1).bit_length() if ird else 0, 1 << ord.bit_length() - 1 if ord else 0


DEVICES = {"srnic": Srnic, "siw_mpa": SiwMpa}
CHOSEN = ["srnic"]


def choose(name):
    CHOSEN[:] = [name]


def driver_name():
    return CHOSEN[0]


def device():
    return DEVICES[driver_name()]
