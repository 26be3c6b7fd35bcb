#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""From a guest's /proc/kallsyms, make the map of functions that split.c reads.

    functions.py KALLSYMS BUILD-FOLDER >MAP

The map gives each function one of GROUPS: a part of the kernel, or "caller".
A function of a module belongs to the module's group; siw's functions are divided
between the connection manager and the rest by the object files in BUILD-FOLDER.
In the kernel itself the networking code is contiguous, and BEGINNINGS lists the
functions by which other parts are entered. All other functions count for their
callers.
"""

import glob
import os
import re
import subprocess
import sys

# The numbers are those of split.c, where 0 and 1 are fixed.
GROUPS = ("caller", "user", "syscall", "cma", "verbs", "cm", "siw", "tcp", "schedule", "irq",
          "copy", "crc", "storage")

MODULES = {
    "rdma_ucm": "cma",
    "rdma_cm": "cma",
    "iw_cm": "cma",
    "ib_core": "verbs",
    "ib_uverbs": "verbs",
    "iw_mpa": "cm",
    "siw_mpa": "siw",
    "srnic": "siw",
    "crc32c_intel": "crc",
    "libcrc32c": "crc",
    "siw": "siw",
    "rdma_rxe": "siw",
}
STORAGE = (r"nvmet?(_\w+)?|nfs\w*|nfsd|sunrpc|rpcrdma|ib_isert?|lib_?iscsi\w*|iscsi_\w+|target_core_\w+"
           r"|scsi_(mod|transport_iscsi|common)|sd_mod")
# Objects with connection management: in siw_mpa the last three replace siw_cm.o.
CM_OBJECTS = ("siw_cm.o", "cep.o", "handoff.o", "port.o")

NETWORK = ("sock_from_file", "argv_free")
BEGINNINGS = (
    ("syscall", r"entry_SYSCALL_64|do_syscall_64|syscall_exit_.*|exit_to_user_mode_.*"
                r"|asm_exc_page_fault|ksys_(read|write)"),
    ("schedule", r"__schedule|schedule|finish_task_switch.*|worker_thread|process_one_work|kthread"
                 r"|ret_from_fork|do_idle|schedule_idle|default_idle_call|kthread_worker_fn"),
    ("irq", r"asm_(sysvec|common).*|sysvec_.*|rcu_core|run_timer_softirq|tick_.*"
            r"|hrtimer_interrupt|run_ksoftirqd|irq_exit_rcu"),
    ("copy", r"copy_user_\w+|rep_movs_alternative|(__)?memcpy(_orig|_erms)?|_copy_(to|from)_(iter|user)"
             r"|copy_page_(to|from)_iter\w*|copyin|copyout"),
)


def symbols(name):
    """Return sorted tuples (address, function, module or "") of all functions in /proc/kallsyms."""
    found = []
    with open(name, encoding="ascii") as lines:
        for line in lines:
            address, kind, symbol, *module = line.split()
            if kind in "tTwW":
                found.append((int(address, 16), symbol, module[0].strip("[]") if module else ""))
    return sorted(found)


def cm_functions(folder):
    """Return the names of the functions in CM_OBJECTS, as nm lists them."""
    names = set()
    for path in glob.glob(folder + "/**/*.o", recursive=True):
        if os.path.basename(path) in CM_OBJECTS:
            output = subprocess.run(["nm", path], check=True, capture_output=True, text=True)
            names |= set(re.findall(r" [tT] (\S+)", output.stdout))
    return names


def group_in_kernel(symbol, address, network):
    for group, names in BEGINNINGS:
        if re.fullmatch(names, symbol):
            return group
    return "tcp" if network[0] <= address < network[1] else "caller"


def group_of(symbol, address, module, network, cm):
    if not module:
        return group_in_kernel(symbol, address, network)
    if module in ("siw", "siw_mpa") and symbol in cm:
        return "cm"
    if re.fullmatch(STORAGE, module):
        return "storage"
    return MODULES.get(module, "caller")


def main():
    functions = symbols(sys.argv[1])
    cm = cm_functions(sys.argv[2])
    where = {symbol: address for address, symbol, module in functions if not module}
    network = [where[name] for name in NETWORK]
    seen = None
    for address, symbol, module in functions:
        # split.c looks functions up by address, so aliases of a function are left out.
        if address != seen:
            group = group_of(symbol, address, module, network, cm)
            print(f"{address:x} {GROUPS.index(group)} {symbol}")
        seen = address


main()
