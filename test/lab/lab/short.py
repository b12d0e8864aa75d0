"""The lab's short test: one data-parallel PyTorch job on a small fabric, and the loss of an uplink it uses.

Every packet of every planned connection must leave by the uplink that the plan names; after the loss the
planner's new ports must take the traffic round the dead link, and the job must go on within a second.
"""

import sys
import tempfile
import time

from lab import planner as planning
from lab.experiment import Lab
from lab.failures import Meter, stall
from lab.jobs import Job
from lab.shape import Shape

SHAPE = Shape(hosts=3, aggs=4)
JOB = Job("short", 4, "ddp", megabytes=0.8, compute=0.05)
_START_SECONDS = 60
_STALL_SECONDS = 1.0


class Failed(RuntimeError):
    """The lab did not do what it must."""


def _uplink(links):
    return next((link for link in links if ":u" in link and link.endswith(".up")), None)


def _around(lab, report, lost):
    """The plan's paths with other ports, when switches have left the link: by trial, as `path --down` tells them."""
    taken, out = set(), []
    for path in report["paths"]:
        source, target = lab.by_name[path["from"]["host"]], lab.by_name[path["to"]["host"]]
        first = 0xC100 + 0x100 * path["from"]["port"]
        for port in range(first, first + 0x100):
            links = lab.planner.path(source, target, path["from"]["port"], port, [lost])
            if _uplink(links) not in taken and not any(link.startswith(lost + ".") for link in links):
                taken.add(_uplink(links))
                out.append(path | {"sourcePort": port, "links": links})
                break
        else:
            raise Failed(f"no port from {source.name} to {target.name} avoids {lost} and the other connections")
    return {"paths": out}


def _check_paths(lab, report, flows):
    """Every planned connection took its planned uplink and no other; no two share one."""
    planned = {}
    for path in report["paths"]:
        source, target = lab.by_name[path["from"]["host"]], lab.by_name[path["to"]["host"]]
        planned[source.address, target.address, path["sourcePort"]] = _uplink(path["links"])
    seen = {(source, target, port): link for link, source, target, port, _ in flows}
    for key, link in planned.items():
        if seen.get(key) != link:
            raise Failed(f"the connection {key} was to take {link} and took {seen.get(key)}")
    taken = [link for key, link in seen.items() if key in planned]
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
    lab.configure(1, planning.ports_of(report, lab.by_name), levels)
    job = lab.start(JOB, hosts)
    job.wait_for(3, _START_SECONDS)
    lab.fabric.clear_flows()
    time.sleep(2)
    say(f"{_check_paths(lab, report, lab.fabric.flows())} connections take the uplinks they were planned on")

    lost = _uplink(report["paths"][0]["links"]).removesuffix(".up")
    segment, plane, agg = next((s, p, a) for s in range(2) for p in range(2) for a in range(SHAPE.aggs)
                               if SHAPE.uplink(s, p, a) == lost)
    report = _around(lab, report, lost)
    meter = Meter(hosts)
    meter.start()
    time.sleep(2)
    failed = time.monotonic()
    lab.fabric.set_link(SHAPE.agg(plane, agg), f"d{segment}", False)
    lab.fabric.set_routes({(segment, plane, agg)})
    lab.configure(1, planning.ports_of(report, lab.by_name), levels)
    time.sleep(3)
    meter.stop()
    lab.fabric.clear_flows()
    time.sleep(2)
    connections = _check_paths(lab, report, lab.fabric.flows())
    stalled = stall(meter.samples, failed, meter.rate(failed - 2, failed))
    say(f"{lost} lost: {stalled:.2f} s without progress, {connections} connections take the new paths")
    if stalled > _STALL_SECONDS:
        raise Failed(f"the job stood still for {stalled:.2f} s, more than {_STALL_SECONDS} s")
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
