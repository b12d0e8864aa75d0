"""What a failure costs: with a real control plane whose operator finds new ports, and with the kernel alone.

A job that only communicates runs over all uplinks it can. An uplink, a whole Agg or a NIC port goes; switches
leave the link CONVERGE_SECONDS later, as with BGP. With the control plane the operator is told of it (by the
agent or by the Fabric's annotation), moves connections, and the NICs follow their plan files.
"""

import statistics
import threading
import time

from lab import netns
from lab.fabric import Routing
from lab.jobs import Job

CONVERGE_SECONDS = 3.0
_SAMPLE_SECONDS = 0.01
_BEFORE_SECONDS, _AFTER_SECONDS = 5.0, 12.0
_SETTLED_SECONDS = 6.0  # after the failure; throughput is compared from then on
# Less than this share of what is usual in a sample is treated as standing still.
_STILL = 0.02
# More workers than a segment has hosts, so that its two stages talk over the uplinks wherever they are placed.
JOB = Job("talk", 10, "pipeline", megabytes=0.2, compute=0.05, activation_megabytes=0.3, micro_batches=2)
KINDS = ["uplink", "agg", "nicPort"]


class Meter(threading.Thread):
    """Bytes that the job's NICs have received, every few milliseconds."""

    def __init__(self, hosts):
        super().__init__(daemon=True)
        self._files, self.samples, self._stop_now = [], [], threading.Event()
        for host in hosts:
            with netns.inside(host.name):
                # /proc/net of a thread stays that of the namespace it was opened in.
                self._files.append(open("/proc/thread-self/net/dev", encoding="ascii"))  # pylint: disable=consider-using-with

    def run(self):
        while not self._stop_now.wait(_SAMPLE_SECONDS):
            total = 0
            for file in self._files:
                file.seek(0)
                total += sum(int(line.split(":")[1].split()[0]) for line in file.readlines()[2:]
                             if line.lstrip().startswith("n"))
            self.samples.append((time.monotonic(), total))

    def stop(self):
        self._stop_now.set()
        self.join()

    def rate(self, begin, end):
        """Bytes a second between two moments."""
        inside = [s for s in self.samples if begin <= s[0] <= end]
        return (inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0])


def stall(samples, failed, usual):
    """The longest stretch after `failed` in which bytes came at less than _STILL of the usual rate, in windows of
    50 ms (a job pauses that long by itself)."""
    window, longest, since = 0.05, 0.0, None
    at = 0
    for i, (moment, total) in enumerate(samples):
        if moment < failed:
            continue
        while samples[at][0] < moment - window:
            at += 1
        span = moment - samples[at][0]
        if at < i and total - samples[at][1] < _STILL * usual * span:
            since = samples[at][0] if since is None else since
            longest = max(longest, moment - since)
        else:
            since = None
    return longest


def longest_delay(lines, failed, end):
    """By how much the longest iteration after `failed` exceeds the usual one; that which still runs at `end` counts.
    Moments are those of time.time()."""
    usual = statistics.median(line["seconds"] for line in lines if line["time"] <= failed)
    after = [line["seconds"] for line in lines if line["time"] > failed]
    return max(0.0, max(after + [end - lines[-1]["time"]]) - usual)


def measure(hosts, lines, fail):
    """(longest delay in seconds, throughput after as a share of that before); `lines()`: the job's iterations."""
    meter = Meter(hosts)
    first = len(lines())
    meter.start()
    time.sleep(_BEFORE_SECONDS)
    failed, failed_at = time.monotonic(), time.time()
    fail()
    time.sleep(_AFTER_SECONDS)
    meter.stop()
    delay = longest_delay(lines()[first:], failed_at, time.time())
    usual = meter.rate(failed - _BEFORE_SECONDS + 0.5, failed)
    after = meter.rate(failed + _SETTLED_SECONDS, failed + _AFTER_SECONDS)
    return round(delay, 3), round(after / usual, 3)


class Failures:
    """Breaks and mends parts under a job that runs. `cluster`: None to leave all to the kernel."""

    def __init__(self, lab, cluster=None):
        self._lab, self._cluster = lab, cluster
        self._routing = Routing(lab.fabric, CONVERGE_SECONDS)

    def one(self, what, hosts, lines):
        """(longest delay of an iteration, throughput after as a share of that before). Mends what it broke."""
        fabric, shape = self._lab.fabric, self._lab.shape
        if what == "nicPort":
            host = hosts[1]
            port = (shape.tor(host.segment, 0), f"d{host.slot}")
            result = measure(hosts, lines, lambda: fabric.set_link(*port, False))
            fabric.set_link(*port, True)
            fabric.set_routes(set())
            return result
        uplinks = self._uplinks(what, hosts)
        result = measure(hosts, lines, lambda: self._cut(what, uplinks))
        for segment, plane, agg in uplinks:
            fabric.set_link(shape.agg(plane, agg), f"d{segment}", True)
        self._routing.back(uplinks)
        if self._cluster:
            self._cluster.annotate_down([], [])
        return result

    def _cut(self, what, uplinks):
        shape = self._lab.shape
        # At the Agg: the ToR goes on hashing over the link until routing has heard.
        for segment, plane, agg in uplinks:
            self._lab.fabric.set_link(shape.agg(plane, agg), f"d{segment}", False)
        self._routing.lost(uplinks)
        if self._cluster and what == "agg":
            self._cluster.annotate_down([], [shape.agg_name(*uplinks[0][1:])])
        elif self._cluster:
            self._cluster.annotate_down([shape.uplink(*uplinks[0])], [])

    def _uplinks(self, what, hosts):
        """[(segment, plane, agg)] that the job's traffic takes."""
        segment, plane, agg = self._busiest_uplink(hosts)
        if what == "uplink":
            return [(segment, plane, agg)]
        return [(s, plane, agg) for s in range(self._lab.shape.segments)]

    def _busiest_uplink(self, hosts):
        shape = self._lab.shape
        self._lab.fabric.clear_flows()
        time.sleep(1.5)
        addresses = {host.address for host in hosts}
        flows = [f for f in self._lab.fabric.flows() if f[1] in addresses and f[2] in addresses]
        link = max(flows, key=lambda flow: flow[-1])[0]
        return next((s, p, a) for s in range(shape.segments) for p in range(shape.planes) for a in range(shape.aggs)
                    if shape.uplink(s, p, a) + ".up" == link)
