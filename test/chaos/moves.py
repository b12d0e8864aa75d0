"""Moves of running TrainingJobs on a real API server: requests for them, and a checker of every version that the API server
has had of Gangs, pods and TrainingJobs. The checker knows objects only and asks none of our programs."""
import collections
import glob
import http.client
import json
import threading
import time

from jobs import KINDS, NAMESPACE, PODS, collection, job_of, rank_of

ANNOTATION = "yardmaster.dev/move"
GANGS = f"{KINDS['TrainingJob']}/namespaces/{NAMESPACE}/gangs"
OVER = ("Done", "Refused", "Abandoned")


def condition(thing, kind):
    return next((c["status"] for c in thing.get("status", {}).get("conditions", []) if c["type"] == kind), "")


def place_of(gang):
    return {s["rank"]: s["host"] for s in gang.get("status", {}).get("assignments", [])}


def move_of(thing):
    return thing.get("status", {}).get("move", {})


def next_place_of(gang):
    return {s["rank"]: s["host"] for s in move_of(gang).get("assignments", [])}


# --- who asks


def request_of(job):
    text = job["metadata"].get("annotations", {}).get(ANNOTATION)
    return json.loads(text) if text else None


def is_answered(job):
    """The request that the annotation makes; a move by the policy may have come after the answer."""
    asked, move = request_of(job), move_of(job)
    if not asked:
        return True
    return move.get("record", {}).get("requestId") == asked["id"] and (move["id"] != asked["id"] or move["state"] in OVER)


def hosts_for(job, gangs, segments, draw):
    """Of every rank: free hosts of one segment and the job's own; now and then any host. None: no segment has enough.
    `segments`: host -> segment, without those that are lost."""
    name, workers = job["metadata"]["name"], job["spec"]["workers"]
    taken = set()
    for gang in gangs:
        if gang["spec"]["owner"]["name"] != name:
            taken |= set(place_of(gang).values()) | set(next_place_of(gang).values())
    pools = collections.defaultdict(list)
    for host in sorted(set(segments) - taken):
        pools[segments[host]].append(host)
    pools = [pool for _, pool in sorted(pools.items()) if len(pool) >= workers]
    if not pools:
        return None
    hosts = draw.sample(draw.choice(pools), workers)
    return [draw.choice(sorted(segments)) if draw.random() < 0.04 else host for host in hosts]


def pass_an_hour(api, job):
    """For a job that has just moved: it may be asked to move once an hour, and half a minute after a refusal."""
    move = move_of(job)
    record = move.get("record", {})
    past = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 2 * 3600))
    aged = {field: past for field in ("lastTime", "policyRefusedTime") if record.get(field, past) > past}
    changed = {"record": aged} if aged else {}
    if move.get("state") == "Refused" and move.get("endTime", past) > past:
        changed["endTime"] = past
    if changed:
        api.merge(f"{collection('TrainingJob')}/{job['metadata']['name']}/status",
                  {"metadata": {"resourceVersion": job["metadata"]["resourceVersion"]}, "status": {"move": changed}})


def ask(api, job, request, hosts):
    text = json.dumps({"version": 1, "id": request, "hosts": hosts})
    api.merge(f"{collection('TrainingJob')}/{job['metadata']['name']}", {"metadata": {"annotations": {ANNOTATION: text}}})


# --- what must hold


class Watch(threading.Thread):
    """Every version of the objects of a collection, from an empty one on."""

    def __init__(self, api, path):
        super().__init__(daemon=True)
        self.api, self.path = api, path
        self.last = api.call("GET", path)["metadata"]["resourceVersion"]
        self.versions = []  # (resourceVersion, is it gone, object)
        self.failed = ""

    def run(self):
        while not self.failed:
            connection = http.client.HTTPSConnection(self.api.server.hostname, self.api.server.port,
                                                     context=self.api.context, timeout=7200)
            try:
                connection.request("GET", f"{self.path}?watch=1&resourceVersion={self.last}")
                for line in connection.getresponse():
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        self.failed = str(event["object"])
                        break
                    self.last = event["object"]["metadata"]["resourceVersion"]
                    self.versions.append((int(self.last), event["type"] == "DELETED", event["object"]))
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.2)  # the API server ends a watch now and then
            finally:
                connection.close()


class Ledger:
    """Follows all versions in the order in which they were written, and says what breaks a promise:

    - a gang has hosts for all ranks or none, in its place and in the next one; no host is promised to two gangs;
    - a move is done when no pod of the gang is on a host any more, and leads to the hosts that were asked for;
    - pods that are on hosts are of one place of their gang: never some of the one before a move and some of the one after;
    - a job is Running only with a pod of every rank in its present place;
    - an answer to a request stays as it is, and no job moves that says Never.
    """

    def __init__(self):
        self.gangs, self.jobs, self.epoch = {}, {}, collections.Counter()  # by name of the job
        self.on_hosts = collections.defaultdict(dict)  # job -> uid of a pod -> (rank, host, epoch, name)
        self.ranks = collections.defaultdict(set)  # (job, epoch) -> ranks that had a pod on a host
        self.asked, self.answers = {}, {}  # (job, id) -> hosts, state
        self.partial, self.broken = set(), []
        self.outcomes = collections.Counter()

    def follow(self, watches):
        versions = sorted((v for watch in watches for v in watch.versions), key=lambda v: v[0])
        for version, gone, thing in versions:
            before = len(self.broken)
            {"Gang": self.gang, "Pod": self.pod, "TrainingJob": self.job}[thing["kind"]](thing, gone)
            self.broken[before:] = [f"at version {version}: {text}" for text in self.broken[before:]]

    def gang(self, gang, gone):
        job = gang["spec"]["owner"]["name"]
        before = self.gangs.pop(job, None)
        if gone:
            return
        self.gangs[job] = gang
        place, following, workers = place_of(gang), next_place_of(gang), gang["spec"]["workers"]
        for what, hosts in (("place", place), ("next place", following)):
            if hosts and (len(hosts) != workers or len(set(hosts.values())) != workers):
                self.broken.append(f"the {what} of {job} is {hosts}, and it has {workers} workers")
        self.check_holders()
        was, now = move_of(before or {}), move_of(gang)
        if place and not place_of(before or {}):
            self.epoch[job] += 1
        if now.get("state") == "Done" and (was.get("id"), was.get("state")) != (now["id"], "Done"):
            self.moved(job, before, gang)
        if now.get("state") in ("Promised", "Done") and self.jobs.get(job, {}).get("spec", {}).get("movable") == "Never":
            self.broken.append(f"{job} says movable: Never, and its move is {now['state']}")

    def moved(self, job, before, gang):
        for rank, host, _, pod in self.on_hosts[job].values():
            self.partial.add(job)
            self.broken.append(f"{job} has moved, and its pod {pod} of rank {rank} is on {host}")
        self.epoch[job] += 1
        place, asked = place_of(gang), self.asked.get((job, move_of(gang)["id"]))
        if place != next_place_of(before or {}) or [place[r] for r in sorted(place)] != asked:
            self.broken.append(f"{job} has moved to {place}; promised {next_place_of(before or {})}, asked for {asked}")
        self.outcomes["policy" if move_of(gang)["id"].startswith("policy-") else "request"] += 1

    def check_holders(self):
        holder = {}
        for job, gang in self.gangs.items():
            if condition(gang, "Finished") == "True":
                continue
            for host in set(place_of(gang).values()) | set(next_place_of(gang).values()):
                if holder.setdefault(host, job) != job:
                    self.broken.append(f"host {host} is promised to {holder[host]} and to {job}")

    def pod(self, pod, gone):
        job, uid = job_of(pod), pod["metadata"]["uid"]
        host = pod["spec"].get("nodeName")
        if gone or not host or pod["status"].get("phase") in ("Succeeded", "Failed"):
            self.on_hosts[job].pop(uid, None)
            return
        if uid in self.on_hosts[job] or job not in self.jobs:
            return
        rank, epoch = rank_of(pod), self.epoch[job]
        self.on_hosts[job][uid] = (rank, host, epoch, pod["metadata"]["name"])
        self.ranks[job, epoch].add(rank)
        places = {e for _, _, e, _ in self.on_hosts[job].values()}
        if len(places) > 1:
            self.partial.add(job)
            self.broken.append(f"{job} has pods in {len(places)} places: {sorted(self.on_hosts[job].values())}")
        planned = place_of(self.gangs.get(job, {})).get(rank)
        if planned and planned != host:
            self.broken.append(f"pod {pod['metadata']['name']} goes to {host}, and its gang has {planned} for it")

    def job(self, job, gone):
        name = job["metadata"]["name"]
        before = self.jobs.pop(name, {})
        if gone:
            return
        self.jobs[name] = job
        asked, move = request_of(job), move_of(job)
        if asked:
            self.asked[name, asked["id"]] = asked["hosts"]
        if move.get("state") == "Asked":
            self.asked[name, move["id"]] = move["hosts"]
        if condition(job, "Running") == "True" != condition(before, "Running"):
            missing = set(range(job["status"].get("workers", job["spec"]["workers"]))) - self.ranks[name, self.epoch[name]]
            if missing:
                self.partial.add(name)
                self.broken.append(f"{name} is Running, and no pod of ranks {sorted(missing)} was in its place")
        if move.get("state") in OVER:
            key = (name, move["id"])
            if key not in self.answers:
                self.outcomes[move["state"]] += 1
            known = self.answers.setdefault(key, move["state"])
            if known != move["state"]:
                self.broken.append(f"request {move['id']} of {name} was {known} and is {move['state']}")


def watch(api):
    watches = [Watch(api, path) for path in (GANGS, PODS, collection("TrainingJob"))]
    for each in watches:
        each.start()
    return watches


def looks_without_rights(folder):
    """Looks for moves by the policy that failed because the operator may not do what it has to, from the operators' logs."""
    found = set()
    for log in glob.glob(f"{folder}/operator-*.log"):
        with open(log, errors="replace") as lines:
            found |= {line.split('"error":', 1)[-1].strip() for line in lines if '"loop":"moves"' in line and " forbidden" in line}
    return sorted(found)


def faults_to_come(processes_ended, answers_lost):
    """Faults that a run has to have seen before it says anything of moves under faults."""
    return [what for what, seen in (("no process was ended", processes_ended), ("no answer was lost", answers_lost)) if not seen]


def count_done(watches):
    return len({(g["metadata"]["uid"], move_of(g)["id"]) for _, _, g in list(watches[0].versions) if move_of(g).get("state") == "Done"})
