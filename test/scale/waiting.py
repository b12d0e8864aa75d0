"""What a long queue costs: TrainingJobs that wait for a full cluster, and how soon the first of them starts when there is room."""
import os
import threading
import time

import meter
from local import wait

JOBS = "/apis/yardmaster.dev/v1alpha1/namespaces/team/trainingjobs"
GANGS = "/apis/yardmaster.dev/v1alpha1/namespaces/team/gangs"
PODS = "/api/v1/namespaces/team/pods?resourceVersion=0"


def memory_mib(marks):
    """Resident memory of the processes of this run, by program, now and at its highest."""
    out = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                words = file.read().split("\0")
            with open(f"/proc/{pid}/status") as file:
                status = dict(line.split(":", 1) for line in file.read().splitlines() if ":" in line)
        except OSError:
            continue
        if any(mark in word for word in words for mark in marks) and "VmRSS" in status:
            now, peak = out.get(os.path.basename(words[0]), (0, 0))
            out[os.path.basename(words[0])] = (now + int(status["VmRSS"].split()[0]) // 1024, peak + int(status["VmHWM"].split()[0]) // 1024)
    return {program: {"now": now, "peak": peak} for program, (now, peak) in sorted(out.items())}


def passes(port=28080):
    """Of the extender: how many passes there were, their seconds together, and by bucket how many took at most that long."""
    text = meter.metrics(port)
    name = "yardmaster_extender_pass_seconds"
    single = {line.split(" ")[0]: float(line.split(" ")[1]) for line in text.splitlines() if line.startswith((name + "_sum ", name + "_count "))}
    buckets = {fields["le"]: value for fields, value in meter.samples(text, name + "_bucket")}
    return single.get(name + "_count", 0), single.get(name + "_sum", 0), buckets


def passes_since(before):
    """Their number, the mean, and the bucket that 99 % of them are in."""
    count, total, buckets = (passes()[0] - before[0], passes()[1] - before[1], passes()[2])
    grown = {le: value - before[2].get(le, 0) for le, value in buckets.items()}
    within = min((float(le) for le, value in grown.items() if le != "+Inf" and value >= 0.99 * count), default=None)
    return {"count": int(count), "meanMs": round(1000 * total / max(count, 1), 1), "p99AtMostMs": within and round(1000 * within, 1)}


def said(api, kind, condition):
    """How many objects of the kind have the condition, whatever it says."""
    return sum(any(c["type"] == condition for c in item.get("status", {}).get("conditions", [])) for item in api.items(kind))


def placed(gang):
    """The stage of a Gang that has hosts."""
    return ["placed"] if gang.get("status", {}).get("assignments") else []


def calls_now(api):
    """Calls of our processes by verb, and what the API server has served by verb and resource."""
    return {"extender": meter.client_calls(28080), "operator": meter.client_calls(28081), "served": meter.served(api)}


def touch(api, node, ended):
    """Changes a Node twice a second, so that there are passes to measure."""
    number = 0
    while not ended.wait(0.5):
        number += 1
        api.merge("/api/v1/nodes/" + node, {"metadata": {"labels": {"test/turn": str(number)}}})


def waiting(options, api, marks, clients, job, say):
    """`job`: makes a TrainingJob of a name and a number of workers."""
    ordinary = sum("yardmaster.dev/backup" not in node["metadata"]["labels"] for node in api.items("/api/v1/nodes?resourceVersion=0"))
    within = {"placement": {"data": {"within": "Fabric"}}}
    watch = meter.PodWatch(api, "team")
    for name, workers in (("first", options.pods), ("second", ordinary - options.pods)):
        api.call("POST", JOBS, job(name, workers, **within))
    wait("the last binding of the jobs that fill the cluster", lambda: watch.count("bound") >= ordinary, 1200)
    say(f"{ordinary} hosts are taken")
    gangs = meter.Watch(api, GANGS, placed)
    time.sleep(10)
    idle_cpu, idle_began = meter.cpu_seconds(marks), time.monotonic()
    time.sleep(10)
    idle = {k: v / (time.monotonic() - idle_began) for k, v in meter.difference(idle_cpu, meter.cpu_seconds(marks), 0).items()}
    before, cpu, calls, began = memory_mib(marks), meter.cpu_seconds(marks), calls_now(api), time.monotonic()
    list(clients.map(lambda i: api.call("POST", JOBS, job(f"wait{i:04}", options.pods, **within)), range(options.waiting)))
    submitted = time.monotonic() - began
    wait("a verdict on every job", lambda: said(api, GANGS, "Planned") >= options.waiting + 2, 1200, 2)
    judged = time.monotonic() - began
    say(f"{options.waiting} jobs wait, {judged:.0f} s")
    time.sleep(10)
    used, seconds, ended, since = meter.difference(cpu, meter.cpu_seconds(marks)), time.monotonic() - began, threading.Event(), passes()
    made = {who: meter.difference(calls[who], now, 0.02, options.waiting) for who, now in calls_now(api).items()}
    toucher = threading.Thread(target=touch, args=(api, next(n["metadata"]["name"] for n in api.items("/api/v1/nodes?resourceVersion=0")), ended))
    toucher.start()
    time.sleep(30)
    ended.set()
    toucher.join()
    report = {"waiting": options.waiting, "workersOfEach": options.pods, "submitSeconds": round(submitted, 1), "judgedSeconds": round(judged, 1),
              "cpuSeconds": used, "cpuSecondsBeyondIdle": {k: round(v - idle.get(k, 0) * seconds, 1) for k, v in used.items()},
              "callsPerJob": made, "podsOfWaitingJobs": len(api.items(PODS)) - ordinary, "passes": passes_since(since),
              "memoryMib": {"before": before, "after": memory_mib(marks)}}
    return {**report, **room(options, api, watch, gangs, ordinary, say)}


def room(options, api, watch, gangs, ordinary, say):
    """The first job ends: seconds from its last pod's end until another has its hosts, its first pod, its first and its last
    binding."""
    api.delete(JOBS + "/first")
    of_first = "/api/v1/namespaces/team/pods?limit=1&labelSelector=yardmaster.dev%2Fjob%3Dfirst"
    wait("the end of the first job", lambda: not api.items(of_first), 600, 0.02)
    freed = time.monotonic()
    wait("the first binding", lambda: watch.count("bound") > ordinary, 300, 0.02)
    wait("the last binding", lambda: watch.count("bound") >= ordinary + options.pods, 600, 0.05)
    after = {"placedSeconds": gangs.nth("placed", 3), "firstPodSeconds": watch.nth("created", ordinary + 1),
             "firstBoundSeconds": watch.nth("bound", ordinary + 1), "allBoundSeconds": watch.nth("bound", ordinary + options.pods)}
    after = {name: at and round(at - freed, 2) for name, at in after.items()}
    say(f"room: first binding after {after['firstBoundSeconds']:.1f} s")
    return after
