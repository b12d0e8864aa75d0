"""Follows pods and Gangs on a control plane, and says of the soak's promises when they are owed and kept."""
import threading
import time

from fleets import Followed

PODS = "/api/v1/namespaces/team/pods"
JOBS = {"TrainingJob": "/apis/yardmaster.dev/v1alpha1/namespaces/team/trainingjobs", "Job": "/apis/batch/v1/namespaces/team/jobs"}
GANGS = "/apis/yardmaster.dev/v1alpha1/namespaces/team/gangs"


class Cluster:
    """Follows pods and Gangs, and says of promises when they are owed and kept."""

    def __init__(self, api, promises):
        self.api, self.promises, self.lock = api, promises, threading.RLock()
        self.jobs, self.pods, self.bound, self.done, self.placed = {}, {}, {}, {}, set()

    def follow(self):
        self.followed = [Reduced(self.api, PODS, self.pod), Reduced(self.api, GANGS, self.gang)]

    def named(self, promise, job):
        return promise + (" (Job)" if self.jobs[job][0] == "Job" else "")

    def submit(self, kind, job, body):
        with self.lock:
            self.jobs[job.name] = (kind, job.workers)
            self.promises.begin(self.named("verdict", job.name), (job.name,), time.monotonic())
        self.api.call("POST", JOBS[kind], body)

    def gang(self, gang, there):
        job, at = gang["metadata"]["name"].split("-", 1)[1], time.monotonic()
        with self.lock:
            status = gang.get("status", {})
            if job not in self.jobs:
                return
            conditions = {c["type"]: c["status"] for c in status.get("conditions", [])}
            has_hosts = there and bool(status.get("assignments")) and conditions.get("Finished") != "True"
            if has_hosts or "Planned" in conditions:
                self.promises.keep(self.named("verdict", job), (job,), at)
            if has_hosts and job not in self.placed:
                self.placed.add(job)
                self.promises.begin(self.named("bound", job), (job,), at)
                self._whole(job, at)
            if job in self.placed and not has_hosts:
                self.placed.discard(job)
                self.promises.keep(self.named("freed", job), (job,), at)
            if not there:
                self.promises.drop(lambda key: key[0] == job)
                for known in (self.jobs, self.bound, self.done):
                    known.pop(job, None)

    def pod(self, pod, there):
        labels, name, at = pod["metadata"].get("labels", {}), pod["metadata"]["name"], time.monotonic()
        job = labels.get("yardmaster.dev/job") or labels.get("job")
        rank = int(labels.get("yardmaster.dev/rank") or labels.get("batch.kubernetes.io/job-completion-index", -1))
        with self.lock:
            if not there:
                self.pods.pop(name, None)
                return
            phase, host = pod.get("status", {}).get("phase"), pod["spec"].get("nodeName")
            self.pods[name] = (job, rank, pod["metadata"]["uid"], host, phase, "deletionTimestamp" in pod["metadata"])
            if job not in self.jobs:
                return
            if host:
                self.bound.setdefault(job, set()).add(rank)
                self._whole(job, at)
                for promise in ("moved", "again"):
                    for key in self.promises.owed(self.named(promise, job)):
                        if key[:2] == (job, rank) and key[2] != pod["metadata"]["uid"]:
                            self.promises.keep(self.named(promise, job), key, at)
            if phase == "Succeeded":
                self.done.setdefault(job, set()).add(rank)
                if len(self.done[job]) == self.jobs[job][1]:
                    self.promises.drop(lambda key: key[0] == job)
                    if job in self.placed:
                        self.promises.begin(self.named("freed", job), (job,), at)

    def _whole(self, job, at):
        if len(self.bound.get(job, ())) == self.jobs[job][1]:
            self.promises.keep(self.named("bound", job), (job,), at)

    def on(self, host):
        """Name, job, rank and uid of the pods that work there."""
        with self.lock:
            return [(name, *pod[:3]) for name, pod in self.pods.items()
                    if pod[3] == host and pod[4] in ("Pending", "Running") and not pod[5] and pod[0] in self.jobs]

    def owe(self, promise, pods):
        for _, job, rank, uid in pods:
            with self.lock:
                if job in self.jobs:
                    self.promises.begin(self.named(promise, job), (job, rank, uid), time.monotonic())

    def left(self):
        """How much there is of what comes and goes."""
        there = lambda path: (lambda some: len(some["items"]) + some["metadata"].get("remainingItemCount", 0))(self.api.call("GET", path + "?limit=1"))
        jobs, gangs = sum(map(there, JOBS.values())), there(GANGS)
        with self.lock:
            return {"pods": len(self.pods), "podsWithoutPlace": sum(not pod[3] for pod in self.pods.values()),
                    "podsThatEnd": sum(pod[5] for pod in self.pods.values()), "jobs": jobs, "gangsBeyondJobs": gangs - jobs}


class Reduced(Followed):
    """Tells `take` of every object and whether it is there, and holds no more than that it is."""

    def __init__(self, api, path, take):
        self.take = take
        super().__init__(api, path)

    def _list(self):
        before = getattr(self, "objects", {})
        super()._list()
        for o in self.objects.values():
            self.take(o, True)
        for name in before.keys() - self.objects.keys():
            self.take(before[name], False)
        self.objects = {name: self._name(o) for name, o in self.objects.items()}

    @staticmethod
    def _name(o):
        return {"metadata": {"name": o["metadata"]["name"]}}

    def _take(self, event):
        super()._take(event)
        o = event["object"]
        if event["type"] != "DELETED":
            self.objects[o["metadata"]["name"]] = self._name(o)
        self.take(o, event["type"] != "DELETED")
