"""CPU control groups of the lab's hosts and their pods, where a kubelet makes them: HOST/kubepods/podUID/CONTAINER.

With cgroup v1 below the hierarchy of the controller cpu, with v2 below the one there is. A limit on a host's group slows all
that runs there, as other load or a low clock would; one on a pod's group is what its own resources.limits.cpu make.
"""

import os
import time
import uuid

_V1 = ("/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu")
_V2 = "/sys/fs/cgroup"
_PREFIX = "yardmaster-lab-"
_PERIOD_US = 100_000
# Older ones are left over of a lab that was killed.
_STALE_SECONDS = 3600


class Unavailable(RuntimeError):
    """This machine lets no one limit CPUs here."""


class Cgroups:
    """Made once; remove() when their processes have ended."""

    def __init__(self):
        top = next((path for path in _V1 if os.path.isdir(path)), None)
        self.v2 = top is None
        top = top or _V2
        self._remove_stale(top)
        self.root = os.path.join(top, _PREFIX + uuid.uuid4().hex[:8])
        try:
            if self.v2:
                _enable(top)
            os.mkdir(self.root)
            if self.v2:
                _enable(self.root)
            # As `isolate` has it for processes outside of the group: what else runs here is not to slow the lab.
            _write(self.root, *(("cpu.weight", "10000") if self.v2 else ("cpu.shares", "262144")))
        except OSError as error:
            raise Unavailable(f"no CPU control groups: {error}") from error

    def host(self, host):
        return self._make(host.name)

    def pod(self, host, uid):
        return self._make(host.name, "kubepods", f"pod{uid}")

    def container(self, host, uid, name):
        return self._make(host.name, "kubepods", f"pod{uid}", name)

    def _make(self, *parts):
        path = self.root
        for at, part in enumerate(parts):
            path = os.path.join(path, part)
            if not os.path.isdir(path):
                os.mkdir(path)
            if self.v2 and at + 1 < len(parts):
                _enable(path)
        return path

    def limit(self, group, cpus):
        """At most so many CPUs for the group; None: as many as there are."""
        quota = int(cpus * _PERIOD_US) if cpus is not None else None
        if self.v2:
            _write(group, "cpu.max", f"{'max' if quota is None else quota} {_PERIOD_US}")
        else:
            _write(group, "cpu.cfs_quota_us", "-1" if quota is None else str(quota))

    def processes(self, group):
        """Ids of the processes in a group and those below it."""
        out = []
        for folder, _, _ in os.walk(group):
            with open(os.path.join(folder, "cgroup.procs"), encoding="ascii") as file:
                out += [int(line) for line in file]
        return out

    def remove(self):
        _remove(self.root)

    @staticmethod
    def _remove_stale(top):
        for name in os.listdir(top):
            path = os.path.join(top, name)
            try:
                if name.startswith(_PREFIX) and time.time() - os.stat(path).st_mtime > _STALE_SECONDS:
                    _remove(path)
            except FileNotFoundError:
                pass  # another lab was quicker


def _write(group, name, text):
    with open(os.path.join(group, name), "w", encoding="ascii") as file:
        file.write(text)


def _enable(group):
    _write(group, "cgroup.subtree_control", "+cpu")


def _remove(group):
    for folder, _, _ in os.walk(group, topdown=False):
        try:
            os.rmdir(folder)
        except OSError:
            pass  # something runs in it still
