#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""By librados alone make the pool NAME, of one placement group, as "ceph osd pool create" does.

usage: ceph_pool.py NAME, with LD_LIBRARY_PATH set for librados, and CEPH_CONF to Ceph's
configuration file
"""

import ctypes
import json
import sys


def need(status, what):
    """Exit unless STATUS, which a function of librados returned, is 0."""
    if status != 0:
        sys.exit(f"{what}: {status}")


def main():
    rados = ctypes.CDLL("librados.so.2")
    cluster = ctypes.c_void_p()
    command = json.dumps({"prefix": "osd pool create", "pool": sys.argv[1], "pg_num": 1})
    commands = (ctypes.c_char_p * 1)(command.encode())
    size = ctypes.c_size_t
    text = ctypes.c_char_p()

    need(rados.rados_create(ctypes.byref(cluster), None), "rados_create")
    need(rados.rados_conf_read_file(cluster, None), "rados_conf_read_file")
    need(rados.rados_connect(cluster), "rados_connect")
    need(rados.rados_mon_command(cluster, commands, size(1), b"", size(0), None, None, ctypes.byref(text),
                                 ctypes.byref(size())), command)
    print(text.value.decode())
    rados.rados_shutdown(cluster)


main()
