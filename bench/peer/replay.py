"""Replays jobs on a real control plane by a clock of its own: minutes pass at events, never while a scheduler is at work.

At each event (an arrival, an end) the cluster is changed and then watched until every job stands in full, or nothing has
moved for QUIET_SECONDS. A job starts when all of its pods are bound.
"""
import dataclasses
import time

QUIET_SECONDS = 2.0
POLL_SECONDS = 0.1
LONGEST_SECONDS = 60


@dataclasses.dataclass
class Placed:
    job: object
    start: int
    hosts: list  # by rank
    seconds: float  # from the first call until the last pod was bound; None: it had to wait for others to end


@dataclasses.dataclass
class Result:
    placed: list = dataclasses.field(default_factory=list)
    # One entry for each span of the clock: minutes, GPUs that training uses, GPUs that incomplete jobs hold,
    # free GPUs on hosts that are partly in use.
    spans: list = dataclasses.field(default_factory=list)
    withdrawn: int = 0  # times that all waited for each other and one had to be taken back
    end: int = 0


class Replay:
    def __init__(self, scheduler, jobs, hosts, host_gpus, say):
        self.scheduler, self.say = scheduler, say
        self.capacity = hosts * host_gpus
        self.arrivals = sorted(jobs, key=lambda job: job.arrival)
        self.by_name = {job.name: job for job in jobs}
        self.host_gpus = host_gpus
        self.held_back = []  # by quota, or withdrawn; in the order in which they came
        self.withdrawn = set()  # names
        self.waiting = {}  # name -> when it was submitted, by the wall clock
        self.running = {}  # name -> Placed
        self.now = 0
        self.result = Result()

    def run(self):
        while self.arrivals or self.running or self.waiting or self.held_back:
            ends = [p.start + p.job.minutes for p in self.running.values()]
            nexts = ends + [job.arrival for job in self.arrivals[:1]]
            if nexts:
                self.pass_time_until(max(self.now, min(nexts)))
                self.end_jobs()
            elif self.waiting:
                self.withdraw_one()
                self.settle(set())
                if self.running or self.waiting:
                    continue  # the one that gave way comes back at the next event
            fresh = self.admit()
            if not (fresh or nexts or self.waiting):
                raise RuntimeError("%s: larger than the cluster" % ", ".join(job.name for job in self.held_back))
            self.settle(fresh)
        self.result.end = self.now
        return self.result

    def pass_time_until(self, then):
        """Counts the span that ends now, with the present state of the cluster."""
        if then > self.now:
            pods, _ = self.scheduler.pods()
            used = {}
            training = blocked = 0
            for name, _, host in pods:
                if host is None:
                    continue
                gpus = self.by_name[name].gpus_per_worker
                used[host] = used.get(host, 0) + gpus
                if name in self.running:
                    training += gpus
                else:
                    blocked += gpus
            stranded = sum(self.host_gpus - gpus for gpus in used.values())
            self.result.spans.append((then - self.now, training, blocked, stranded))
        self.now = then

    def end_jobs(self):
        ended = [name for name, p in self.running.items() if p.start + p.job.minutes <= self.now]
        for name in ended:
            self.scheduler.remove(self.running.pop(name).job)
        if ended:
            self.await_gone(set(ended))

    def await_gone(self, names):
        end = time.monotonic() + LONGEST_SECONDS
        while time.monotonic() < end:
            pods, leaving = self.scheduler.pods()
            if not leaving and not any(name in names for name, _, _ in pods):
                return
            time.sleep(POLL_SECONDS)
        raise RuntimeError("pods of %s do not end" % ", ".join(sorted(names)))

    def withdraw_one(self):
        """All that is there waits for each other: the last one to come gives back what it holds. It comes back when as many GPUs
        are free as it needs, else all that gave way would come back together and wait for each other again."""
        name = list(self.waiting)[-1]
        self.result.withdrawn += 1
        if self.result.withdrawn > 2 * len(self.by_name):
            raise RuntimeError("%s: the jobs that wait can never run" % self.scheduler.title)
        self.withdrawn.add(name)
        del self.waiting[name]
        self.scheduler.remove(self.by_name[name])
        self.await_gone({name})
        self.held_back.append(self.by_name[name])

    def free_gpus(self):
        taken = sum(p.job.workers * p.job.gpus_per_worker for p in self.running.values())
        taken += sum(self.by_name[n].workers * self.by_name[n].gpus_per_worker for n in self.waiting)
        return self.capacity - taken

    def admit(self):
        """Submits what has arrived; with a quota, and of what was withdrawn, what fits into the free GPUs."""
        while self.arrivals and self.arrivals[0].arrival <= self.now:
            self.held_back.append(self.arrivals.pop(0))
        fresh = set()
        for job in list(self.held_back):
            gpus = job.workers * job.gpus_per_worker
            if (self.scheduler.by_quota or job.name in self.withdrawn) and gpus > self.free_gpus():
                continue
            self.held_back.remove(job)
            self.waiting[job.name] = time.monotonic()
            self.scheduler.submit(job)
            fresh.add(job.name)
        return fresh

    def settle(self, fresh):
        """Until every waiting job is whole, or nothing moves any more."""
        began = moved = time.monotonic()
        before = None
        while self.waiting and time.monotonic() - moved < QUIET_SECONDS and time.monotonic() - began < LONGEST_SECONDS:
            pods, _ = self.scheduler.pods()
            seen = sorted((name, rank, host or "") for name, rank, host in pods if name in self.waiting)
            if seen != before:
                before, moved = seen, time.monotonic()
            hosts = {}
            for name, rank, host in seen:
                if host:
                    hosts.setdefault(name, {})[rank] = host
            for name, of_rank in hosts.items():
                job = self.by_name[name]
                if len(of_rank) < job.workers:
                    continue
                seconds = time.monotonic() - self.waiting.pop(name) if name in fresh else None
                if seconds is None:
                    self.waiting.pop(name)
                self.running[name] = Placed(job, self.now, [of_rank[r] for r in range(job.workers)], seconds)
                self.result.placed.append(self.running[name])
            time.sleep(POLL_SECONDS)
        self.say("%6d min: %d run, %d wait, %d to come" % (
            self.now, len(self.running), len(self.waiting) + len(self.held_back), len(self.arrivals)))
