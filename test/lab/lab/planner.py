"""Asks the programs of this repository: ports, levels and places, paths of packets, predictions."""

import json
import os
import tempfile

from lab import netns
from lab.shape import SCALE, manifests


def _program():
    return os.path.join(os.environ["YARDMASTER_BIN"], "kubectl-yardmaster")


class Planner:
    """Files live in a folder of their own; close() removes it."""

    def __init__(self, shape):
        self._shape = shape
        self._folder = tempfile.TemporaryDirectory(prefix="lab-plan-")
        self._fabric = self._write("fabric.json", manifests(shape))
        self._paths = {}

    def close(self):
        self._folder.cleanup()

    def _write(self, name, objects):
        path = os.path.join(self._folder.name, name)
        with open(path, "w", encoding="ascii") as file:
            file.write("\n---\n".join(json.dumps(item) for item in objects))
        return path

    def plan(self, objects):
        """The report of kubectl yardmaster plan for TrainingJobs (which it places) and Gangs (which stand)."""
        jobs = self._write("jobs.json", objects)
        return json.loads(netns.run([_program(), "plan", "--offline", "-f", self._fabric, "-f", jobs, "--paths",
                                     "-o", "json"]))

    def path(self, source, target, plane, port, down=()):
        """The links of a packet between two hosts, from NIC to NIC, when routing has noticed what is down."""
        key = (source.name, target.name, plane, port, tuple(down))
        if key not in self._paths:
            lost = [argument for link in down for argument in ("--down", link)]
            answer = json.loads(netns.run([_program(), "path", "--fabric", self._fabric, "--from",
                                           f"{source.name}/0/{plane}", "--to", f"{target.name}/0/{plane}",
                                           "--source-port", str(port), "-o", "json", *lost]))
            self._paths[key] = ([f"{source.name}:r0p{plane}.up"] + [hop["link"] for hop in answer["hops"]])
        return self._paths[key]

    def simulate(self, jobs, levels, policy):
        """What kubectl yardmaster crux answers. `jobs`: [(job, flows)] with flows [(bytes, links)], each with its one
        path."""
        links = sorted({link for _, flows in jobs for _, path in flows for link in path})
        mbps = self._shape
        case = {"levels": levels,
                "links": [{"id": l, "gbps": mbps.uplink_mbps if "/tor-" in l and ":u" in l else mbps.nic_mbps}
                          for l in links],
                "jobs": [{"id": job.name, "gpus": job.workers, "flopPerIteration": job.flop(),
                          "computeSeconds": job.busy_seconds, "communicationStart": job.communication_start,
                          "flows": [{"id": f"f{i}", "bytes": size * SCALE / job.goodput, "paths": [path]}
                                    for i, (size, path) in enumerate(flows)]} for job, flows in jobs]}
        path = self._write("case.json", [case])
        return json.loads(netns.run([_program(), "crux", "-f", path, "--policy", policy, "-o", "json"]))


def ports_of(report, hosts_by_name):
    """{source host: {peer's address: [(plane, source port)]}} out of a plan's paths and those of the answers to them."""
    out = {}
    for path in report["paths"] + report.get("answers", []):
        source, target = hosts_by_name[path["from"]["host"]], hosts_by_name[path["to"]["host"]]
        peers = out.setdefault(source.name, {})
        peers.setdefault(target.address, []).append((path["from"]["port"], path["sourcePort"]))
    for peers in out.values():
        for paths in peers.values():
            paths.sort()
    return out


def levels_of(report):
    return {job["name"]: job["network"]["level"] for job in report["jobs"]}


def places_of(report, hosts_by_name):
    """{job: hosts by rank}. Raises ValueError when a job found no place."""
    out = {}
    for job in report["jobs"]:
        if job["outcome"] != "Placed":
            raise ValueError(f"{job['name']} was not placed: {job['message']}")
        ranks = sorted(job["assignments"], key=lambda a: a["rank"])
        out[job["name"]] = [hosts_by_name[a["host"]] for a in ranks]
    return out
