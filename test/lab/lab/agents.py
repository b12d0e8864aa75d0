"""A cluster as lab.cluster has it, with an agent of its own on every host, as in production: it reads the host's /sys with the
NICs' counters and the pods' cgroups, and /proc. What the ranks measure of their iterations goes to it by a helper of the host.
"""

import json
import os
import struct
import subprocess
import sys
import threading

from lab import netns
from lab.cluster import Cluster

_REPORT_SECONDS = 2


class ClusterOfAgents(Cluster):
    """`cgroups`: lab.cgroups.Cgroups, for the containers. `operator_arguments`: more flags of the operator."""

    def __init__(self, lab, cgroups, operator_arguments=()):
        super().__init__(lab)
        self._groups, self._more = cgroups, list(operator_arguments)

    def _cgroups(self):
        return lambda host, uid, name: [self._groups.container(host, uid, name)]

    def _operator_arguments(self):
        return self._more

    def _start_agents(self):
        for host in self._lab.hosts:
            root = self._path(f"sys-{host.name}")
            os.makedirs(root)
            # The sysfs of the host's own network.
            netns.run(["nsenter", f"--net=/run/netns/{host.name}", "mount", "-t", "sysfs", "-o", "ro", "sysfs", root])
            self._mount_cgroups(host, os.path.join(root, "fs", "cgroup"))
            self._agent(f"agent-{host.name}", [
                "--node", host.name, "--plan-dir", os.path.join(self._plans, host.name), "--sysfs-root", root,
                "--proc-root", "/proc", "--grpc-bind-address", f"unix:{self.socket(host)}"])

    def count_damaged_packets(self, host, plane, arrivals):
        """While packets for a NIC port come by another device, the agent sees what the kernel counts there: until the function that
        it gives is called."""
        devices = self._path(f"sys-{host.name}/class/net")
        counter = f"{devices}/e{plane}/statistics/rx_frame_errors"
        netns.run(["mount", "--bind", f"{devices}/{arrivals}/statistics/rx_frame_errors", counter])
        return lambda: netns.run(["umount", counter])

    def _mount_cgroups(self, host, target):
        group = self._groups.host(host)
        if not self._groups.v2:
            netns.run(["mount", "-t", "tmpfs", "lab", target])
            target = os.path.join(target, "cpu")
            os.mkdir(target)
        netns.run(["mount", "--bind", group, target])

    def socket(self, host):
        return self._path(f"agent-{host.name}.sock")

    def worker_processes(self, job, rank):
        """Ids of the processes of a rank's program."""
        pod = self.pods(job)[rank]
        group = self._groups.pod(self._lab.by_name[pod["spec"]["nodeName"]], pod["metadata"]["uid"])
        out = []
        for pid in self._groups.processes(group):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    command = file.read()
            except FileNotFoundError:
                continue
            # The others are the test node's own.
            if b"lab.container" not in command:
                out.append(pid)
        return out


def encode_report(uid, iterations, seconds, compute):
    """A gRPC message with a yardmaster.agent.v1.IterationReport."""
    def varint(number):
        out = b""
        while number > 127:
            out += bytes([number & 127 | 128])
            number >>= 7
        return out + bytes([number])
    name = uid.encode()
    message = b"\x0a" + varint(len(name)) + name + b"\x10" + varint(iterations)
    message += b"\x19" + struct.pack("<d", seconds) + b"\x21" + struct.pack("<d", compute)
    return b"\0" + struct.pack(">I", len(message)) + message


class Reporter(threading.Thread):
    """The hosts' helper: gives what the ranks of a job have written (train.py --report) to the agents. start(), stop()."""

    def __init__(self, cluster, job, folder):
        super().__init__(daemon=True)
        self._cluster, self._job, self._folder, self._end = cluster, job, folder, threading.Event()
        self._read = {}  # rank -> bytes of its file that were read

    def run(self):
        while not self._end.wait(_REPORT_SECONDS):
            try:
                places, pods = self._cluster.places(self._job), self._cluster.pods(self._job)
                for rank, host in places.items():
                    lines = self._new_lines(rank)
                    if lines and rank in pods:
                        self._send(host, pods[rank]["metadata"]["uid"], lines)
            except (OSError, RuntimeError) as error:
                print(f"iterations are not reported: {error}", file=sys.stderr, flush=True)

    def stop(self):
        self._end.set()
        self.join()

    def _new_lines(self, rank):
        try:
            with open(os.path.join(self._folder, f"rank-{rank}.jsonl"), "rb") as file:
                file.seek(self._read.get(rank, 0))
                text = file.read()
        except FileNotFoundError:
            return []
        text = text[:text.rfind(b"\n") + 1]
        self._read[rank] = self._read.get(rank, 0) + len(text)
        return [json.loads(line) for line in text.splitlines()]

    def _send(self, host, uid, lines):
        def mean(key):
            return sum(line[key] for line in lines) / len(lines)
        subprocess.run(
            ["curl", "--silent", "--show-error", "--fail", "--max-time", "5", "--http2-prior-knowledge", "--unix-socket",
             self._cluster.socket(host), "-H", "Content-Type: application/grpc", "-H", "TE: trailers", "--data-binary", "@-",
             "--output", "/dev/null", "http://agent/yardmaster.agent.v1.Agent/ReportIterations"],
            input=encode_report(uid, len(lines), mean("seconds"), mean("compute")), check=False)
