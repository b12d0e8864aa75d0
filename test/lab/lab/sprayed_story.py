"""Lost planes and a flapping link in the sprayed fabric, under a real control plane: what `sprayedFailures` says.

NICs stop to use a plane by which a peer is not reached as soon as a port is down, and use it again as soon as it is up.
"""

import json
import os
import threading
import time

from lab.cluster import Cluster
from lab.failures import measure
from lab.jobs import Job
from lab.sprayed import Failed

_DOWN_SECONDS, _UP_SECONDS, _FLAPS = 0.5, 0.7, 8
_START_SECONDS = 120
# More workers than a segment has hosts, so that its two stages talk over the uplinks wherever they are placed.
JOB = Job("talk", 6, "pipeline", megabytes=0.2, compute=0.05, activation_megabytes=0.3, micro_batches=2)
PAIR = Job("pair", 2, "ddp", megabytes=0.5, compute=0.05)
_PLANE = 3


class SprayedStory:
    """run() once."""

    def __init__(self, lab, say):
        self._lab, self._say = lab, say
        self._shared = os.path.join(lab.folder, "sprayed")
        os.makedirs(self._shared)
        self._cluster = Cluster(lab)

    def run(self):
        """{"failures", "avoided"}. Raises Failed where a path plan has a port or a gang gets the degraded host."""
        self._cluster.start()
        self._say("the control plane is up, every host is a Node")
        try:
            self._submit(JOB, ["--timeout", "60"])
            self._wait_for_steps(3)
            places = self._cluster.places(JOB)
            hosts = [places[rank] for rank in range(JOB.workers)]
            self._no_ports()
            self._say(f"the TrainingJob trains on {', '.join(host.name for host in hosts)}, no port is planned")
            failures = [self._one("plane", hosts, lambda: self._plane(hosts[1], False), lambda: self._plane(hosts[1], True)),
                        self._one("flap", hosts, *self._flapping(hosts[1]))]
            self._no_ports()
            self._cluster.wait_for_down_port(hosts[1], _PLANE, False)
            return {"failures": failures, "avoided": self._degraded()}
        finally:
            self._cluster.stop()

    def _submit(self, job, arguments):
        self._cluster.submit(job, job.arguments() + arguments + ["--record", f"/shared/{job.name}.jsonl"], self._shared)
        self._cluster.wait_for_levels(job)

    def _no_ports(self):
        ports = sum(len(paths) for planned, _ in self._cluster.applied.values() for paths in planned.values())
        if ports:
            raise Failed(f"path plans have {ports} ports")

    def _lines(self):
        try:
            with open(os.path.join(self._shared, f"{JOB.name}.jsonl"), encoding="ascii") as file:
                return [json.loads(line) for line in file if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def _wait_for_steps(self, count):
        deadline, first = time.monotonic() + _START_SECONDS, len(self._lines())
        while len(self._lines()) < first + count:
            if time.monotonic() > deadline:
                raise Failed(f"{JOB.name} made {len(self._lines()) - first} of {count} steps in {_START_SECONDS} s")
            time.sleep(0.05)

    def _one(self, what, hosts, fail, mend):
        delay, after = measure(hosts, self._lines, fail)
        mend()
        self._say(f"{what}: {delay:.2f} s of delay, then {after:.0%} of before")
        self._wait_for_steps(3)
        return {"what": what, "stallSeconds": delay, "ofBefore": after}

    def _plane(self, host, up):
        self._lab.fabric.set_link(self._lab.shape.tor(host.segment, _PLANE), f"d{host.slot}", up)
        if up:
            self._lab.fabric.set_routes(set(), [_PLANE])

    def _flapping(self, host):
        """What makes a host's plane come and go for as long as a failure is measured, and what waits for the end of it."""
        def flap():
            for _ in range(_FLAPS):
                self._plane(host, False)
                time.sleep(_DOWN_SECONDS)
                self._plane(host, True)
                time.sleep(_UP_SECONDS)
        thread = threading.Thread(target=flap, daemon=True)
        return thread.start, thread.join

    def _degraded(self):
        """A gang's host loses a plane; the same gang, come again, stands elsewhere, though all its hosts are free."""
        self._submit(PAIR, [])
        before = sorted(host.name for host in self._cluster.places(PAIR).values())
        self._cluster.remove(PAIR)
        host = self._lab.by_name[before[0]]
        self._plane(host, False)
        self._cluster.wait_for_down_port(host, _PLANE)
        self._submit(PAIR, [])
        after = sorted(host.name for host in self._cluster.places(PAIR).values())
        self._plane(host, True)
        self._say(f"{host.name} lost plane {_PLANE}: a gang that stood on {', '.join(before)} comes to {', '.join(after)}")
        if host.name in after:
            raise Failed(f"{PAIR.name} was placed on {host.name}, which has lost a plane, while other hosts were free")
        return {"host": host.name, "before": before, "after": after}
