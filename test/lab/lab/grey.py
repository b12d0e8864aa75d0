"""Grey failures under a real control plane with an agent on every host: what finds them, how soon, and the job's rate afterwards.

  stopped   a worker's process is stopped by a signal; the job restarts from its checkpoint
  counters  the same of a job that reports nothing: the agents know its rhythm from the NICs' counters alone
  limit     the CPU limit of a worker's own pod throttles it: it is named, and its host is not left for it
  host      the CPUs of a host are slow: it is named, and the job leaves it
  port      one NIC port of a host loses and delays packets: it is found, and connections use the other one until it is clean

Rules and limits are those of the programs, but for the time that a slow host is watched before a job leaves it.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import signal
import statistics
import sys
import tempfile
import time

from lab.agents import ClusterOfAgents, Reporter
from lab.cgroups import Cgroups, Unavailable
from lab.experiment import Lab
from lab.jobs import Job
from lab.shape import Shape

SHAPE = Shape(hosts=6, aggs=2)
JOB = Job("grey", 5, "ddp", megabytes=0.3, compute=0.3)
# One port of a NIC has the bandwidth that this one needs.
LIGHT_JOB = dataclasses.replace(JOB, megabytes=0.1)
FAILURES = ["stopped", "counters", "limit", "host", "port"]
_BUSY_SECONDS = 0.04
# Of a CPU: the work of an iteration then takes twenty times as long.
_SLOW_CPUS = 0.05
# Of the impaired port, each way.
_DELAY_SECONDS, _LOSS = 0.01, 0.02
_FOUND_SECONDS = 60
_RATE_SECONDS = 20
# An iteration differs from the next one by more on two cores; over 20 s of them it does not.
_SAME_RATE = 0.95
_START_SECONDS = 120
_RECOVERY_SECONDS = 180
# A port is clean after two minutes without loss, later where it seemed clean before.
_CLEAN_SECONDS = 300
_MIN_ITERATIONS = 25  # that a report needs to count


class Failed(RuntimeError):
    """Something was not found, or not in time, or the job did not recover."""


class Story:
    """One job of a cluster through grey failures."""

    def __init__(self, lab, cgroups, options, say):
        self._lab, self._groups, self._options, self._say = lab, cgroups, options, say
        self._shared = os.path.join(lab.folder, "shared")
        os.makedirs(self._shared)
        self._cluster = ClusterOfAgents(lab, cgroups, [
            f"--slow-host-warm-up-ms={options.warm_up_seconds * 1000}", f"--slow-host-grace-ms={options.grace_seconds * 1000}"])
        self._gang = f"trainingjob-{JOB.name}"

    def run(self, failures):
        """{failure: row}"""
        self._cluster.start()
        self._say("the control plane is up, every host has an agent")
        rows = {}
        try:
            for failure in failures:
                job = JobLife(self._cluster, self._shared, failure != "counters", self._say, LIGHT_JOB if failure == "port" else JOB)
                try:
                    rows[failure] = getattr(self, f"_{failure}")(job) | {"rateBefore": round(job.rate_before, 3)}
                finally:
                    job.end()
        finally:
            self._cluster.stop()
        return rows

    def _await(self, what, holds, seconds):
        """Seconds until it holds, and what `holds` gave then."""
        began = time.monotonic()
        while True:
            value = holds()
            if value:
                return time.monotonic() - began, value
            if time.monotonic() - began > seconds:
                raise Failed(f"{what} did not come within {seconds} s")
            time.sleep(0.2)

    def _stalled(self):
        return self._cluster.why("trainingjobs", JOB.name, "Stalled")

    def _straggling(self):
        return self._cluster.why("gangs", self._gang, "Straggling")

    @staticmethod
    def _with(evidence, look):
        """What `look` gives, once it has this evidence."""
        def holds():
            text = look()
            return text if text and evidence in text else None
        return holds

    def _held_back(self):
        return self._cluster.why("trainingjobs", JOB.name, "Degraded")

    def _found(self, what, holds, expected):
        """Seconds until it is found, with the right evidence."""
        try:
            seconds, text = self._await(what, holds, _FOUND_SECONDS)
        except Failed as error:
            raise Failed(f"{error}; the agents say: {self._reports()}") from error
        if not all(part in text for part in expected):
            raise Failed(f"{what}: \"{text}\" does not name {expected}")
        self._say(f"found after {seconds:.1f} s: {text}")
        return round(seconds, 1)

    def _reports(self):
        """What agents have written on the job's pods."""
        return {rank: {key: pod["metadata"]["annotations"].get(f"yardmaster.dev/{key}") for key in ("profile", "progress")}
                for rank, pod in self._cluster.pods(JOB).items()}

    # The failures.
    def _stopped(self, job):
        rank, found = 2, []
        for number in range(self._options.rounds):
            rank = (rank + 1) % JOB.workers
            pid = job.trainer(rank)
            os.kill(pid, signal.SIGSTOP)
            found.append(self._found("the stopped process", self._stalled, [
                "WorkerCannotRun", f"worker {rank} on host {job.host(rank).name}", "stopped"]))
            if number + 1 < self._options.rounds:
                os.kill(pid, signal.SIGCONT)
                self._await("progress", lambda: not self._stalled(), _FOUND_SECONDS)
                job.wait_for(8)
        # The ladder's only step: the job's own restart.
        self._cluster.set_recovery(JOB, {"onStall": "Restart"})
        return {"found": found} | job.recovered()

    def _counters(self, job):
        rank = 1
        seconds, _ = self._await("a measured period", job.measured, 240)
        self._say(f"the agents measured the job's period after {seconds:.0f} s more")
        time.sleep(5)
        os.kill(job.trainer(rank), signal.SIGSTOP)
        found = self._found("the stopped process", self._stalled, [
            "WorkerCannotRun", f"worker {rank} on host {job.host(rank).name}", "stopped"])
        self._cluster.set_recovery(JOB, {"onStall": "Restart"})
        return {"found": [found]} | job.recovered()

    def _limit(self, job):
        rank = 3
        host, uid = job.host(rank), job.uid(rank)
        group = self._groups.pod(host, uid)
        self._groups.limit(group, _SLOW_CPUS)
        found = self._found("the worker that its limit throttles", self._with("CPU limit", self._straggling), [
            f"rank {rank} on {host.name}", "throttled by its own CPU limit"])
        # As long again as the job would need to leave the host, warm-up included.
        time.sleep(self._options.warm_up_seconds + 2 * self._options.grace_seconds)
        text = self._held_back() or ""
        if "resources.limits.cpu" not in text or job.host(rank) != host or job.uid(rank) != uid:
            raise Failed(f"the job has left {host.name} for its own limit, or does not say why it stays: {text}")
        self._say(f"it stays: {text}")
        self._groups.limit(group, None)
        return {"found": [found]} | job.recovered()

    def _host(self, job):
        rank = 3
        host = job.host(rank)
        time.sleep(max(0.0, self._options.warm_up_seconds - job.age()))
        self._groups.limit(self._groups.host(host), _SLOW_CPUS)
        try:
            found = self._found("the slow host", self._straggling, [f"rank {rank} on {host.name}"])
            if "CPU limit" in (self._straggling() or ""):
                raise Failed("the host's fault is called the job's own limit")
            seconds, _ = self._await("a better host", lambda: job.moved(rank, host), _RECOVERY_SECONDS)
            self._say(f"the rank was on {job.host(rank).name} {seconds:.1f} s later")
            return {"found": [found], "movedTo": job.host(rank).name} | job.recovered()
        finally:
            self._groups.limit(self._groups.host(host), None)

    def _port(self, job):
        """Both ways of a cable damage packets; the host's port counts those that come to it."""
        host, plane = job.host(3), 1
        impaired = self._lab.fabric.impair(host, plane, _DELAY_SECONDS, _LOSS)
        show_own_counter = self._cluster.count_damaged_packets(host, plane, impaired[0].arrivals)
        links = lambda: self._cluster.fabric_says("LinksClean")
        try:
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                finding = pool.submit(self._found, "the port that loses packets", self._with("PacketLoss", links),
                                      [f"{host.name}:r0p{plane} "])
                share = job.rate() / job.rate_before
                found = finding.result()
            self._say(f"with {_LOSS:.0%} loss and {_DELAY_SECONDS * 1000:.0f} ms of delay on one port: {share:.1%} of the rate before")
            if share > _SAME_RATE:
                raise Failed("the fault costs nothing, so nothing is shown")
            time.sleep(5)
            other = job.rate() / job.rate_before
            self._say(f"by the other port: {other:.1%} of the rate before")
            if other < _SAME_RATE:
                raise Failed("the job's rate is not that of before")
        finally:
            for end in impaired:
                end.end()
            show_own_counter()
        clean, _ = self._await("a clean port", self._with("NoLoss", links), _CLEAN_SECONDS)
        self._say(f"clean {clean:.0f} s after it was mended")
        return {"found": [found], "rateImpaired": round(share, 3), "rateOtherPort": round(other, 3),
                "cleanAfter": round(clean, 1)} | job.recovered()


class JobLife:
    """A job from its submission until it is removed. `reports`: its ranks tell the agents what they measure."""

    def __init__(self, cluster, shared, reports, say, job=JOB):
        self._cluster, self._say = cluster, say
        self._folder = tempfile.mkdtemp(dir=shared)
        name = "/shared/" + os.path.basename(self._folder)
        self._cluster.submit(job, job.arguments() + [
            "--busy", str(_BUSY_SECONDS), "--timeout", "900", "--record", f"{name}/record.jsonl", "--report", name,
            "--checkpoint", f"{name}/checkpoint", "--checkpoint-every", "10"], shared, recovery={"onSlowHost": "Replace"})
        self._reporter = Reporter(self._cluster, JOB, self._folder) if reports else None
        if self._reporter:
            self._reporter.start()
        self._cluster.wait_for_plan(JOB)
        self.wait_for(3)
        self._began = time.monotonic()
        self.wait_for(_MIN_ITERATIONS)
        self.rate_before = self.rate()
        self._say(f"the job trains on {', '.join(self.host(r).name for r in range(JOB.workers))}: "
                  f"{self.rate_before:.2f} iterations a second")

    def end(self):
        if self._reporter:
            self._reporter.stop()
        self._cluster.remove(JOB)

    def age(self):
        return time.monotonic() - self._began

    def host(self, rank):
        return self._cluster.places(JOB)[rank]

    def uid(self, rank):
        return self._cluster.pods(JOB)[rank]["metadata"]["uid"]

    def trainer(self, rank):
        return self._cluster.worker_processes(JOB, rank)[0]

    def measured(self):
        """Whether every agent has measured an iteration by the NICs' counters."""
        return all("yardmaster.dev/profile" in pod["metadata"].get("annotations", {}) for pod in self._cluster.pods(JOB).values())

    def moved(self, rank, host):
        return self._cluster.places(JOB).get(rank, host) != host

    def lines(self):
        try:
            with open(os.path.join(self._folder, "record.jsonl"), encoding="ascii") as file:
                return [json.loads(line) for line in file if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def wait_for(self, more, seconds=_START_SECONDS):
        """Until so many iterations more have ended."""
        first, deadline = len(self.lines()), time.monotonic() + seconds
        while len(self.lines()) < first + more:
            if time.monotonic() > deadline:
                raise Failed(f"the job made {len(self.lines()) - first} of {more} iterations in {seconds} s")
            time.sleep(0.1)

    def rate(self):
        """Iterations a second, by the median of the next _RATE_SECONDS."""
        first = len(self.lines())
        time.sleep(_RATE_SECONDS)
        lines = self.lines()[first:]
        return 1 / statistics.median(line["seconds"] for line in lines) if len(lines) > 2 else 0.0

    def recovered(self):
        """Seconds until the job's iterations go on, and until its rate is that of before; that rate as a share of it."""
        began = time.monotonic()
        self.wait_for(3)
        goes_on = time.monotonic() - began
        while True:
            at = time.monotonic()
            share = self.rate() / self.rate_before
            if share >= _SAME_RATE:
                self._say(f"training went on {goes_on:.0f} s later; {at - began:.0f} s later its rate is {share:.1%} of that before")
                return {"goesOnAfter": round(goes_on, 1), "recoveredAfter": round(at - began, 1), "rateAfter": round(share, 3)}
            if at - began > _RECOVERY_SECONDS:
                raise Failed(f"the job's rate is {share:.0%} of that before, {at - began:.0f} s later")


def main():
    parser = argparse.ArgumentParser(prog="test/lab/grey", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("failures", nargs="*", metavar="FAILURE", help=f"of {', '.join(FAILURES)}; all when none is given")
    parser.add_argument("--rounds", type=int, default=3, help="how often a process is stopped")
    parser.add_argument("--warm-up-seconds", type=int, default=60, help="the operator's --slow-host-warm-up-ms (600 in production)")
    parser.add_argument("--grace-seconds", type=int, default=40, help="the operator's --slow-host-grace-ms (120 in production)")
    parser.add_argument("--json", default="", help="file for the rows")
    options = parser.parse_args()
    unknown = set(options.failures) - set(FAILURES)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: not a failure")
    began = time.monotonic()

    def say(text):
        print(f"[{time.monotonic() - began:4.0f} s] {text}", flush=True)
    try:
        cgroups = Cgroups()
    except Unavailable as error:
        print(f"skipped: {error}")
        return 0
    with tempfile.TemporaryDirectory(prefix="lab-", ignore_cleanup_errors=True) as folder:
        lab = Lab(SHAPE, folder)
        try:
            rows = Story(lab, cgroups, options, say).run(options.failures or FAILURES)
        except Failed as error:
            print(f"failed: {error}")
            return 1
        finally:
            lab.planner.close()
            cgroups.remove()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    print(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
