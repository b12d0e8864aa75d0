"""The lab's short test: one data-parallel PyTorch job on a small fabric, and the loss of an Agg it uses.

Every packet of every planned connection must leave by the uplink that the plan names, data and answers alike.
After the loss new ports must take the traffic round the dead Agg, and the job must go on within a second, while
the switches go on hashing over the links to it.
"""

import sys
import tempfile
import time

from lab import planner as planning
from lab.experiment import Lab
from lab.failures import Meter, stall
from lab.jobs import Job
from lab.nic import default_port
from lab.shape import Shape

SHAPE = Shape(hosts=3, aggs=4)
JOB = Job("short", 4, "ddp", megabytes=0.8, compute=0.05)
_START_SECONDS = 60
_STALL_SECONDS = 1.0


class Failed(RuntimeError):
    """The lab did not do what it must."""


def _uplink(links):
    return next((link for link in links if ":u" in link and link.endswith(".up")), None)


def _crosses(path, lost):
    return any(link.rsplit(".", 1)[0] in lost for link in path["links"])


def _around(lab, report, lost):
    """The plan with other ports for what takes a lost link, while routing still uses it: by trial."""
    taken = {_uplink(path["links"]) for path in report["paths"] if not _crosses(path, lost)}
    out = {"paths": [], "answers": []}
    for kind, paths in out.items():
        for path in report[kind]:
            paths.append(_other_port(lab, path, lost, taken if kind == "paths" else set())
                         if _crosses(path, lost) else path)
    return out


def _other_port(lab, path, lost, taken):
    source, target = lab.by_name[path["from"]["host"]], lab.by_name[path["to"]["host"]]
    first = 0xC100 + 0x100 * path["from"]["port"]
    for port in range(first, first + 0x100):
        other = path | {"sourcePort": port, "links": lab.planner.path(source, target, path["from"]["port"], port)}
        if _uplink(other["links"]) not in taken and not _crosses(other, lost):
            taken.add(_uplink(other["links"]))
            return other
    raise Failed(f"no port from {source.name} to {target.name} avoids {lost} and the other connections")


def _seed_that_stalls(lab, report, lost):
    """A draw of default ports by which an answer would take a lost link, so that its planned port matters."""
    for seed in range(1, 100):
        for path in report["answers"]:
            source, target = lab.by_name[path["from"]["host"]], lab.by_name[path["to"]["host"]]
            plane = path["from"]["port"]
            port = default_port(seed, source, target, plane)
            if _crosses({"links": lab.planner.path(source, target, plane, port)}, lost):
                return seed
    raise Failed(f"no draw of ports takes {lost}")


def _check_paths(lab, report, flows):
    """Every planned connection took its planned uplink and no other; no two that carry data share one."""
    def key_of(path):
        source, target = lab.by_name[path["from"]["host"]], lab.by_name[path["to"]["host"]]
        return source.address, target.address, path["sourcePort"]
    planned = {key_of(path): _uplink(path["links"]) for path in report["paths"] + report["answers"]}
    seen = {(source, target, port): link for link, source, target, port, _ in flows}
    for key, link in planned.items():
        if seen.get(key) != link:
            raise Failed(f"the connection {key} was to take {link} and took {seen.get(key)}")
    taken = [planned[key_of(path)] for path in report["paths"]]
    if len(set(taken)) != len(taken):
        raise Failed(f"two planned connections share an uplink: {sorted(taken)}")
    return len(planned)


def run(lab, say):
    by_segment = [[h for h in lab.hosts if h.segment == s and not h.backup] for s in range(2)]
    # Every hop of the ring crosses the Aggs.
    hosts = [by_segment[rank % 2][rank // 2] for rank in range(JOB.workers)]
    report = lab.planner.plan([JOB.gang(hosts)])
    level = planning.levels_of(report)[JOB.name]
    levels = {host.name: level for host in hosts}
    uplink = _uplink(report["paths"][0]["links"]).removesuffix(".up")
    plane, agg = next((p, a) for s in range(2) for p in range(2) for a in range(SHAPE.aggs)
                      if SHAPE.uplink(s, p, a) == uplink)
    lost = [SHAPE.uplink(segment, plane, agg) for segment in range(2)]
    seed = _seed_that_stalls(lab, report, lost)
    lab.configure(seed, planning.ports_of(report, lab.by_name), levels)
    job = lab.start(JOB, hosts)
    job.wait_for(3, _START_SECONDS)
    lab.fabric.clear_flows()
    time.sleep(2)
    say(f"{_check_paths(lab, report, lab.fabric.flows())} connections take the uplinks they were planned on")

    report = _around(lab, report, lost)
    meter = Meter(hosts)
    meter.start()
    time.sleep(2)
    failed = time.monotonic()
    for segment in range(2):
        lab.fabric.set_link(SHAPE.agg(plane, agg), f"d{segment}", False)
    lab.configure(seed, planning.ports_of(report, lab.by_name), levels)
    time.sleep(0.5)
    lab.fabric.clear_flows()
    time.sleep(2.5)
    meter.stop()
    stalled = stall(meter.samples, failed, meter.rate(failed - 2, failed))
    if stalled > _STALL_SECONDS:
        raise Failed(f"the job stood still for {stalled:.2f} s, more than {_STALL_SECONDS} s")
    connections = _check_paths(lab, report, lab.fabric.flows())
    lab.fabric.set_routes({(segment, plane, agg) for segment in range(2)})
    say(f"{SHAPE.agg_name(plane, agg)} lost: {stalled:.2f} s without progress, "
        f"{connections} connections take the new paths")
    job.wait_for(len(job.lines()) + 5, _START_SECONDS)
    losses = [line["loss"] for line in job.lines()]
    job.stop()
    if losses[-1] > 0.8 * losses[0]:
        raise Failed(f"the loss went from {losses[0]} to {losses[-1]}: the job does not learn")
    say(f"{len(losses)} steps, the loss fell from {losses[0]:.2f} to {losses[-1]:.2f}")


def main():
    began = time.monotonic()

    def say(text):
        print(f"[{time.monotonic() - began:4.0f} s] {text}", flush=True)
    import torch.distributed  # pylint: disable=unused-import
    with tempfile.TemporaryDirectory(prefix="lab-") as folder:
        lab = Lab(SHAPE, folder)
        try:
            run(lab, say)
        except Failed as error:
            print(f"failed: {error}")
            return 1
        finally:
            lab.planner.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
