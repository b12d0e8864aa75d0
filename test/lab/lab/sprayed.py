"""The sprayed configurations: eight planes, NICs and ToRs that spread packets, uplinks of half the hosts' rate.

    sprayed         all jobs at one level
    sprayed+levels  the levels that the planner gives

Two data-parallel jobs, all hops of whose rings cross the Aggs, share the uplinks. No port chooses a path, so the
planner must leave ports out, and levels are all that it can do.
"""

import random
import statistics
import sys
import tempfile
import time

from lab import planner as planning
from lab.experiment import Lab, by_host, stop, utilisation
from lab.jobs import Job
from lab.shape import Shape
from lab.steady import Probe, Unsteady

SHAPE = Shape(planes=8, hosts=6, aggs=2, nic_mbps=2, uplink_mbps=2, sprayed=True)
JOBS = [
    Job("dense", 4, "ddp", megabytes=1.4, compute=1.4),
    Job("talky", 4, "ddp", megabytes=1.4, compute=0.35),
]
_SETTLE_SECONDS = 1.0
_ITERATIONS = 3  # at least, of each job in a measurement
_START_SECONDS = 120
_SHORT_SECONDS = 4
_ATTEMPTS = 3
# An iteration alone takes the same time whenever it runs, but for this much.
_ALONE_SPREAD = 0.15
# Standard deviations of what a switch's links get that draws one for every packet.
_DEVIATIONS = 4
_PACKET_BYTES = 1564


class Failed(RuntimeError):
    """The lab did not do what it must."""


def draw_places(shape, seed):
    """Hosts by rank for every job: half of each job in either segment, in turns."""
    segments = [[h for h in shape.all_hosts() if h.segment == s and not h.backup] for s in range(2)]
    for hosts in segments:
        random.Random(seed).shuffle(hosts)
    return {job.name: [segments[rank % 2].pop() for rank in range(job.workers)] for job in JOBS}


def flows_of(shape, job, hosts):
    """[(bytes, links)]: an equal part of each pair's bytes by every plane and Agg."""
    out = []
    for source, target, size in job.flows():
        a, b = hosts[source], hosts[target]
        for plane in range(shape.planes):
            for agg in range(shape.aggs):
                out.append((size / shape.planes / shape.aggs, [
                    f"{a.name}:r0p{plane}.up", shape.uplink(a.segment, plane, agg) + ".up",
                    shape.uplink(b.segment, plane, agg) + ".down", f"{b.name}:r0p{plane}.down"]))
    return out


def measure(lab, runs, seconds):
    """({job: mean seconds of an iteration}, {uplink: bytes sent}, iterations of the first job). Begins and ends with
    iterations of the first job."""
    time.sleep(_SETTLE_SECONDS)
    first_name, first = next(iter(runs.items()))
    first.wait_for(len(first.lines()) + 1, _START_SECONDS)
    before = lab.fabric.uplink_bytes()
    done = {name: len(run.lines()) for name, run in runs.items()}
    time.sleep(seconds)
    for name, run in runs.items():
        run.wait_for(done[name] + _ITERATIONS, _START_SECONDS)
    first.wait_for(len(first.lines()) + 1, _START_SECONDS)
    after = lab.fabric.uplink_bytes()
    # Of jobs but the first, the first of the new lines began before the window.
    times = {name: statistics.mean(line["seconds"] for line in run.lines()[done[name] + (run is not first):])
             for name, run in runs.items()}
    return times, {link: after[link] - before[link] for link in after}, len(first.lines()) - done[first_name]


def _steadily(lab, runs, seconds, probe):
    """As measure(), again where the machine had no time for it. Raises Unsteady."""
    for _ in range(_ATTEMPTS):
        began = time.monotonic()
        measured = measure(lab, runs, seconds)
        steady = probe.steady_since(began)
        if steady and len(runs) == 1:
            name, run = next(iter(runs.items()))
            alone = [line["seconds"] for line in run.lines()[-measured[2]:]]
            steady = max(alone) - min(alone) <= _ALONE_SPREAD * measured[0][name]
        if steady:
            return measured
    raise Unsteady(f"the machine was too busy for {_ATTEMPTS} measurements, one after the other")


def unevenness(shape, uplinks):
    """(largest deviation of a link from the mean of its ToRs' links in one segment and direction, as a share of that
    mean; what chance would leave it within)."""
    worst, tolerance = 0.0, 0.0
    for segment in range(shape.segments):
        for direction in ("up", "down"):
            sent = [uplinks[f"{shape.uplink(segment, plane, agg)}.{direction}"]
                    for plane in range(shape.planes) for agg in range(shape.aggs)]
            mean = statistics.mean(sent)
            worst = max(worst, max(abs(value - mean) for value in sent) / mean)
            tolerance = max(tolerance, _DEVIATIONS * (_PACKET_BYTES / mean) ** 0.5)
    return worst, tolerance


def _alone(lab, places, seconds, probe, say):
    """({job: seconds of an iteration with nothing else on the fabric}, {job: its bytes a byte on the wire})"""
    alone, goodput = {}, {}
    for job in JOBS:
        runs = lab.start_all([job], places)
        try:
            times, uplinks, iterations = _steadily(lab, runs, seconds, probe)
        finally:
            stop(runs)
        wire = sum(sent for link, sent in uplinks.items() if link.endswith(".up"))
        alone[job.name] = times[job.name]
        goodput[job.name] = iterations * sum(size for *_, size in job.flows()) / wire
        say(f"{job.name} alone: {alone[job.name]:.2f} s an iteration, {goodput[job.name]:.0%} of the bytes on the wire are its own")
    return alone, goodput


def predict(lab, jobs, places, levels):
    """The simulator's utilisation as a share of that of the jobs alone."""
    cases = [(job, flows_of(lab.shape, job, places[job.name])) for job in jobs]
    gpus = sum(job.workers for job in jobs)
    alone = sum(case[0].workers * lab.planner.simulate([case], 1, "ecmp")["utilisation"] for case in cases) / gpus
    return lab.planner.simulate(cases, levels, "crux" if levels > 1 else "ecmp")["utilisation"] / alone


def _row(name, alone, measured, jobs, predicted):
    times, uplinks, _ = measured
    worst, tolerance = unevenness(SHAPE, uplinks)
    return {"name": name,
            "jobs": [{"name": job.name, "iterationSeconds": round(times[job.name], 3),
                      "aloneSeconds": round(alone[job.name], 3)} for job in jobs],
            "ofAlone": round(utilisation(jobs, times) / utilisation(jobs, alone), 4),
            "predictedOfAlone": round(predicted, 4),
            "uplinks": [{"link": link, "bytes": uplinks[link]} for link in sorted(uplinks)],
            "unevenness": round(worst, 4), "unevennessByChance": round(tolerance, 4)}


def run(lab, seeds, seconds, say):
    """The rows of the document's `sprayed`, those of each seed one after the other. Raises Unsteady."""
    rows, probe = [], Probe()
    probe.start()
    for seed in seeds:
        places = draw_places(lab.shape, seed)
        report = lab.planner.plan([job.gang(places[job.name]) for job in JOBS])
        planned = sum(path["sourcePort"] != 0 for path in report["paths"] + report.get("answers", []))
        levels = by_host(JOBS, places, planning.levels_of(report))
        lab.configure(seed, {}, {})
        alone, goodput = _alone(lab, places, seconds, probe, say)
        jobs = [job.calibrated(alone[job.name], lab.shape.host_mbps, goodput[job.name]) for job in JOBS]
        runs = lab.start_all(jobs, places)
        for name, by, count in (("sprayed", {}, 1), ("sprayed+levels", levels, lab.shape.levels)):
            lab.configure(seed, {}, by)
            row = _row(name, alone, _steadily(lab, runs, seconds, probe), jobs, predict(lab, jobs, places, count))
            rows.append(row | {"seed": seed, "plannedPorts": planned})
            say(f"seed {seed}, {name}: " + ", ".join(f"{job['name']} {job['iterationSeconds']:.2f} s" for job in row["jobs"]) +
                f", {row['ofAlone']:.1%} of alone, simulated {row['predictedOfAlone']:.1%}; a link's bytes differ by "
                f"{row['unevenness']:.1%} at most")
        stop(runs)
    return rows


def problems(rows):
    """What of the rows contradicts what the product promises, in words."""
    out = []
    for row in rows:
        name = f"seed {row['seed']}, {row['name']}"
        if row["plannedPorts"]:
            out.append(f"{name}: {row['plannedPorts']} connections have a planned port")
        if row["unevenness"] > row["unevennessByChance"]:
            out.append(f"{name}: an uplink's bytes differ by {row['unevenness']:.1%} from the mean")
        if abs(row["predictedOfAlone"] / row["ofAlone"] - 1) > 0.1:
            out.append(f"{name}: {row['predictedOfAlone']:.1%} were predicted, {row['ofAlone']:.1%} measured")
    for without, with_levels in zip(rows[::2], rows[1::2]):
        seconds = [row["jobs"][0]["iterationSeconds"] for row in (without, with_levels)]
        if seconds[1] > 0.9 * seconds[0]:
            out.append(f"seed {without['seed']}: levels took {JOBS[0].name} from {seconds[0]} to {seconds[1]} s only")
    return out


def main():
    """One seed, short measurements: test/lab/spray."""
    began = time.monotonic()

    def say(text):
        print(f"[{time.monotonic() - began:4.0f} s] {text}", flush=True)
    import torch.distributed  # pylint: disable=unused-import
    with tempfile.TemporaryDirectory(prefix="lab-") as folder:
        lab = Lab(SHAPE, folder)
        try:
            found = problems(run(lab, [1], _SHORT_SECONDS, say))
        except Unsteady as error:
            print(f"skipped: {error}")
            return 0
        finally:
            lab.planner.close()
    for problem in found:
        print(f"failed: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
