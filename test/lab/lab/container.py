"""Becomes a container: `python3 -m lab.container SPEC.json`.

Joins the host's network namespace, if it has one of its own, gets process and mount namespaces of its own with an overlay over this
machine's root (what is written is gone with it), mounts its volumes and runs the command as process 1.
Signals are passed on. Exit code: the command's, or 128 + signal.

SPEC: {"namespace", "hostname", "root", "mounts": [[source, target, read only]], "environment", "command",
"directory", "cgroups"}. `root` is a folder for the overlay; `cgroups`: folders of cgroups that it joins.
"""

import ctypes
import json
import os
import signal
import sys

from lab import netns

_NEWNS, _NEWPID, _NEWUTS = 0x20000, 0x20000000, 0x4000000
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result, what):
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def _mount(source, target, kind="", flags=0, options=""):
    _check(_libc.mount(source.encode(), target.encode(), kind.encode(), flags, options.encode()),
           f"mount {source} on {target}")


def inside(root, path):
    """Where `path` is for a process whose root is `root`: symbolic links lead nowhere outside."""
    parts, done = [p for p in path.split("/") if p], []
    for _ in range(1000):
        if not parts:
            return os.path.join(root, *done)
        part = parts.pop(0)
        here = os.path.join(root, *done, part)
        if part == "..":
            done = done[:-1]
        elif os.path.islink(here):
            link = os.readlink(here)
            done = [] if link.startswith("/") else done
            parts = [p for p in link.split("/") if p] + parts
        elif part != ".":
            done.append(part)
    raise OSError(f"{path}: too many symbolic links")


def _bind(source, target, read_only):
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "a", encoding="ascii"):
            pass
    _mount(source, target, flags=_MS_BIND | _MS_REC)
    if read_only:
        _mount(source, target, flags=_MS_BIND | _MS_REMOUNT | _MS_RDONLY)


def _make_root(spec):
    root = spec["root"]
    for name in ("upper", "work", "merged"):
        os.makedirs(os.path.join(root, name), exist_ok=True)
    merged = os.path.join(root, "merged")
    _mount("overlay", merged, "overlay", 0,
           f"lowerdir=/,upperdir={root}/upper,workdir={root}/work")
    for folder in ("dev", "sys", "tmp"):
        if folder != "tmp":
            _bind("/" + folder, os.path.join(merged, folder), False)
    _mount("proc", os.path.join(merged, "proc"), "proc")
    _mount("tmp", os.path.join(merged, "tmp"), "tmpfs")
    for source, target, read_only in spec["mounts"]:
        _bind(source, inside(merged, target), read_only)
    return merged


def _become(spec):
    """In the child, process 1 of its namespace. Does not return."""
    try:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.setsid()
        merged = _make_root(spec)
        _check(_libc.sethostname(spec["hostname"].encode(), len(spec["hostname"])), "sethostname")
        os.chroot(merged)
        os.chdir(spec["directory"])
        os.environ.clear()
        os.environ.update(spec["environment"])
        os.execvp(spec["command"][0], spec["command"])
    except OSError as error:
        print(f"cannot run {spec['command'][0]}: {error}", file=sys.stderr, flush=True)
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        spec = json.load(file)
    for cgroup in spec["cgroups"]:
        with open(os.path.join(cgroup, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write("0")
    if spec["namespace"] is not None:
        netns.enter(spec["namespace"])
    _check(_libc.unshare(_NEWNS | _NEWPID | _NEWUTS), "unshare")
    _mount("none", "/", flags=_MS_REC | _MS_PRIVATE)
    child = os.fork()
    if child == 0:
        _become(spec)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda caught, _: os.kill(child, caught))
    _, status = os.waitpid(child, 0)
    sys.exit(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))


if __name__ == "__main__":
    main()
