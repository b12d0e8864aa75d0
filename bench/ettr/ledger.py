"""Where the time of one job goes. Seconds are simulated; all that is lost has a cause and a phase:

  checkpoint  training stood still while one was written     work     done since the last checkpoint, and lost
  detection   until the fault was known                      noHost   some rank had no host to go to
  reaction    until all pods ran again, as measured          restart  until training went on: processes, groups, the checkpoint
  rate        trained, but slower

What is productive and what is lost add up to the time that has passed.
"""
import collections
import dataclasses
import math


@dataclasses.dataclass
class Outage:
    cause: str
    since: float
    detection: float
    reaction: float = 0.0
    restart: float = 0.0
    ready: float = math.inf
    waits: bool = False


class Ledger:
    def __init__(self, interval, pause):
        self.interval, self.pause = interval, pause
        self.productive, self.lost, self.stops = 0.0, collections.Counter(), 0
        self.up_since, self.outage = 0.0, None
        self.slow_cause, self.slow_share, self.slow_since, self.slow = None, 0.0, 0.0, collections.Counter()

    def runs(self, at):
        self._arrive(at)
        return self.outage is None

    def waits(self):
        """Some of its ranks have no host."""
        return self.outage is not None and self.outage.waits

    def stop(self, at, cause, detection):
        """A fault of the job. One that comes while it restarts begins the restart again; one that waits goes on waiting."""
        self._arrive(at)
        if self.waits():
            return
        self.stops += 1
        if self.outage is None:
            self._end_span(at, in_order=False, cause=cause)
        else:
            self._charge(at)
        self.outage = Outage(cause, at, detection)

    def wait(self):
        """Until `ready` says when, it waits for hosts."""
        self.outage.waits = True

    def ready(self, at, reaction, restart):
        """It trains again at that time; the last `reaction` and `restart` seconds before it were spent so."""
        self.outage.ready, self.outage.reaction, self.outage.restart, self.outage.waits = at, reaction, restart, False

    def rate(self, at, cause, share):
        """From now on it loses `share` of its rate, because of `cause`."""
        self._arrive(at)
        self._count_slow(at)
        self.slow_cause, self.slow_share = cause, share

    def end(self, at):
        self._arrive(at)
        if self.outage is None:
            self._end_span(at, in_order=True, cause=None)
        else:
            self._charge(at)
        self.up_since = self.outage = None

    def _arrive(self, at):
        if self.outage is not None and self.outage.ready <= at:
            ready = self.outage.ready
            self._charge(ready)
            self.outage, self.up_since = None, ready
            self.slow_since = ready

    def _count_slow(self, at):
        if self.outage is None and self.slow_cause:
            self.slow[self.slow_cause] += self.slow_share * (at - max(self.slow_since, self.up_since))
        self.slow_since = at

    def _end_span(self, at, in_order, cause):
        """Closes the time of training that ends now. Work after the last checkpoint is lost, unless it ends in order."""
        self._count_slow(at)
        span = at - self.up_since
        cycles = math.floor(span / (self.interval + self.pause))
        rest = span - cycles * (self.interval + self.pause)
        kept = cycles * self.interval
        self.lost["checkpoint", "checkpoint"] += cycles * self.pause
        if in_order:
            kept += min(rest, self.interval)
            self.lost["checkpoint", "checkpoint"] += rest - min(rest, self.interval)
        else:
            self.lost[cause, "work"] += rest
        share_kept = kept / span if span > 0 else 0.0
        for slow, seconds in self.slow.items():
            self.lost[slow, "rate"] += seconds * share_kept
            kept -= seconds * share_kept
        self.slow.clear()
        self.productive += kept

    def _charge(self, until):
        """The outage from its beginning until then, phase by phase in their order."""
        out, left = self.outage, until - self.outage.since
        waited = max(0.0, out.ready - out.since - out.detection - out.reaction - out.restart)
        for phase, longest in (("detection", out.detection), ("noHost", waited), ("reaction", out.reaction), ("restart", out.restart)):
            seconds = min(left, longest)
            left -= seconds
            if seconds > 0:
                self.lost[out.cause, phase] += seconds
