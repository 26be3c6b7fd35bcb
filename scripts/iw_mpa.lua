-- SPDX-License-Identifier: GPL-2.0
--
-- RFC 6581 for Wireshark and tshark (4.0 to 4.4), whose own dissector of MPA knows RFC 5044 only.
--
--   tshark -o tcp.try_heuristic_first:TRUE -X lua_script:scripts/iw_mpa.lua -r FILE -O iw_mpa
--
-- To install it permanently, copy it into the personal Lua plugins folder (Help, About, Folders). Newer releases of
-- Wireshark run no script as root: use another user.
--
-- This plugin also reads chunks of DDP over SCTP (RFC 5043), with the fields that RFC 6581 adds to them.
--
-- This plugin is a post-dissector: it reads what the dissectors of MPA and RDMAP have found, and adds these fields:
--   iw_mpa.s                        the bit S of a frame of revision 2: it has enhanced data
--   iw_mpa.a .b .c .d               bits for: peer-to-peer model; RTR by Send, by RDMA Write, by RDMA Read
--   iw_mpa.ird iw_mpa.ord           IRD and ORD; 0x3fff: left to the ULPs
--   iw_mpa.large                    FPDUs of more than one TCP segment are allowed: an extension, in
--                                   reserved bits, in force if Request and Reply have it
--   iw_mpa.pd_len iw_mpa.pd         private data of the ULP, without the four bytes of enhanced data
--   iw_mpa.term                     error code of a Terminate of layer 2 (LLP), type 0 (MPA)
--   iw_mpa.crc_good                 for each FPDU whose CRC was checked; only where details are shown
--   iw_mpa.ssn iw_mpa.function      SCTP: DDP-SSN of a chunk, function code of session control
--   iw_mpa.wrong                    expert information, an error: what no sender may send
--
-- Wireshark itself also warns for every enhanced frame that Res is not 0 and Rev is not 1.

local mpa = Proto("iw_mpa", "MPA enhanced (RFC 6581)")

local TERM = {
    [1] = "TCP connection closed, terminated or lost",
    [2] = "CRC does not match",
    [3] = "Marker and ULPDU length do not match",
    [4] = "invalid MPA Request or Reply",
    [5] = "local catastrophic error",
    [6] = "insufficient IRD resources",
    [7] = "no matching RTR option",
}

local FUNCTION = {
    [1] = "Initiate",
    [2] = "Accept",
    [3] = "Reject",
    [4] = "Terminate",
    [5] = "Enhanced Initiate",
    [6] = "Enhanced Accept",
    [7] = "Enhanced Reject",
}

local fields = {
    s = ProtoField.bool("iw_mpa.s", "Enhanced (S)"),
    large = ProtoField.bool("iw_mpa.large", "FPDUs of more than one TCP segment are allowed"),
    a = ProtoField.bool("iw_mpa.a", "Peer-to-peer model (A)", 16, nil, 0x8000),
    b = ProtoField.bool("iw_mpa.b", "RTR by zero-length Send (B)", 16, nil, 0x4000),
    ird = ProtoField.uint16("iw_mpa.ird", "IRD", base.DEC, nil, 0x3fff),
    c = ProtoField.bool("iw_mpa.c", "RTR by zero-length RDMA Write (C)", 16, nil, 0x8000),
    d = ProtoField.bool("iw_mpa.d", "RTR by zero-length RDMA Read (D)", 16, nil, 0x4000),
    ord = ProtoField.uint16("iw_mpa.ord", "ORD", base.DEC, nil, 0x3fff),
    pd_len = ProtoField.uint16("iw_mpa.pd_len", "Length of the ULP's private data"),
    pd = ProtoField.bytes("iw_mpa.pd", "Private data of the ULP"),
    term = ProtoField.uint8("iw_mpa.term", "Terminate by MPA", base.DEC, TERM),
    ssn = ProtoField.uint16("iw_mpa.ssn", "DDP-SSN"),
    func = ProtoField.uint16("iw_mpa.function", "Function code", base.DEC, FUNCTION),
    crc_good = ProtoField.bool("iw_mpa.crc_good", "CRC is good"),
}
local wrong = ProtoExpert.new("iw_mpa.wrong", "Not as the RFCs want it", expert.group.PROTOCOL,
                              expert.severity.ERROR)

mpa.fields = fields
mpa.experts = { wrong }

local request = Field.new("iwarp_mpa.req")
local reply = Field.new("iwarp_mpa.rep")
local flags = Field.new("iwarp_mpa.res")
local reject = Field.new("iwarp_mpa.rej_flag")
local revision = Field.new("iwarp_mpa.rev")
local length = Field.new("iwarp_mpa.pdlength")
local private = Field.new("iwarp_mpa.privatedata")
local crc_check = Field.new("iwarp_mpa.crc_check")
local layer = Field.new("iwarp_rdma.term_layer")
local error_type = Field.new("iwarp_rdma.term_etype_llp")
local error_code = Field.new("iwarp_rdma.term_errcode_llp")

local S = 0x10
local LONGEST = 512

local function add_enhanced(tree, data)
    local first, second = data:range(0, 2), data:range(2, 2)

    tree:add(fields.a, first)
    tree:add(fields.b, first)
    tree:add(fields.ird, first)
    tree:add(fields.c, second)
    tree:add(fields.d, second)
    tree:add(fields.ord, second)
    if first:uint() < 0x8000 and (first:uint() >= 0x4000 or second:uint() >= 0x4000) then
        tree:add_proto_expert_info(wrong, "B, C or D without A")
    end
end

local function add_private_data(tree, data, size, from)
    tree:add(fields.pd_len, size - from):set_generated()
    if size > from then
        tree:add(fields.pd, data:range(from, size - from))
    end
end

local function add_frame(tree, frame)
    local bits, rev, size = flags().value, revision().value, length().value
    local bit = request() and 0x08 or 0x04
    local large = bits % (2 * bit) >= bit
    local data = private()

    bits = large and bits - bit or bits
    local enhanced = rev == 2 and bits == S

    tree = tree:add(mpa, frame.range)
    tree:add(fields.s, flags().range, enhanced):set_generated()
    if large then
        tree:add(fields.large, flags().range, true):set_generated()
    end
    if rev < 1 or rev > 2 then
        tree:add_proto_expert_info(wrong, "there is no revision " .. rev)
    elseif bits ~= 0 and not enhanced then
        tree:add_proto_expert_info(wrong, "reserved bits are set")
    end
    if request() and reject().value then
        tree:add_proto_expert_info(wrong, "R is set in a Request")
    end
    if size > LONGEST then
        tree:add_proto_expert_info(wrong, "more private data than 512 octets")
    elseif enhanced and size < 4 then
        tree:add_proto_expert_info(wrong, "S is set, but IRD and ORD are missing")
    elseif size > 0 and not data then
        tree:append_text(", cut by the capture")
    elseif enhanced then
        add_enhanced(tree, data.range)
        add_private_data(tree, data.range, size, 4)
    else
        add_private_data(tree, data and data.range, size, 0)
    end
end

local function add_terminate(tree)
    if layer().value == 2 and error_type().value == 0 then
        tree:add(mpa, error_code().range):add(fields.term, error_code().range)
    end
end

-- The verdict on a CRC is in the words of its line only, which are not made for a hidden tree.
local function add_crcs(tree, checks)
    tree = tree:add(mpa, checks[1].range)
    for _, check in ipairs(checks) do
        local good = check.display:find("Good CRC32", 1, true) ~= nil
        local item = tree:add(fields.crc_good, check.range, good):set_generated()
        if not good then
            item:add_proto_expert_info(wrong, check.display)
        end
    end
end

function mpa.dissector(_, _, tree)
    local checks = { crc_check() }
    local frame = request() or reply()

    if frame and length() then
        add_frame(tree, frame)
    end
    if layer() and error_type() and error_code() then
        add_terminate(tree)
    end
    if #checks > 0 and tree.visible then
        add_crcs(tree, checks)
    end
end

register_postdissector(mpa)

-- SCTP: a DDP Segment Chunk, and a DDP Stream Session Control chunk

local segment = Proto("iw_mpa_segment", "DDP Segment Chunk (RFC 5043)")
local control = Proto("iw_mpa_control", "DDP Stream Session Control (RFC 5043, RFC 6581)")
local ddp = Dissector.get("iwarp_ddp_rdmap")

local TERMINATE, ENHANCED = 4, 5

-- Is the DDP-SSN there?
local function add_ssn(tree, data)
    if data:len() < 2 then
        tree:add_proto_expert_info(wrong, "no DDP-SSN")
        return false
    end
    tree:add(fields.ssn, data:range(0, 2))
    return true
end

local function add_control(tree, data)
    local size = data:len() - 4

    if size < 0 then
        tree:add_proto_expert_info(wrong, "no function code")
        return
    end
    local code = data:range(2, 2):uint()
    tree:add(fields.func, data:range(2, 2))
    if not FUNCTION[code] then
        tree:add_proto_expert_info(wrong, "no such function")
    elseif size > LONGEST then
        tree:add_proto_expert_info(wrong, "more private data than 512 octets")
    elseif code == TERMINATE and size > 0 then
        tree:add_proto_expert_info(wrong, "private data in a Terminate")
    elseif code >= ENHANCED and size < 4 then
        tree:add_proto_expert_info(wrong, "IRD and ORD are missing")
    elseif code >= ENHANCED then
        add_enhanced(tree, data:range(4))
        add_private_data(tree, data:range(4), size, 4)
    elseif code ~= TERMINATE then
        add_private_data(tree, size > 0 and data:range(4), size, 0)
    end
end

function segment.dissector(data, packet, tree)
    if add_ssn(tree:add(segment, data:range(0, math.min(2, data:len()))), data) then
        pcall(ddp.call, ddp, data:range(2):tvb(), packet, tree)     -- an error is that it is malformed, which is shown
    end
end

function control.dissector(data, _, tree)
    tree = tree:add(control, data:range())
    if add_ssn(tree, data) then
        add_control(tree, data)
    end
end

local sctp = DissectorTable.get("sctp.ppi")
sctp:add(16, segment)
sctp:add(17, control)
