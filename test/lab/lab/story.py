"""Failures under a real control plane, and without one: what `failures` in the lab's document says."""

import json
import os
import time

from lab import planner as planning
from lab.cluster import Cluster
from lab.failures import JOB, KINDS, Failures
from lab.jobs import Job

TORCHRUN_JOB = Job("torchrun", 2, "ddp", megabytes=0.2, compute=0.05)
# Debian's torch 1.13 does not find the flags' zero with Python 3.11, so both are given.
_TORCHRUN = ("python3", "-m", "torch.distributed.run", "--redirects", "1", "--tee", "1")
_START_SECONDS = 120
_RETURN_SECONDS = 90


def kernel_only(lab, say):
    """{what: (stall, throughput after)} with planned ports that stay as they are."""
    report = lab.planner.plan([JOB.training_job()])
    places = planning.places_of(report, lab.by_name)
    lab.configure(0, planning.ports_of(report, lab.by_name), {})
    run = lab.start(JOB, places[JOB.name])
    run.wait_for(3, _START_SECONDS)
    out = {}
    for what in KINDS:
        out[what] = Failures(lab).one(what, places[JOB.name], run.lines)
        say(f"{what} lost, left to the kernel: {out[what][0]:.2f} s of delay, then {out[what][1]:.0%} of before")
        run.wait_for(len(run.lines()) + 3, _START_SECONDS)
    run.stop()
    return out


class Story:
    """One job of a cluster through failures."""

    def __init__(self, lab, say):
        self._lab, self._say = lab, say
        self._shared = os.path.join(lab.folder, "shared")
        os.makedirs(self._shared)
        self._record = os.path.join(self._shared, "talk.jsonl")
        self._cluster = Cluster(lab)

    def run(self, kinds):
        """({what: (stall, throughput after)}, what the death of a host did or None)"""
        cluster = self._cluster
        cluster.start()
        self._say("the control plane is up, every host is a Node")
        try:
            cluster.submit(JOB, JOB.arguments() + ["--timeout", "20", "--record", "/shared/talk.jsonl", "--checkpoint",
                                                   "/shared/talk"], self._shared)
            cluster.wait_for_plan(JOB)
            self._wait_for_steps(3, _START_SECONDS)
            places = cluster.places(JOB)
            hosts = [places[rank] for rank in range(JOB.workers)]
            self._say(f"the TrainingJob trains on {', '.join(host.name for host in hosts)}")
            self._torchrun()
            out = {}
            for what in kinds:
                out[what] = Failures(self._lab, cluster).one(what, hosts, self._lines)
                self._say(f"{what} lost, ports planned again: {out[what][0]:.2f} s of delay, then "
                          f"{out[what][1]:.0%} of before")
                self._wait_for_steps(len(self._lines()) + 3, _START_SECONDS)
                time.sleep(2.5)  # until the agent trusts the port again
            return out, self._host_dies(hosts)
        finally:
            cluster.stop()

    def _torchrun(self):
        """Two workers that find each other by torchrun's own environment and end well."""
        self._cluster.submit(TORCHRUN_JOB, TORCHRUN_JOB.arguments() + ["--iterations", "10"], self._shared,
                             _TORCHRUN)
        self._cluster.wait_for_success(TORCHRUN_JOB)
        logs = self._cluster.logs(f"{TORCHRUN_JOB.name}-0")
        if "step 10 loss" not in logs:
            raise RuntimeError(f"kubectl logs shows no step 10:\n{logs}")
        self._say("two torchrun workers met, made 10 steps and succeeded; kubectl logs shows them")

    def _lines(self):
        try:
            with open(self._record, encoding="ascii") as file:
                return [json.loads(line) for line in file if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def _wait_for_steps(self, count, seconds):
        deadline = time.monotonic() + seconds
        while len(self._lines()) < count:
            if time.monotonic() > deadline:
                raise RuntimeError(f"the job made {len(self._lines())} of {count} steps in {seconds} s\n" + self._state())
            time.sleep(0.05)

    def _state(self):
        pods = self._cluster.pods(JOB).values()
        return "\n".join(f"{p['metadata']['name']} {p['spec'].get('nodeName')} {p['status'].get('phase')}" for p in pods)

    def _lives(self):
        """{rank: (uid of the pod, how often its container was started again)}"""
        return {rank: (pod["metadata"]["uid"], pod["status"]["containerStatuses"][0]["restartCount"])
                for rank, pod in self._cluster.pods(JOB).items()}

    def _restarted_in_place(self, before, lost):
        """How many ranks other than `lost` have the pod they had, with containers that were started again."""
        after = self._lives()
        moved = [rank for rank, (uid, _) in before.items() if rank != lost and after[rank][0] != uid]
        if moved or after[lost][0] == before[lost][0]:
            raise RuntimeError(f"of ranks that lost nothing, {moved} have another pod; rank {lost} has "
                               f"{'the same' if after[lost][0] == before[lost][0] else 'another'}")
        return sum(after[rank][1] > before[rank][1] for rank in before if rank != lost)

    def _host_dies(self, hosts):
        """The rank moves, the others restart in place, the job goes on from its checkpoint, and so does its loss."""
        rank = len(hosts) - 1
        lives = self._lives()
        before = self._lines()
        began = time.monotonic()
        self._cluster.node.fail(hosts[rank].name)
        self._wait_for_steps(len(before) + 3, _RETURN_SECONDS)
        lines = self._lines()
        first = next(i for i in range(len(before), len(lines)) if i == len(before) or lines[i]["step"] <= before[-1]["step"])
        moved = self._cluster.places(JOB)[rank].name
        in_place = self._restarted_in_place(lives, rank)
        self._say(f"{hosts[rank].name} died: rank {rank} moved to {moved}, training went on after "
                  f"{time.monotonic() - began:.1f} s from step {lines[first]['step']} (it had reached {before[-1]['step']}); "
                  f"{in_place} others restarted in place")
        return {"rank": rank, "from": hosts[rank].name, "to": moved, "restartedInPlace": in_place,
                "secondsToTraining": round(lines[len(before)]["time"] - before[-1]["time"], 1),
                "lastStep": before[-1]["step"], "resumedAtStep": lines[first]["step"],
                "lossFirst": before[0]["loss"], "lossBefore": before[-1]["loss"], "lossAfter": lines[-1]["loss"]}


def document(told, kernel):
    """The document's `failures`."""
    return [{"what": what, "stallSeconds": told[what][0], "ofBefore": told[what][1],
             "kernelOnly": {"stallSeconds": kernel[what][0], "ofBefore": kernel[what][1]}} for what in told]
