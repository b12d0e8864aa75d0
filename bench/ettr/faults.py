"""The failure model: what fails, how often, and for how long. Every rate is a public figure; its source stands beside it.

A list of faults is drawn once and does not depend on who schedules: a host fails by the clock, in use or idle, never again
while it is being repaired. Deterministic in (hosts, days, seed, repair hours). Times are simulated seconds.
"""
import dataclasses
import random

DAY = 86400.0
MONTH = 30 * DAY

# Failures of one host of eight GPUs a day, all kinds together: 6.50 in 1,000 node days on the larger of two clusters. Kokolis et
# al., Revisiting Reliability in Large-Scale Machine Learning Research Clusters, HPCA 2025 (arXiv:2410.21680).
HOST_FAILURES_A_DAY = 6.5 / 1000

# What they are: the 419 unexpected interruptions of 54 days on 16,384 GPUs. Llama Team, The Llama 3 Herd of Models
# (arXiv:2407.21783), table 5.
INTERRUPTIONS = {
    # Faulty GPU, HBM3, SRAM, system processor, silent data corruption, thermal interface and sensor.
    "gpu": 148 + 72 + 19 + 17 + 6 + 6,
    # Unplanned maintenance, NIC, SSD, power supply, chassis, IO board, CPU, memory.
    "host": 32 + 7 + 3 + 3 + 2 + 2 + 2 + 2,
    # Software bugs, NCCL watchdog, dependencies: the worker ends, and its host is well.
    "software": 54 + 7 + 2,
    # Switches and cables: counted by the rates of HPN below instead.
    "network": 35,
}
OUT_OF_SERVICE = ("gpu", "host")  # the host leaves until it is repaired

# A month, of one link between NIC and ToR and of one ToR. Qian et al., Alibaba HPN, SIGCOMM 2024, section 2.3.
LINK_FAILURES_A_MONTH = 0.057 / 100
TOR_FAILURES_A_MONTH = 0.051 / 100
LINKS_OF_A_HOST = 16  # 8 rails in 2 planes, ibid. section 5
TORS_OF_A_SEGMENT = 16
# Of a job's rate, while one of a host's ports or the ToR behind it is down: what a job of 256 GPUs lost under dual ToRs, ibid. section 9.3.
# No policy here gives it back: a job is as fast as its slowest NIC.
RATE_LOST_BY_A_PORT = 0.0625

LEAST_REPAIR = 600.0  # no host is back before it has booted: an assumption


@dataclasses.dataclass(frozen=True)
class Fault:
    at: float
    kind: str  # gpu, host, software, link, tor
    place: str  # a host; of a ToR its segment
    until: float  # when it is repaired; at for software


def host_rate(kind):
    """Failures of that kind of one host a second."""
    return HOST_FAILURES_A_DAY / DAY * INTERRUPTIONS[kind] / sum(INTERRUPTIONS.values())


def stops_a_second():
    """Of one host: the failures that stop a job."""
    return sum(host_rate(kind) for kind in ("gpu", "host", "software"))


def arrivals(rate, end, dice):
    at = dice.expovariate(rate)
    while at < end:
        yield at
        at += dice.expovariate(rate)


def draw(segment_of, days, seed, repair_hours):
    """All faults of a cluster, in order. `segment_of`: host -> segment."""
    hosts, segments = sorted(segment_of), sorted(set(segment_of.values()))
    rates = {kind: (host_rate(kind) * len(hosts), hosts) for kind in ("gpu", "host", "software")}
    rates["link"] = (LINK_FAILURES_A_MONTH / MONTH * LINKS_OF_A_HOST * len(hosts), hosts)
    rates["tor"] = (TOR_FAILURES_A_MONTH / MONTH * TORS_OF_A_SEGMENT * len(segments), segments)
    drawn = []
    for kind, (rate, places) in rates.items():
        dice = random.Random("%s %d" % (kind, seed))
        for at in arrivals(rate, days * DAY, dice):
            place, repair = dice.choice(places), max(LEAST_REPAIR, dice.expovariate(1 / (repair_hours * 3600)))
            drawn.append(Fault(at, kind, place, at if kind == "software" else at + repair))
    out_until, faults = {}, []
    for fault in sorted(drawn, key=lambda f: (f.at, f.kind, f.place)):
        if fault.kind != "tor" and fault.at < out_until.get(fault.place, 0):
            continue
        if fault.kind in OUT_OF_SERVICE:
            out_until[fault.place] = fault.until
        faults.append(fault)
    return faults
