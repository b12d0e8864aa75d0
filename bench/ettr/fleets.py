"""Fleets on a real control plane: hosts of KWOK, and jobs of ours or of JobSet under Kueue. Each step is watched in real seconds.

The clock of a run is compressed: days pass in minutes. What a program counts by the wall clock would be wrong, so graces are 0 here
(drive.Times adds them), and bounds by the minute and by the day are off, for ours and for Kubernetes alike.
"""
import json
import sys
import threading
import time

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/peer")
import beside  # noqa: E402
from drive import Outcome  # noqa: E402
from api import ApiError  # noqa: E402
from schedulers import JOBS, NAMESPACE, PODS, Yardmaster, sh  # noqa: E402
from trace import ROOT  # noqa: E402

import http.client  # noqa: E402  (after `trace`, which is bench/peer's here)

NOT_READY, FAILED = "node-not-ready.stage.kwok.x-k8s.io", "pod-failed.stage.kwok.x-k8s.io"
QUIET_SECONDS, POLL_SECONDS, PATIENCE_SECONDS = 3.0, 0.05, 600.0
JOB_SETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/%s/jobsets" % NAMESPACE
# One NotReady Node is tainted every ten seconds at most by default, which is longer than the time between two faults here.
TAINT_AT_ONCE = ("--controller-manager-arg", "node-eviction-rate=1000", "--controller-manager-arg", "secondary-node-eviction-rate=1000")


class Followed:
    """The objects of one path, by list and watch on a thread of its own. `changed` counts."""

    def __init__(self, api, path):
        self.api, self.path, self.lock = api, path, threading.Lock()
        self.objects, self.changed, self.moved_at, self.ended = {}, 0, time.monotonic(), False
        self._list()
        threading.Thread(target=self._follow, daemon=True).start()

    def _list(self):
        answer = self.api.call("GET", self.path)
        with self.lock:
            self.objects = {o["metadata"]["name"]: o for o in answer["items"]}
            self.version = answer["metadata"]["resourceVersion"]
            self._count()

    def _count(self):
        self.changed += 1
        self.moved_at = time.monotonic()

    def _follow(self):
        known = True
        while not self.ended:
            connection = http.client.HTTPSConnection(self.api.server.hostname, self.api.server.port, context=self.api.context, timeout=60)
            try:
                if not known:
                    self._list()
                known = True
                connection.request("GET", "%s?watch=1&resourceVersion=%s&timeoutSeconds=50" % (self.path, self.version))
                for line in connection.getresponse():
                    self._take(json.loads(line))
            except LookupError:
                known = False  # the version is too old
            except (OSError, ValueError, http.client.HTTPException, ApiError):
                time.sleep(0.2)
            finally:
                connection.close()

    def _take(self, event):
        if event["type"] == "ERROR":
            raise LookupError
        with self.lock:
            o = event["object"]
            self.version = o["metadata"]["resourceVersion"]
            if event["type"] == "DELETED":
                self.objects.pop(o["metadata"]["name"], None)
            else:
                self.objects[o["metadata"]["name"]] = o
            self._count()

    def all(self):
        with self.lock:
            return list(self.objects.values())


class RealFleet:
    """Over a scheduler of bench/peer. `restarted(job, pods)` is the subclass's: all of its ranks began again after `remember(job)`."""

    not_played = 0.0  # seconds of a restart that KWOK leaves out

    def __init__(self, scheduler, jobs, say):
        self.scheduler, self.say, self.jobs = scheduler, say, jobs
        self.size = {job.name: job.workers for job in jobs}
        self.out, self.pending = set(), {}  # hosts; job -> seconds from the step's beginning, None while it is not whole
        self.began, self.pods = time.monotonic(), None

    def start(self):
        self.scheduler.start()
        self._await_hosts()
        self.pods = Followed(self.scheduler.api, PODS)
        for job in self.jobs:
            self.scheduler.submit(job)
        self.pending = {job.name: None for job in self.jobs}
        self._settle(all_of_them=True)
        self.pending = {}
        for job in self.jobs:
            self.remember(job.name)

    def _await_hosts(self):
        """A new Node has the taints of one that is not ready, and what does not tolerate them is evicted."""
        ready = lambda node: not any(t["key"].startswith("node.kubernetes.io/") for t in node["spec"].get("taints", [])) and any(
            c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))
        end = time.monotonic() + PATIENCE_SECONDS
        while not all(map(ready, self.scheduler.api.items("/api/v1/nodes?resourceVersion=0"))):
            if time.monotonic() > end:
                raise RuntimeError("the hosts are not ready after %d s" % PATIENCE_SECONDS)
            time.sleep(0.5)

    def stop(self):
        for followed in self.followed():
            followed.ended = True
        self.scheduler.stop()

    def followed(self):
        return [self.pods] if self.pods else []

    def changes(self):
        return self.pods.changed

    def hosts(self, job):
        return [pod["spec"]["nodeName"] for pod in self._of(job)
                if "nodeName" in pod["spec"] and pod["status"].get("phase") in ("Pending", "Running")]

    def step(self, lost, failed, repaired):
        waited = set(self.pending)
        self._look()  # what the step before left waiting may have come back since
        late = {job: seconds for job, seconds in self.pending.items() if seconds is not None}
        self._forget_whole()
        victims = [(job, pod) for job, host in failed for pod in self._of(job) if pod["spec"].get("nodeName") == host]
        touched = {job for job, _ in failed} | {job for host in lost for job in self._on(host)}
        self.began = time.monotonic()
        self.out |= set(lost)
        self.out -= set(repaired)
        for job in touched:
            self.pending[job] = None
        list(self.scheduler.clients.map(lambda host: self._label_node(host, "true"), lost))
        list(self.scheduler.clients.map(lambda host: self._label_node(host, None), repaired))
        for _, pod in victims:
            self._merge("%s/%s" % (PODS, pod["metadata"]["name"]), FAILED, "true")
        self._settle()
        outcome = Outcome({job: seconds for job, seconds in self.pending.items() if seconds is not None or job not in waited - touched}, late)
        self._forget_whole()
        return outcome

    def _label_node(self, host, value):
        self._merge("/api/v1/nodes/" + host, NOT_READY, value)

    def _merge(self, path, label, value):
        self.scheduler.api.merge(path, {"metadata": {"labels": {label: value}}})

    def _of(self, job):
        return [pod for pod in self.pods.all() if "deletionTimestamp" not in pod["metadata"]
                and self.scheduler.identity(pod["metadata"]["labels"])[0] == job]

    def _on(self, host):
        """Jobs with pods there, also such that are ending."""
        return {self.scheduler.identity(pod["metadata"]["labels"])[0] for pod in self.pods.all() if pod["spec"].get("nodeName") == host}

    def _forget_whole(self):
        for job in [job for job, seconds in self.pending.items() if seconds is not None]:
            del self.pending[job]
            self.remember(job)

    def _look(self):
        """Marks the jobs that are whole now, and finds those that no fault has stopped."""
        by_job = {job: [] for job in self.size}
        for pod in self.pods.all():
            if "deletionTimestamp" not in pod["metadata"]:
                by_job[self.scheduler.identity(pod["metadata"]["labels"])[0]].append(pod)
        now = time.monotonic() - self.began
        # KWOK writes a status by the name of a pod, which may be that of its successor: Running counts with a host only.
        on_a_host = {host for host in (p["spec"].get("nodeName") for pods in by_job.values() for p in pods) if host} - self.out
        for job, pods in by_job.items():
            standing = [p for p in pods if p["status"].get("phase") == "Running" and p["spec"].get("nodeName") in on_a_host]
            whole = len(standing) == len(pods) == self.size[job]
            if job not in self.pending and not whole:
                self.pending[job] = None
            if job in self.pending:
                again = whole and self.restarted(job, pods)
                if not again:
                    self.pending[job] = None
                elif self.pending[job] is None:
                    self.pending[job] = now

    def _settle(self, all_of_them=False):
        seen, began = -1, time.monotonic()
        while True:
            if self.changes() != seen:
                seen = self.changes()
                self._look()
            if all(seconds is not None for seconds in self.pending.values()):
                return
            # The loss of a host is not detected yet while pods are bound to it: Kubernetes checks every 5 s.
            quiet = time.monotonic() - max(self.pods.moved_at, self.began) > QUIET_SECONDS and not any(self._on(host) for host in self.out)
            if quiet and not all_of_them:
                self._look()
                return
            if time.monotonic() - began > PATIENCE_SECONDS:
                raise RuntimeError("after %d s these do not run: %s" % (
                    PATIENCE_SECONDS, ", ".join(job for job, seconds in self.pending.items() if seconds is None)))
            time.sleep(POLL_SECONDS)


class OurScheduler(Yardmaster):
    title = "Yardmaster, TrainingJob"
    options = TAINT_AT_ONCE
    operator_flags = ("--replace-share-per-minute", "1", "--replace-hosts-per-minute", "1000000", "--quarantine-failures", "0")
    recovery = {"hostGraceSeconds": 0, "backoffSeconds": 0, "maxRestarts": 1000000}

    def submit(self, job):
        self.api.call("POST", JOBS, {
            "apiVersion": "yardmaster.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": job.name},
            "spec": {"workers": job.workers, "gpusPerWorker": job.gpus_per_worker, "parallelism": job.parallelism, "recovery": self.recovery,
                     "template": {"spec": {"terminationGracePeriodSeconds": 0, "containers": [
                         {"name": "trainer", "image": "registry.example/trainer:1"}]}}}})


class OurFleet(RealFleet):
    """TrainingJobs. A job has begun again when its status counts one attempt more and no incident is open."""

    # Ranks restart inside their pods: the kubelet's probe looks every 5 s, and the old processes have 10 s to end. JobSet's pods are
    # made anew here without a time to end, to pull or to start.
    not_played = 15.0

    def __init__(self, folder, fabric, jobs, say):
        super().__init__(OurScheduler(folder, fabric), jobs, say)
        self.attempts, self.trainings = {}, None

    def followed(self):
        return super().followed() + ([self.trainings] if self.trainings else [])

    def changes(self):
        return self.pods.changed + self.statuses().changed

    def statuses(self):
        if self.trainings is None:
            self.trainings = Followed(self.scheduler.api, JOBS)
        return self.trainings

    def training(self, job):
        return self.statuses().objects.get(job, {}).get("status", {})

    def attempt(self, job):
        return self.training(job).get("recovery", {}).get("attempt", 0)

    def remember(self, job):
        self.attempts[job] = self.attempt(job)

    def restarted(self, job, pods):
        if job not in self.attempts:
            return True
        open_incident = any(not i.get("endTime") for i in self.training(job).get("recovery", {}).get("incidents", []))
        return self.attempt(job) > self.attempts[job] and not open_incident


class JobSetUnderKueue(beside.KueueBeside):
    """JobSets that restart as a whole, in a queue with topology-aware scheduling: as near together as there is room."""

    title = "JobSet under Kueue TAS"
    options = TAINT_AT_ONCE

    def __init__(self, folder, fabric, controllers):
        super().__init__(folder, fabric, controllers / "kueue")
        self.job_set = controllers / "jobset"

    def install(self):
        sh(ROOT / "test/cluster/prepare", self.folder)
        self.run_controller("jobset", self.job_set)
        self.run_controller("kueue", self.given, {"integrations": {"frameworks": ["batch/job", "jobset.x-k8s.io/jobset"]}})
        self.make_queues()

    def submit(self, job):
        more = {"annotations": self.annotations(job)}
        template = self.template(job, more)
        # Seconds after which Kubernetes evicts from a NotReady Node: drive.Times.grace counts them.
        template["spec"]["tolerations"] = [{"key": "node.kubernetes.io/" + key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
                                           for key in ("not-ready", "unreachable")]
        self.api.call("POST", JOB_SETS, {
            "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
            "metadata": {"name": job.name, "labels": {"kueue.x-k8s.io/queue-name": "all"}},
            "spec": {"suspend": True, "failurePolicy": {"maxRestarts": 1000000}, "replicatedJobs": [{"name": "w", "replicas": 1, "template": {
                "spec": {"completionMode": "Indexed", "parallelism": job.workers, "completions": job.workers, "backoffLimit": 0,
                         "template": template}}}]}})


class KueueFleet(RealFleet):
    """A job has begun again when none of its pods is one of those before."""

    def __init__(self, folder, fabric, jobs, say, controllers):
        super().__init__(JobSetUnderKueue(folder, fabric, controllers), jobs, say)
        self.before = {}

    def remember(self, job):
        self.before[job] = {pod["metadata"]["uid"] for pod in self._of(job)}

    def restarted(self, job, pods):
        return not self.before.get(job, set()) & {pod["metadata"]["uid"] for pod in pods}
