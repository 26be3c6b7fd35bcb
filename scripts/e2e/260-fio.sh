# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
DESCRIPTION="fio: 1 MB by RDMA Write and 1 MB by RDMA Read, data compared"
WIRES=clean
# fio's engine only has room for addresses of IPv4.
FAMILIES="4"

# If siw is one of the two drivers, only the case with siw as server runs.
applies() { is_ours "$CLIENT_DRIVER"; }

# fio's engine for RDMA does not verify data. So each end has its buffers in a file, and the test compares the files. A
# transfer uses a random buffer, so 256 transfers use all 8 buffers.
DEPTH=8
BLOCK=4096
FILE=/run/buffers

fio_with() { echo "fio --ioengine=rdma --port=$PORT --bs=$BLOCK --size=1M --iodepth=$DEPTH --mem=mmapshared:$FILE $*"; }

# fill PATTERN: print a command that fills all buffers with copies of a file of 512 bytes
fill() { echo "for ((i = 0; i < $((DEPTH * BLOCK / 512)); i++)); do cat $1; done"; }

# moves VERB FROM TO: fio transfers data by VERB from guest FROM to guest TO; afterwards the buffers of both must be
# equal
moves() {
	local verb=$1 from=$2 to=$3 want got before output

	# fio maps 1 MB, more than it uses.
	on "$SERVER" "head -c 512 /dev/urandom >/run/pattern; $(fill /run/pattern) >$FILE
		truncate -s 1M $FILE"
	on "$CLIENT" "head -c 512 /dev/urandom >/run/pattern; truncate -s 1M $FILE"
	want=$(on "$from" "{ $(fill /run/pattern); } | sha256sum")
	serve "$(fio_with --name=server --rw=read)"
	before=$(bytes_moved)
	output=$(client "$(fio_with --name=client --hostname="$SERVER_IP" --verb="$verb" --rw=write \
		"--buffer_pattern=\"'/run/pattern'\" --scramble_buffers=0 --minimal")")
	server_ends
	got=$(on "$to" "head -c $((DEPTH * BLOCK)) $FILE | sha256sum")
	[[ $got == "$want" ]] || fail "verb=$verb: the buffers of $to do not have what those of $from had"
	[[ $(bytes_moved) -ge $((before + (1 << 20))) ]] || fail "verb=$verb: less than 1 MB went: $output"
	on "$CLIENT" "rm $FILE /run/pattern"
	on "$SERVER" "rm $FILE /run/pattern"
}

check() {
	moves write "$CLIENT" "$SERVER"
	moves read "$SERVER" "$CLIENT"
	echo "result: 2 MB"
}
