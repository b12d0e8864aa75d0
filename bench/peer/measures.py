"""What is measured of a replay: from placements alone, the same way for every scheduler."""
import json
import math
import statistics
import subprocess

from schedulers import BIN


def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(q * len(ordered)) - 1)] if ordered else None


def dp_crossings(placed, segment_of):
    """(hops between segments, hops) of the job's data-parallel rings: stage by stage, over its hosts in the order of ranks."""
    job = placed.job
    size = job.workers // job.stages
    crossing = hops = 0
    for stage in range(job.stages):
        segments = [segment_of[host] for host in placed.hosts[stage * size:(stage + 1) * size]]
        if size < 2:
            continue
        hops += size
        crossing += sum(a != b for a, b in zip(segments, segments[1:] + segments[:1]))
    return crossing, hops


def stamp(minutes):
    days, rest = divmod(minutes, 24 * 60)
    return "2023/7/%d %02d:%02d" % (1 + days, rest // 60, rest % 60)


def write_trace(folder, result):
    """The placements in the form of the public trace, for `kubectl yardmaster simulate`."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "job.csv", "w") as jobs, open(folder / "worker.csv", "w") as workers:
        jobs.write("job_name,kind,model,priority,gmt_job_submitted,gmt_job_running,gmt_job_finished\n")
        workers.write("job_name,worker_name,replica_type,host_ip,RES\n")
        for p in result.placed:
            jobs.write("%s,TrainingJob,%s,0,%s,%s,%s\n" % (
                p.job.name, p.job.model, stamp(p.start), stamp(p.start), stamp(p.start + p.job.minutes)))
            for rank, host in enumerate(p.hosts):
                workers.write("%s,%s-%d,worker,%s,%d\n" % (p.job.name, p.job.name, rank, host, p.job.gpus_per_worker))


def simulate(trace, fabric, policy):
    done = subprocess.run([BIN / "kubectl-yardmaster", "simulate", "--fabric", fabric, "--trace", trace, "--policy", policy],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError("simulate: " + done.stderr)
    answer = json.loads(done.stdout)
    return {**answer["cluster"], "inPlace": sum(job["inPlace"] for job in answer["jobs"]) / len(answer["jobs"])}


def of(result, segment_of, segment_hosts, capacity_gpus):
    spread, least, crossing, hops = [], [], 0.0, 0.0
    for p in result.placed:
        if p.job.workers > 1:
            spread.append(len({segment_of[host] for host in p.hosts}))
            least.append(math.ceil(p.job.workers / segment_hosts))
        c, h = dp_crossings(p, segment_of)
        # Every host of a ring sends the same bytes in an iteration, all the time that the job runs.
        crossing += c * p.job.minutes
        hops += h * p.job.minutes
    minutes = sum(span[0] for span in result.spans)
    mean = lambda i: sum(span[0] * span[i] for span in result.spans) / minutes
    seconds = [p.seconds for p in result.placed if p.seconds is not None]
    waits = [p.start - p.job.arrival for p in result.placed]
    return {
        "jobs": len(result.placed), "placedAtOnce": len(seconds), "placeSecondsP50": quantile(seconds, 0.5),
        "placeSecondsP99": quantile(seconds, 0.99),
        "segments": statistics.mean(spread), "segmentsLeast": statistics.mean(least),
        "dpOverAggShare": crossing / hops, "gpusTraining": mean(1), "gpusBlocked": mean(2), "gpusStranded": mean(3),
        "occupancy": mean(1) / capacity_gpus, "waitMinutes": statistics.mean(waits), "makespanMinutes": result.end,
        "withdrawn": result.withdrawn,
    }
