"""The socket shim on real packets: a TrainingJob whose workers talk plain TCP over the fabric, without the NICs' stand-ins.

The operator plans local ports for the job's listening port, the shim in the containers binds them, and the switches' counters say
which uplink each connection takes: it must be that of the planned RoCEv2 connection between the same two hosts. The same job without
the shim shows what chance gives.
"""

import json
import os
import time

from lab.cluster import Cluster
from lab.jobs import Job

PORT = 29500
_START_SECONDS = 60


def _job(name):
    return Job(name, 10, "pipeline", megabytes=0.2, compute=0.05, activation_megabytes=0.3, micro_batches=2)


def _library():
    return os.path.join(os.environ["YARDMASTER_BIN"], "..", "lib", "libyardmaster-socket.so")


class Sockets:
    """run() gives a row for the job with the shim and one for the job without."""

    def __init__(self, lab, say):
        self._lab, self._say, self._shared = lab, say, os.path.join(lab.folder, "tcp")
        os.makedirs(self._shared)
        self._cluster = Cluster(lab)

    def run(self):
        self._cluster.start()
        try:
            return [self._one("shim", {"LD_PRELOAD": os.path.realpath(_library())}), self._one("none", {})]
        finally:
            self._cluster.stop()

    def _one(self, name, environment):
        job, cluster = _job(name), self._cluster
        command = ["python3", "/lab/tcp_ring.py", "--port", str(PORT), "--seconds", "8", "--record", f"/shared/{name}"]
        cluster.submit_command(job, command, self._shared, environment, {"yardmaster.dev/socket-ports": str(PORT)})
        self._lab.fabric.clear_flows()
        lines = self._wait_for_lines(name)
        time.sleep(2)
        seen = {(source, target, port): link for link, source, target, port, _ in self._lab.fabric.flows()}
        expected = self._expected(job)
        cluster.wait_for_success(job)
        row = {"shim": name == "shim", "connections": len(lines), "plannedPort": 0, "acrossAggs": 0, "plannedUplink": 0, "class": 0}
        for line in lines:
            row["plannedPort"] += line["port"] in line["planned"]
            row["class"] += line["class"] == expected["class"]
            wanted = expected["uplinks"].get((line["host"], line["peer"]))
            if wanted:
                row["acrossAggs"] += 1
                row["plannedUplink"] += seen.get((line["host"], line["peer"], line["port"])) == wanted
        self._say(f"{'with' if row['shim'] else 'without'} the shim: {row['plannedPort']} of {row['connections']} TCP connections have a "
                  f"planned port, {row['class']} the job's class, {row['plannedUplink']} of {row['acrossAggs']} that cross Aggs the "
                  f"planned uplink")
        return row

    def _lines(self, name):
        lines = []
        for file_name in sorted(os.listdir(self._shared)):
            if file_name.startswith(name + "-"):
                with open(os.path.join(self._shared, file_name), encoding="ascii") as file:
                    lines += [json.loads(line) for line in file if line.endswith("\n")]
        return lines

    def _wait_for_lines(self, name):
        """Of all workers; until no further one has come for a second."""
        deadline, lines = time.monotonic() + _START_SECONDS, []
        while time.monotonic() < deadline:
            time.sleep(1)
            now = self._lines(name)
            if now and len(now) == len(lines):
                return now
            lines = now
        raise RuntimeError(f"{len(lines)} TCP connections after {_START_SECONDS} s")

    def _expected(self, job):
        """{"class", "uplinks": {(source, target): uplink of the planned connection by NIC port 0, which TCP leaves by}}"""
        uplinks, level = {}, 0
        for source in self._cluster.places(job).values():
            planned, level = self._cluster.applied[source.name]
            for address, paths in planned.items():
                target = next(host for host in self._lab.hosts if host.address == address)
                for plane, port in paths:
                    links = self._lab.planner.path(source, target, plane, port)
                    uplink = next((link for link in links if ":u" in link and link.endswith(".up")), None)
                    if plane == 0 and uplink:
                        uplinks[source.address, address] = uplink
        return {"class": self._lab.shape.traffic_class(level), "uplinks": uplinks}
