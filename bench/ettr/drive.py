"""Runs a list of faults against a fleet, and counts where the time of its jobs goes.

The clock jumps from fault to repair to fault: between them nothing happens in the cluster. At each, the fleet is changed and watched
until every job runs or nothing moves any more; the seconds that takes are simulated seconds, one for one. What simulated hosts
do not have is added, the same for every policy (Times). Changes within one batch of a minute meet the fleet together.
"""
import collections
import dataclasses

import faults
from ledger import Ledger
from mix import CHECKPOINT_SECONDS, HOST_GPUS

BATCH_SECONDS = 60.0


@dataclasses.dataclass(frozen=True)
class Times:
    """Seconds of what a simulated host does not do."""
    # Until the Node of a host that fell silent is NotReady: kube-controller-manager --node-monitor-grace-period, Kubernetes 1.37.
    not_ready: float = 50.0
    # For which it has to be NotReady: recovery.hostGraceSeconds of a TrainingJob by default. Pods of other kinds tolerate such a Node for
    # 300 s by default; they are given the same 30 s.
    grace: float = 30.0
    # Until a job whose pods run trains: processes, communicators, the checkpoint. An assumption, between the stalls of 3 and 10 minutes
    # that Meta had with and without optimisation (FT-HSDP, arXiv:2602.00277).
    restart: float = 300.0

    def detection(self, kind):
        return self.not_ready + self.grace if kind in faults.OUT_OF_SERVICE else 0.0


@dataclasses.dataclass
class Outcome:
    """Of one step. Seconds until all pods of a job ran again, None: they do not; of jobs that were not touched nothing."""
    seconds: dict
    late: dict = dataclasses.field(default_factory=dict)  # jobs that came back after the step before it had been left, from its beginning


@dataclasses.dataclass(frozen=True)
class Event:
    at: float
    what: str  # fault, repair
    fault: faults.Fault


def events_of(drawn, end):
    events = [Event(f.at, "fault", f) for f in drawn]
    events += [Event(f.until, "repair", f) for f in drawn if f.kind != "software" and f.until < end]
    return sorted(events, key=lambda e: (e.at, e.what, e.fault.place, e.fault.kind))


def batches(events):
    """Events that follow the first of their batch within BATCH_SECONDS."""
    batch = []
    for event in events:
        if batch and event.at - batch[0].at > BATCH_SECONDS:
            yield batch
            batch = []
        batch.append(event)
    if batch:
        yield batch


class Drive:
    def __init__(self, fleet, jobs, segment_of, drawn, days, times, say):
        self.fleet, self.jobs, self.segment_of, self.times, self.say = fleet, jobs, segment_of, times, say
        self.restart = times.restart + fleet.not_played
        self.end = days * faults.DAY
        self.batches = list(batches(events_of(drawn, self.end)))
        self.ledgers = {job.name: Ledger(job.interval, CHECKPOINT_SECONDS) for job in jobs}
        self.slow_places = {}  # host, or segment of a ToR -> kind
        self.step_before = 0.0
        self.steps = 0
        self.reactions = collections.defaultdict(list)  # kind of fault -> measured seconds

    def run(self):
        for number, batch in enumerate(self.batches, 1):
            self._take(batch)
            if number % -(-len(self.batches) // 10) == 0:
                waiting = sum(ledger.waits() for ledger in self.ledgers.values())
                self.say("    day %.1f: %d of %d events, %d jobs wait for a host" % (
                    batch[-1].at / faults.DAY, number, len(self.batches), waiting))
        for ledger in self.ledgers.values():
            ledger.end(self.end)
        return self.ledgers

    def _take(self, batch):
        at = batch[-1].at
        standing = self._standing()
        hit, lost, failed, repaired = {}, [], [], []
        for event in batch:
            fault, job = event.fault, standing.get(event.fault.place)
            if fault.kind in ("link", "tor"):
                self._slow(fault, event.what)
            elif event.what == "repair":
                repaired.append(fault.place)
            elif fault.kind in faults.OUT_OF_SERVICE:
                lost.append(fault.place)
                if job:
                    hit[job] = event
                    self.ledgers[job].stop(event.at, fault.kind, self.times.detection(fault.kind))
            elif job and not self.ledgers[job].waits():
                failed.append((job, fault.place))
                hit[job] = event
                self.ledgers[job].stop(event.at, fault.kind, 0.0)
        if lost or failed or repaired:
            self._apply(at, hit, self.fleet.step(lost, failed, repaired))
        self._rates(at)

    def _apply(self, at, hit, outcome):
        """`hit`: the event that stopped a job in this step."""
        for job, seconds in outcome.late.items():
            if self.ledgers[job].waits() and job not in hit:
                ready = max(self.step_before + seconds, self.ledgers[job].outage.since + self.ledgers[job].outage.detection)
                self.ledgers[job].ready(ready + self.restart, 0.0, self.restart)
        if unseen := [job for job in hit if job not in outcome.seconds]:
            raise RuntimeError("the fleet says nothing of %s, which a fault stopped" % ", ".join(unseen))
        for job, seconds in outcome.seconds.items():
            ledger, event = self.ledgers[job], hit.get(job)
            if ledger.runs(at):
                # No fault of its own: the scheduler stopped it.
                ledger.stop(at, "collateral", 0.0)
            if seconds is None:
                ledger.wait()
                continue
            fresh = event is not None and ledger.outage.since == event.at
            begin = event.at + ledger.outage.detection if fresh else at
            ledger.ready(begin + seconds + self.restart, seconds, self.restart)
            self.reactions[event.fault.kind if fresh else "repair"].append(seconds)
        self.step_before = at
        self.steps += 1

    def _standing(self):
        return {host: job.name for job in self.jobs for host in self.fleet.hosts(job.name)}

    def _slow(self, fault, what):
        if what == "fault":
            self.slow_places[fault.place] = fault.kind
        else:
            self.slow_places.pop(fault.place, None)

    def _rates(self, at):
        """The rate of each job, by where it stands now."""
        for job in self.jobs:
            causes = {self.slow_places[place] for host in self.fleet.hosts(job.name)
                      for place in (host, self.segment_of[host]) if place in self.slow_places} if self.slow_places else ()
            share = faults.RATE_LOST_BY_A_PORT if causes else 0.0
            self.ledgers[job.name].rate(at, min(causes) if causes else None, share)


def hours_out(drawn, hosts, end):
    """Host seconds that these hosts spend in repair."""
    return sum(min(f.until, end) - f.at for f in drawn if f.kind in faults.OUT_OF_SERVICE and f.place in hosts)


def summary(name, title, jobs, ledgers, all_hosts, others_seconds, end):
    """`others_seconds`: host seconds of work outside of the jobs."""
    gpus = {job.name: job.workers * HOST_GPUS for job in jobs}
    cause, phase = collections.Counter(), collections.Counter()
    for job, ledger in ledgers.items():
        for (why, where), seconds in ledger.lost.items():
            cause[why] += seconds * gpus[job]
            phase[where] += seconds * gpus[job]
    productive = sum(ledgers[job].productive * gpus[job] for job in gpus)
    whole = sum(gpus.values()) * end
    return {
        "name": name, "title": title, "ettr": round(productive / whole, 4),
        "goodputOfAllHosts": round((productive + others_seconds * HOST_GPUS) / (all_hosts * HOST_GPUS * end), 4),
        "lostGpuSeconds": {key: round(value) for key, value in sorted(cause.items()) if round(value)},
        "lostGpuSecondsByPhase": {key: round(value) for key, value in sorted(phase.items()) if round(value)},
        "jobs": [{"name": job.name, "model": job.model, "hosts": job.workers, "checkpointSeconds": round(job.interval),
                  "stops": ledgers[job.name].stops, "ettr": round(ledgers[job.name].productive / end, 4)} for job in jobs],
    }
