# SPDX-License-Identifier: GPL-2.0
"""Link: a connection between the device under test and the test's peer, up to Full Operation.

    link = Link(b, "responder", ...)    connect; the device is the responder
    link.peer, link.dut, link.qp        the peer (peer.py), the device and its QP (verbs.py)

The defaults are: MPA revision 2, peer-to-peer model with an RDMA Write as RTR message, CRCs, no
Markers, and an MSS of 1460 bytes, as on Ethernet.
"""

import socket
import subprocess

import fpdu
import mpa
import needs
import rdmap
from device import device, need_depths
from harness import LIMIT, check, equal, pd_arg, poll
from peer import FIN, RST, RdmapPeer
from verbs import ERR, WR_FLUSH_ERR, Dut, Qp

ROLES = "responder", "initiator"
TIMESTAMPS = 12         # bytes of TCP's time stamp option in each segment: EMSS is so much smaller
TCPI_OPTIONS = 5        # offset of tcpi_options in struct tcp_info; bit 0 is for time stamps
MSS = 1460
NARROW = 1 << 14        # bytes of a small SO_RCVBUF; the kernel doubles the value

ACCESS, REQUEST, FATAL = "QP_ACCESS_ERR", "QP_REQ_ERR", "QP_FATAL"

# (layer, type) of a Terminate that the device sends -> the asynchronous event for the ULP: ACCESS
# if the peer violated memory protection, REQUEST if its message was invalid in another way, else
# FATAL; event_of() has the exceptions
EVENTS = {(0, 0): FATAL, (0, 1): ACCESS, (0, 2): REQUEST, (1, 0): FATAL, (1, 1): ACCESS,
          (1, 2): REQUEST, (2, 0): FATAL}


# Name for a test's case -> arguments of Link, which vary the MPA startup and the format of FPDUs
FRAMINGS = {
    "no_crc": {"crc": False},
    "markers": {"markers": True, "settings": {"markers": 1}},
    "markers_no_crc": {"crc": False, "markers": True, "settings": {"markers": 1}},
    "revision_1": {"rev": 1},
    "client_server": {"rtr": 0},
    "read_rtr": {"rtr": mpa.READ},
}


def rtr_types(role):
    """Return the RTR types that the device supports in this role: none if it is the initiator and
    does not ask for an RTR message."""
    if role == "responder":
        return device().rtr
    return device().sent_rtr if device().asks_rtr else 0


def usual_rtr(role):
    """Return the RTR type for tests whose result does not depend on it: Write, or another one if
    the device does not support Write, 0 if it supports none."""
    return next((kind for kind in (mpa.WRITE, mpa.READ, mpa.SEND) if rtr_types(role) & kind), 0)


def has_rtr(role, rtr):
    """Return rtr, the RTR type that a test is about. Skip the test if the device does not support
    that type in this role."""
    if rtr and role == "initiator" and not device().asks_rtr:
        raise needs.Unsupported("to ask for an RTR message")
    if rtr & ~rtr_types(role):
        raise needs.Unsupported("an RTR message of each type")
    return rtr


def has_timestamps(sock):
    """Do the segments of this connection have TCP's time stamp option?"""
    return bool(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8)[TCPI_OPTIONS] & 1)


def event_of(error):
    special = {rdmap.TAGGED_VERSION: REQUEST, rdmap.STREAM_CATASTROPHIC: FATAL,
               rdmap.CANNOT_INVALIDATE: ACCESS}
    return special.get(error) or EVENTS[error.layer, error.etype]


def both(*cases):
    """Return each case of a test twice: with the device as responder, and with it as initiator."""
    return [(*case, role) for case in cases or ((),) for role in ROLES]


class Link:
    """One connection between the device under test and the test's peer. Arguments: crc, markers:
    flags C and M in the peer's MPA Request or Reply; rtr: type of the RTR message, 0 for the
    client-server model, None for one that the device supports; rev: MPA revision 1 or 2, None for
    the highest that the device supports; ird, ord: those of the device's QP; peer_ird, peer_ord: in
    the peer's Request or Reply; mss: TCP_MAXSEG, None for TCP's default; narrow: the peer has a
    small receive buffer; setup(dut, qp): called before the connection is made; qp: arguments of
    verbs.Qp; first=False: the test itself sends or reads the first FPDU; pd, dut_pd: private data
    of peer and device; large: reserved bits to set in the peer's Request or Reply, where by one
    of them an extension of iw_mpa offers FPDUs longer than a TCP segment; says_large: must the
    device's Request or Reply offer such FPDUs?
    """

    def __init__(self, b, role, *, crc=True, markers=False, rtr=None, rev=None, ird=4, ord=4,
                 peer_ird=4, peer_ord=4, mss=MSS, setup=None, first=True, pd=b"", dut_pd=b"",
                 dut=None, qp=None, name="", settings=None, narrow=False, large=0,
                 says_large=False):  # pylint: disable=redefined-builtin
        self.b, self.role, self.name = b, role, name
        rev = device().rev if rev is None else rev
        rtr = usual_rtr(role) if rtr is None else has_rtr(role, rtr)
        if markers and not device().has_markers:
            raise needs.Unsupported("Markers")
        rtr = 0 if rev == 1 else rtr
        self.crc, self.want_markers, self.rtr, self.rev = crc, markers, rtr, rev
        need_depths(ird, ord)
        self.ird, self.ord, self.peer_ird, self.peer_ord = ird, ord, peer_ird, peer_ord
        self.mss, self.first, self.pd, self.dut_pd = mss, first, pd, pd_arg(dut_pd)
        self.narrow, self.large, self.says_large = narrow, large, says_large
        if not crc and device().asks_crc:
            b.set(crc=0)
        if not rtr and role == "initiator" and device().asks_rtr:
            b.set(peer_to_peer=0)
        b.set(**(settings or {}))
        if narrow:
            # With a small send buffer the device's TCP takes only a few of the bytes that the peer
            # does not read: the others remain in the driver.
            b.put("/proc/sys/net/ipv4/tcp_wmem", "4096 16384 32768")
        self._make_qp(dut, qp or {})
        if setup:
            setup(self.dut, self.qp)
        self.responder() if role == "responder" else self.initiator()

    def _make_qp(self, dut, words):
        self.dut = dut or Dut(self.b)
        self.verbs = self.dut.verbs
        self.qp = Qp(self.dut, f"qp{self.name}",
                     **{"pd": "pd", "scq": "scq", "rcq": "rcq", **words})

    # --- coming up ---

    def _socket(self):
        sock = socket.socket(self.b.family)
        self.b.things.append(sock.close)
        sock.settimeout(LIMIT)
        if self.mss:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, self.mss)
        if self.narrow:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, NARROW)
        return sock

    @property
    def flags(self):
        return (mpa.C if self.crc else 0) | (mpa.M if self.want_markers else 0) | self.large

    def _enhanced(self, rtr):
        return {"a": int(bool(rtr)), "rtr": rtr, "ird": self.peer_ird, "ord": self.peer_ord}

    def _enter(self, tcp, frame, depth):
        """Begin Full Operation: create the RdmapPeer. frame: the device's Request or Reply; depth:
        the negotiated limit of the Reads that the device may have unanswered"""
        self.frame = frame
        # If Request or Reply has C set, both directions have CRCs (RFC 5044, 7.1.1).
        crc = self.crc or bool(frame.flags & mpa.C)
        self.emss = self.mss - TIMESTAMPS * has_timestamps(tcp.sock) if self.mss else None
        mulpdu = fpdu.mulpdu(self.emss, self.want_markers) if self.mss else fpdu.MAX_ULPDU
        if self.says_large and self.large:
            mulpdu = fpdu.MAX_ULPDU
        self.mulpdu = mulpdu
        self.peer = RdmapPeer(tcp, crc=crc, out_markers=bool(frame.flags & mpa.M),
                              in_markers=self.want_markers, mulpdu=mulpdu, depth=depth,
                              bench=self.b)
        self.b.things.append(self.peer.finish)

    def need_segments(self):
        """Skip the test if the network's MSS is less than self.mss: then MULPDU is less, too, and
        the test's FPDUs would not have the lengths that it checks."""
        if self.peer.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG) < self.emss:
            raise needs.Skipped(f"needs a network whose TCP segments have {self.mss} octets")

    def responder(self):
        self.ask()
        self.accept()
        if self.first:
            self.send_rtr()
            self.established()

    def ask(self):
        b = self.b
        self.verbs.do(f"listen listener{self.name} {b.address} {b.port}")
        self._dial()
        self.id = self.verbs.event("CONNECT_REQUEST").id

    def _dial(self):
        """Connect the peer's socket to the device's listener, and send the peer's MPA Request."""
        b = self.b
        sock = self._socket()
        sock.connect((b.address, b.port))
        self.tcp = b.player("initiator", sock, sock.getsockname()[1])
        if self.rev == 1:
            self.tcp.send(mpa.request(self.pd, self.flags))
        else:
            self.tcp.send(mpa.request2(self.pd, self.flags, **self._enhanced(self.rtr)))

    def accept(self):
        self.verbs.do(f"accept {self.id} {self.qp.name} {self.ird} {self.ord} "
                      f"{self.dut_pd}")
        reply = self.tcp.recv_reply(self.says_large)
        self._enter(self.tcp, reply, reply.ord)

    def send_rtr(self):
        """Send the first FPDU of the peer, the initiator: of the RTR type that the Reply selected,
        or a Write if it selected none."""
        kind = self.frame.rtr or mpa.WRITE
        check(not self.rtr or self.frame.rtr, "no type of RTR message was agreed on")
        if kind & mpa.WRITE:
            self.peer.write(1, 0)
        elif kind & mpa.READ:
            self.peer.read(0, 0, 0)
            self.peer.hear(rdmap.READ_RESPONSE)
        else:
            self.peer.send()

    def established(self):
        equal(self.verbs.event("ESTABLISHED").status, 0, "status of ESTABLISHED")

    def initiator(self):
        b = self.b
        listening = self._socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((b.listen_address, b.port))
        listening.listen(8)
        self._connect()
        sock, address = listening.accept()
        listening.close()
        b.things.append(sock.close)
        self.tcp = b.player("responder", sock, address[1])
        request = self.tcp.recv_request(self.says_large)
        if self.rev == 1:
            self.tcp.send(mpa.reply(self.pd, self.flags))
        else:
            self.tcp.send(mpa.reply2(self.pd, self.flags, **self._enhanced(
                self.rtr if request.a else 0)))
        depth = None if request.ord is None else min(request.ord, self.peer_ird)
        self._enter(self.tcp, request, depth)
        equal(bool(request.a), bool(self.rtr), "A of the Request")
        if self.rtr and self.first:
            self.hear_rtr()
        if self.first:
            self.established()

    def _connect(self):
        self.id = f"id{self.name}"
        self.verbs.do(f"resolve {self.id} {self.b.listen_address} {self.b.port}")
        self.verbs.do(f"connect {self.id} {self.qp.name} {self.ird} {self.ord} {self.dut_pd}")

    def hear_rtr(self):
        op = {mpa.WRITE: rdmap.WRITE, mpa.READ: rdmap.READ_REQUEST, mpa.SEND: rdmap.SEND}[self.rtr]
        segment = self.peer.hear(op)
        if op == rdmap.READ_REQUEST:
            equal(segment.read.size, 0, "size of the Read that is the RTR message")
            self.peer.respond(segment.read)
        else:
            equal((segment.data, segment.last), (b"", True), "RTR message")
        return segment

    # --- traffic ---

    def ping(self, data=b"ping"):
        """Post a receive, and check that it gets a Send of the peer. The device has then processed
        all FPDUs that the peer sent before."""
        place = self.qp.recv(max(len(data), 1))
        self.peer.send(data)
        self.qp.received(place, data)

    def pong(self, data=b"pong"):
        """Post a Send at the device, and check that the peer gets it and that the WR completes."""
        self.qp.send(data)
        equal(self.peer.hear_message(rdmap.SEND), data, "Send")
        self.qp.sent()

    def works(self):
        """Check a Send in each direction, and that the ULP got no unexpected event."""
        self.ping()
        self.pong()
        self.verbs.nothing_happened()

    # --- bytes of the device that are in TCP ---

    def in_tcp(self):
        """Return how many of the device's bytes are in TCP: in the send queue of the device's
        socket, and in the receive queue of the peer's."""
        needs.need("here")
        side = "sport" if self.role == "responder" else "dport"
        lines = subprocess.run(["ss", "-Htn", f"{side} = :{self.b.port}"], check=True, text=True,
                               stdout=subprocess.PIPE, timeout=LIMIT).stdout.splitlines()
        check(len(lines) == 1, f"not one connection: {lines}")
        return int(lines[0].split()[2]) + self.peer.unread()

    def note_what_is_on_its_way(self):
        """Record how many bytes the device has passed to TCP so far, for only_that_came(). The
        caller has to let the peer's receive window close before, so that the device passes no more
        bytes to TCP now."""
        self.on_its_way = self.peer.taken() + self.in_tcp()

    def only_that_came(self):
        """Check that since note_what_is_on_its_way() the device passed to TCP at most one FPDU and
        a Terminate."""
        said = self.peer.taken()
        if self.peer.conduct.terminated:
            said -= len(self.peer.fpdus[-1].raw)
        most = self.on_its_way + fpdu.plain_size(self.mulpdu) + 4
        if self.want_markers:
            most += fpdu.MARKER * (1 + self.mulpdu // fpdu.SPACING)
        check(said <= most, f"{said} octets, where {self.on_its_way} were on their way")

    # --- the end ---

    def refused(self, error, ulpdu=None, statuses=(WR_FLUSH_ERR,), event=None, flush=True):
        """Expect that the device ends the stream because of ulpdu, by default the peer's last one:
        it sends a Terminate with this error and ulpdu's headers, then FIN, and no RST. Then check
        the events, the QP and the WRs of the device: see ended()."""
        self.peer.hear_terminate_of(error, self.peer.last if ulpdu is None else ulpdu)
        self.peer.hear_end(FIN)
        check(not self.peer.is_reset(), "an RST behind the FIN")
        self.ended(event or event_of(error), statuses, flush)

    def ended(self, event, statuses=(WR_FLUSH_ERR,), flush=True):
        """Check that the ULP gets DISCONNECTED and the asynchronous event, that the QP is in the
        error state, and that each outstanding WR completes once, in order.

        event: the name of the asynchronous event, None if the stream ended without an error
        """
        want = {f"{event} {self.qp.name}"} if event else set()
        if self.qp.srq != "-":
            want.add(f"QP_LAST_WQE_REACHED {self.qp.name}")
        equal({self.verbs.any_async() for _ in want}, want, "asynchronous events")
        self.close()
        self.disconnected()
        check(poll(lambda: self.qp.state() == ERR), f"the QP is in state {self.qp.state()}")
        if flush:
            self.qp.flushed(statuses)
            self.dut.nothing_completes(self.qp.scq, self.qp.rcq)
        self.verbs.nothing_happened()

    def close(self):
        """Send the peer's FIN; ignore an error, as the device may have reset the TCP connection."""
        try:
            self.peer.fin()
        except OSError:
            pass

    def disconnected(self):
        self.verbs.event("DISCONNECTED")

    def closed_without_terminate(self, how=FIN, event=None, **kw):
        """Expect that the device sends `how`, FIN or RST, and no FPDU before; then call ended()."""
        self.peer.hear_end(how)
        self.ended(event, **kw)

    def overflowed(self, cq, ulpdu=b""):
        """Expect what must follow when a CQ was full: a Terminate, and the events CQ_ERR and
        QP_FATAL. ulpdu: the ULPDU of the peer's message whose receive got no CQE; empty if it was a
        WR of the device's send queue that got no CQE"""
        self.peer.hear_terminate_of(rdmap.STREAM_CATASTROPHIC_MD if ulpdu else rdmap.STREAM_CATASTROPHIC, ulpdu)
        self.peer.hear_end()
        equal({self.verbs.any_async() for _ in range(2)},
              {f"CQ_ERR {cq}", f"QP_FATAL {self.qp.name}"}, "asynchronous events")
        self.close()
        self.disconnected()

    def aborted(self, event=FATAL, statuses=(WR_FLUSH_ERR,)):
        """Expect that the device ends the stream by FIN or RST, and sends no Terminate before;
        other FPDUs may come before."""
        how = self.peer.hear_until_end()
        check(how in (FIN, RST), how)
        check(not self.peer.conduct.terminated, "a Terminate that should not be")
        self.ended(event, statuses)
