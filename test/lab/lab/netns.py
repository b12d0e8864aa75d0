"""Network namespaces and the commands that shape them."""

import contextlib
import ctypes
import os
import subprocess
import threading

_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


class CommandError(RuntimeError):
    """A command failed; the message holds the command and what it said."""


def run(args, stdin=None):
    """Runs a command and returns its standard output. Raises CommandError when it fails."""
    done = subprocess.run(args, input=stdin, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CommandError(f"{' '.join(args)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def ip(lines, namespace=None):
    """Runs `ip` commands, a list of lines without the leading "ip", in one process."""
    prefix = ["ip", "-n", namespace] if namespace else ["ip"]
    return run(prefix + ["-batch", "-"], stdin="\n".join(lines) + "\n")


def tc(lines, namespace):
    return run(["ip", "netns", "exec", namespace, "tc", "-batch", "-"], stdin="\n".join(lines) + "\n")


def nft(rules, namespace):
    return run(["ip", "netns", "exec", namespace, "nft", "-f", "-"], stdin=rules)


def _set_namespace(fd):
    if _libc.setns(fd, _CLONE_NEWNET) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"setns: {os.strerror(error)}")


@contextlib.contextmanager
def inside(namespace):
    """The calling thread is in the namespace for the time of the block; sockets opened stay there."""
    here = os.open(f"/proc/self/task/{threading.get_native_id()}/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        _set_namespace(there)
        try:
            yield
        finally:
            _set_namespace(here)
    finally:
        os.close(here)
        os.close(there)


def enter(namespace):
    """For subprocess's preexec_fn: the child moves into the namespace."""
    there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    _set_namespace(there)
    os.close(there)


def sysctl(namespace, settings):
    """Writes settings given as {"net.ipv4.ip_forward": 1}."""
    with inside(namespace):
        for name, value in settings.items():
            # Device names may hold dots; none of ours does.
            with open("/proc/sys/" + name.replace(".", "/"), "w", encoding="ascii") as file:
                file.write(str(value))


def counters(namespace):
    """{device: (packets sent, bytes sent)} of a namespace, from /proc/net/dev."""
    with inside(namespace):
        with open(f"/proc/thread-self/net/dev", encoding="ascii") as file:
            lines = file.readlines()[2:]
    out = {}
    for line in lines:
        device, _, values = line.partition(":")
        fields = values.split()
        out[device.strip()] = (int(fields[9]), int(fields[8]))
    return out
