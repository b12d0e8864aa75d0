"""Makes a veth port behave as one at the end of a wire: what arrives carries no hash.

A packet's metadata survive a veth pair, among them the hash that a TCP or a connected UDP socket gave it.
The kernel's ECMP (fib_multipath_hash_policy=1) takes such a hash instead of computing one from the header,
and an encapsulated packet then goes where its inner socket says. A frame off a wire has no such hash
(with `ethtool -K DEV rxhash off`), so a program of three eBPF instructions clears it where frames come in.
"""

import ctypes
import os
import platform
import struct

from lab import netns

_PROG_LOAD, _OBJ_PIN = 5, 6
_SCHED_CLS = 3
_SET_HASH_INVALID = 41
_SYSCALL = {"x86_64": 321, "aarch64": 280}
PROGRAM = "/run/netns/.bpf/clear-hash"


def _bpf(command, attributes):
    number = _SYSCALL.get(platform.machine())
    if number is None:
        raise OSError(f"the number of the bpf system call on {platform.machine()} is not known here")
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(attributes, 128)
    result = libc.syscall(number, command, buffer, len(buffer))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"bpf: {os.strerror(error)}")
    return result


def load():
    """Loads the program and pins it at PROGRAM, on a file system of this mount namespace."""
    folder = os.path.dirname(PROGRAM)
    if os.path.exists(PROGRAM):
        return
    os.makedirs(folder, exist_ok=True)
    netns.run(["mount", "-t", "bpf", "bpf", folder])
    call, zero, leave = (0x85, 0, 0, _SET_HASH_INVALID), (0xB7, 0, 0, 0), (0x95, 0, 0, 0)
    code = ctypes.create_string_buffer(b"".join(struct.pack("<BBhi", *i) for i in (call, zero, leave)))
    licence = ctypes.create_string_buffer(b"GPL")
    program = _bpf(_PROG_LOAD, struct.pack("<IIQQ", _SCHED_CLS, 3, ctypes.addressof(code),
                                           ctypes.addressof(licence)))
    path = ctypes.create_string_buffer(PROGRAM.encode())
    _bpf(_OBJ_PIN, struct.pack("<QI", ctypes.addressof(path), program))
    os.close(program)


def clear_hashes(namespace, devices):
    """What comes in by these devices has no hash."""
    load()
    lines = []
    for device in devices:
        lines += [f"qdisc add dev {device} clsact",
                  f"filter add dev {device} ingress bpf direct-action object-pinned {PROGRAM}"]
    with netns.inside(namespace):
        # Not by ip netns exec, which mounts a /sys of its own.
        netns.run(["tc", "-batch", "-"], stdin="\n".join(lines) + "\n")
