"""The experiment: jobs that contend, under four configurations, beside what the simulator predicts.

    ecmp                    ports by chance, as NICs choose them; one level
    ports                   planned ports
    ports+levels            planned ports and Crux's levels
    ports+levels+placement  the planner places the jobs, too

The first three run with jobs in places drawn by chance, another draw for every seed. Iteration times are
compared with those of each job alone on the same fabric.
"""

import random
import statistics
import time

from lab import planner as planning
from lab.fabric import Fabric
from lab.jobs import JOBS
from lab.nic import CONNECTIONS, Nic, default_port
from lab.shape import Shape
from lab.workers import JobRun

CONFIGURATIONS = ["ecmp", "ports", "ports+levels", "ports+levels+placement"]
SHAPE = Shape(hosts=9)
_FIRST_PORT = 29500
_WARM_UP = 2  # iterations
_SETTLE_SECONDS = 1.0
_START_SECONDS = 90


class Lab:
    """The fabric with its NICs, and what is asked of the planner. One experiment at a time."""

    def __init__(self, shape, folder):
        self.shape, self.folder = shape, folder
        self.fabric = Fabric(shape)
        self.fabric.build()
        self.hosts = self.fabric.hosts
        self.by_name = {host.name: host for host in self.hosts}
        self.nics = {host.name: Nic(shape, host) for host in self.hosts}
        self.planner = planning.Planner(shape)
        for nic in self.nics.values():
            nic.set_up()
        self._next_port = _FIRST_PORT

    def configure(self, seed, ports, levels):
        """`ports`: {host: {peer's address: [(plane, port)]}}; `levels`: {host: level}; else defaults."""
        for name, nic in self.nics.items():
            nic.apply(nic.connections(seed, ports.get(name, {}), arriving(nic, ports)), levels.get(name, 0))

    def spread(self, host):
        """In a sprayed fabric: the host's NIC leaves out planes whose port is down there or at the peer."""
        nic, peers = self.nics[host.name], {}
        for peer in nic.peers:
            down = nic.down_ports | self.nics[peer.name].down_ports
            if down:
                peers[peer.address] = [plane for plane in range(self.shape.planes) if plane not in down]
        nic.spray(peers)

    def start(self, job, hosts):
        self._next_port += 1
        return JobRun(job.name, hosts, job.arguments(), self.folder, self._next_port)

    def start_all(self, jobs, places):
        runs = {job.name: self.start(job, places[job.name]) for job in jobs}
        for run in runs.values():
            run.wait_for(_WARM_UP, _START_SECONDS)
        return runs

    def flows_of(self, job, hosts, seed, ports):
        """[(bytes, links)] as the NICs send them: each pair by both connections."""
        out = []
        for source, target, size in job.flows():
            a, b = hosts[source], hosts[target]
            planned = ports.get(a.name, {}).get(b.address, [])
            for connection in range(CONNECTIONS):
                plane, port = connection, default_port(seed, a, b, connection)
                if planned:
                    plane, port = planned[connection % len(planned)]
                out.append((size / CONNECTIONS, self.planner.path(a, b, plane, port)))
        return out


def arriving(nic, ports):
    """{peer's address: paths} that peers have towards this NIC; `ports` as in Lab.configure()."""
    own = nic.host.address
    return {peer.address: ports[peer.name][own] for peer in nic.peers if own in ports.get(peer.name, {})}


def draw_places(shape, seed, jobs):
    """Hosts by rank for every job: usable hosts in an order drawn by chance."""
    hosts = [host for host in shape.all_hosts() if not host.backup]
    random.Random(seed).shuffle(hosts)
    places, at = {}, 0
    for job in jobs:
        places[job.name] = hosts[at:at + job.workers]
        at += job.workers
    return places


def utilisation(jobs, seconds):
    """Share of GPU time that is spent on the iterations' own work; `seconds`: {job: of an iteration}."""
    gpus = sum(job.workers for job in jobs)
    return sum(job.workers * job.busy_seconds / seconds[job.name] for job in jobs) / gpus


def measure(lab, runs, seconds):
    """({job: mean seconds of an iteration}, {uplink: bytes sent}, flows) of the next `seconds`."""
    time.sleep(_SETTLE_SECONDS)
    lab.fabric.clear_flows()
    before = lab.fabric.uplink_bytes()
    done = {name: len(run.lines()) for name, run in runs.items()}
    time.sleep(seconds)
    # At least three iterations that began in the window (the first of the new lines began before it).
    for name, run in runs.items():
        run.wait_for(done[name] + 4, _START_SECONDS)
    after = lab.fabric.uplink_bytes()
    times = {name: statistics.mean(line["seconds"] for line in run.lines()[done[name] + 1:])
             for name, run in runs.items()}
    return times, {link: after[link] - before[link] for link in after}, lab.fabric.flows()


def collisions(shape, flows):
    """Large flows beyond the even share of their uplink, over all ToRs and planes. A flow is large when it sent
    a quarter of what the largest did (answers to a flow are a tenth of it)."""
    largest = max((flow[-1] for flow in flows), default=0)
    per_link, per_tor = {}, {}
    for link, *_, sent in flows:
        if sent * 4 >= largest:
            per_link[link] = per_link.get(link, 0) + 1
            tor = link.rsplit(":", 1)[0]
            per_tor[tor] = per_tor.get(tor, 0) + 1
    return sum(max(0, count - -(-per_tor[link.rsplit(":", 1)[0]] // shape.aggs)) for link, count in per_link.items())


def predict(lab, jobs, places, seed, ports, levels):
    """The simulator's utilisation for jobs whose packets take the links they are predicted to take."""
    cases = [(job, lab.flows_of(job, places[job.name], seed, ports)) for job in jobs]
    policy = "crux" if levels > 1 else "ecmp"
    return lab.planner.simulate(cases, levels, policy)["utilisation"]


def predict_alone(lab, jobs, places, seed, ports):
    gpus = sum(job.workers for job in jobs)
    alone = {job.name: predict(lab, [job], places, seed, ports, 1) for job in jobs}
    return sum(job.workers * alone[job.name] for job in jobs) / gpus


def by_host(jobs, places, levels):
    return {host.name: levels[job.name] for job in jobs for host in places[job.name]}


def run_alone(lab, jobs, seconds, say):
    """{job: seconds of an iteration with nothing else on the fabric}, with planned ports."""
    places = draw_places(lab.shape, 0, jobs)
    out = {}
    for job in jobs:
        report = lab.planner.plan([job.gang(places[job.name])])
        lab.configure(0, planning.ports_of(report, lab.by_name), {})
        runs = lab.start_all([job], places)
        out[job.name] = measure(lab, runs, seconds)[0][job.name]
        runs[job.name].stop()
        say(f"{job.name} alone: {out[job.name]:.2f} s an iteration")
    return out


def run_seed(lab, jobs, seed, seconds, say):
    """[(configuration, times, uplink bytes, collisions, predicted share of alone)]"""
    out = []

    def one(name, runs, places, report, ports, levels):
        lab.configure(seed, ports, by_host(jobs, places, levels) if levels else {})
        times, uplinks, flows = measure(lab, runs, seconds)
        planned = planning.ports_of(report, lab.by_name)
        predicted = (predict(lab, jobs, places, seed, ports, lab.shape.levels if levels else 1) /
                     predict_alone(lab, jobs, places, seed, planned))
        out.append((name, times, uplinks, collisions(lab.shape, flows), predicted))
        say(f"seed {seed}, {name}: " + ", ".join(f"{job} {t:.2f} s" for job, t in times.items()))

    places = draw_places(lab.shape, seed, jobs)
    report = lab.planner.plan([job.gang(places[job.name]) for job in jobs])
    ports, levels = planning.ports_of(report, lab.by_name), planning.levels_of(report)
    lab.configure(seed, {}, {})
    runs = lab.start_all(jobs, places)
    one("ecmp", runs, places, report, {}, None)
    one("ports", runs, places, report, ports, None)
    one("ports+levels", runs, places, report, ports, levels)
    stop(runs)
    report = lab.planner.plan([job.training_job() for job in jobs])
    places = planning.places_of(report, lab.by_name)
    ports, levels = planning.ports_of(report, lab.by_name), planning.levels_of(report)
    lab.configure(seed, ports, by_host(jobs, places, levels))
    runs = lab.start_all(jobs, places)
    one("ports+levels+placement", runs, places, report, ports, levels)
    stop(runs)
    return out


def stop(runs):
    for run in runs.values():
        run.stop()


def summarise(jobs, alone, results):
    """The document's `configurations` out of run_seed()'s answers of all seeds."""
    bound = utilisation(jobs, alone)
    out = []
    for name in CONFIGURATIONS:
        mine = [r for r in results if r[0] == name]
        times = {job.name: [r[1][job.name] for r in mine] for job in jobs}
        of_alone = [utilisation(jobs, r[1]) / bound for r in mine]
        out.append({
            "name": name,
            "jobs": [{"name": job.name, "iterationSeconds": round(statistics.mean(times[job.name]), 3),
                      "aloneSeconds": round(alone[job.name], 3)} for job in jobs],
            "ofAlone": round(statistics.mean(of_alone), 4),
            "ofAloneDeviation": round(statistics.pstdev(of_alone), 4),
            "ofAloneBySeed": [round(value, 4) for value in of_alone],
            "predictedOfAlone": round(statistics.mean(r[4] for r in mine), 4),
            "predictedOfAloneBySeed": [round(r[4], 4) for r in mine],
            "uplinks": [{"link": link, "bytes": sum(r[2][link] for r in mine)} for link in sorted(mine[0][2])],
            "collisions": sum(r[3] for r in mine)})
    return out


def run(lab, seeds, seconds, say):
    """The document's `configurations`; `say` gets a line of progress now and then."""
    alone = run_alone(lab, JOBS, seconds, say)
    jobs = [job.calibrated(alone[job.name], lab.shape.host_mbps) for job in JOBS]
    results = [result for seed in seeds for result in run_seed(lab, jobs, seed, seconds, say)]
    return summarise(jobs, alone, results)
