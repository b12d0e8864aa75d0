"""A fleet that is arithmetic: the rules of each policy with given seconds, for --dry-run and for tests."""
from drive import Outcome


class ModelFleet:
    """`free` hosts take lost ranks: of the rank's segment, or of any with `anywhere`. Without one the rank waits for a repair; with
    `evicts` the whole job gives its hosts back instead, and starts again where there are enough."""

    not_played = 0.0

    def __init__(self, jobs, ordinary, kept, segment_of, reaction, anywhere=False, evicts=False):
        self.segment_of, self.reaction, self.anywhere, self.evicts = segment_of, reaction, anywhere, evicts
        self.size = {job.name: job.workers for job in jobs}
        free = list(ordinary)
        self.standing = {}  # job -> hosts
        for job in jobs:
            self.standing[job.name], free = free[:job.workers], free[job.workers:]
        if any(len(self.standing[job.name]) < job.workers for job in jobs):
            raise ValueError("the jobs need more hosts than there are")
        self.hosts_of_all = {*ordinary, *kept}  # not those of others
        self.free = free + list(kept)
        self.owed = []  # (job, segment of the host that it lost), the oldest first
        self.queue = []  # evicted jobs

    def hosts(self, job):
        return self.standing[job]

    def step(self, lost, failed, repaired):
        seconds = {job: self.reaction for job, _ in failed}
        touched = set()
        for host in lost:
            if host in self.free:
                self.free.remove(host)
            for job, hosts in self.standing.items():
                if host in hosts:
                    hosts.remove(host)
                    self.owed.append((job, self.segment_of[host]))
                    touched.add(job)
        self.free += [host for host in repaired if host in self.hosts_of_all]
        touched |= self._fill()
        if self.evicts:
            touched |= self._evict_and_admit()
        for job in touched:
            seconds[job] = self.reaction if len(self.standing[job]) == self.size[job] else None
        return Outcome(seconds)

    def _fill(self):
        """The free hosts to the ranks that wait. Jobs that got one."""
        filled, left = set(), []
        for job, segment in self.owed:
            host = next((h for h in self.free if self.segment_of[h] == segment), None)
            if host is None and self.anywhere:
                host = next(iter(self.free), None)
            if host is None:
                left.append((job, segment))
                continue
            self.free.remove(host)
            self.standing[job].append(host)
            filled.add(job)
        self.owed = left
        return filled

    def _evict_and_admit(self):
        touched = {job for job, _ in self.owed}
        for job in sorted(touched):
            self.free += self.standing[job]
            self.standing[job] = []
            self.queue.append(job)
        self.owed = []
        for job in list(self.queue):
            if len(self.free) >= self.size[job]:
                self.standing[job], self.free = self.free[:self.size[job]], self.free[self.size[job]:]
                self.queue.remove(job)
                touched.add(job)
        return touched
