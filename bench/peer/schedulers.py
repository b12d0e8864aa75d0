"""The schedulers under comparison: how each is started, given a job, and told that a job has ended."""
import concurrent.futures
import os
import pathlib
import signal
import subprocess
import sys

import yaml  # Debian's python3-yaml
from trace import ROOT

sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "test/cluster"))
from api import Api  # noqa: E402

NAMESPACE = "team"
PODS = "/api/v1/namespaces/%s/pods" % NAMESPACE
JOBS = "/apis/yardmaster.dev/v1alpha1/namespaces/%s/trainingjobs" % NAMESPACE
BIN = pathlib.Path(os.environ.get("YARDMASTER_BIN", ROOT / "build/release/bin"))
# Retries within a second, for every scheduler: the replay waits for quiet.
BACKOFF = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1}
PACKED_PROFILE = {
    "schedulerName": "default-scheduler",
    "plugins": {"score": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}, {"name": "PodTopologySpread"}]}},
    "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {
        "type": "MostAllocated", "resources": [{"name": "nvidia.com/gpu", "weight": 1}]}}}],
}


def sh(*command, text=None):
    done = subprocess.run([str(part) for part in command], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError("%s: %s" % (" ".join(map(str, command[:5])), done.stderr or done.stdout))
    return done.stdout


class Scheduler:
    """kube-scheduler as it comes: pods are created all at once, each is placed by itself."""

    title = "kube-scheduler"
    options = ()  # of test/controlplane/up
    by_quota = False  # jobs are held back until as many GPUs are free in all

    def __init__(self, folder, fabric):
        self.folder, self.fabric = folder, fabric
        self.name = "peer-%s-%d" % (type(self).__name__.lower(), os.getpid())
        self.children = []
        self.clients = concurrent.futures.ThreadPoolExecutor(8)

    def configuration(self):
        return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", **BACKOFF}

    def start(self):
        config = self.folder / "scheduler.yaml"
        config.write_text(yaml.safe_dump(self.configuration()))
        export = sh(ROOT / "test/controlplane/up", self.name, "--scheduler-config", config, *self.options).strip().splitlines()[-1]
        exported = dict(word.split("=", 1) for word in export.split()[1:])
        self.kubeconfig = exported["KUBECONFIG"].strip("'")
        os.environ["PATH"] = exported["PATH"].replace('"$PATH"', os.environ["PATH"])  # kubectl and helm
        self.api = Api(self.kubeconfig)
        self.api.call("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        self.install()
        list(self.clients.map(lambda node: self.api.call("POST", "/api/v1/nodes", node),
                              [o for o in self.fabric if o["kind"] == "Node"]))

    def install(self):
        pass

    def stop(self):
        for child in self.children:
            child.send_signal(signal.SIGTERM)
        for child in self.children:
            child.wait()
        subprocess.run([ROOT / "test/controlplane/down", self.name], capture_output=True)

    def affinity(self, job):
        return {}

    def submit(self, job):
        def create(rank):
            self.api.call("POST", PODS, {
                "metadata": {"name": "%s-%d" % (job.name, rank), "labels": {"job": job.name, "rank": str(rank)}},
                "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, **self.affinity(job), "containers": [
                    {"name": "trainer", "image": "registry.example/trainer:1",
                     "resources": {"limits": {"nvidia.com/gpu": str(job.gpus_per_worker)}}}]}})
        list(self.clients.map(create, range(job.workers)))

    def remove(self, job):
        self.api.delete("%s?labelSelector=job%%3D%s" % (PODS, job.name))

    def pods(self):
        """(job, rank, host or None) of every pod that is not being deleted, and how many are."""
        live, leaving = [], 0
        for pod in self.api.items(PODS + "?resourceVersion=0"):
            if "deletionTimestamp" in pod["metadata"]:
                leaving += 1
                continue
            live.append((*self.identity(pod["metadata"]["labels"]), pod["spec"].get("nodeName")))
        return live, leaving

    def identity(self, labels):
        return labels["job"], int(labels["rank"])


class Packed(Scheduler):
    """kube-scheduler at its best without coscheduling: fullest host first, near the job's other pods, held back by quota."""

    title = "kube-scheduler, packed"
    by_quota = True

    def configuration(self):
        return {**super().configuration(), "profiles": [PACKED_PROFILE]}

    def affinity(self, job):
        term = {"labelSelector": {"matchLabels": {"job": job.name}}, "topologyKey": "yardmaster.dev/segment"}
        return {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "podAffinityTerm": term}]}}}


class Yardmaster(Scheduler):
    """This project: TrainingJobs, an extender and an operator with the chart's rights."""

    title = "Yardmaster"
    operator_flags = ()

    def start(self):
        sh(ROOT / "test/cluster/prepare", self.folder)
        super().start()
        for process, more in (("extender", self.front()), ("operator", self.operator_flags)):
            log = open(self.folder / (process + ".log"), "w")
            self.children.append(subprocess.Popen(
                [BIN / ("yardmaster-" + process), "--kubeconfig", self.folder / (process + ".kubeconfig"), "--health-bind-address",
                 "127.0.0.1:0", "--metrics-bind-address", "127.0.0.1:0", "--kube-api-qps", "500", "--kube-api-burst", "1000", *more],
                stdout=log, stderr=log))

    def front(self):
        return ["--bind-address", "127.0.0.1:" + (self.folder / "extender-port").read_text().strip(), "--tls-cert-file",
                self.folder / "extender.crt", "--tls-key-file", self.folder / "extender.key", "--client-ca-file", self.folder / "ca.crt"]

    def configuration(self):
        return {**yaml.safe_load((self.folder / "scheduler.yaml").read_text()), **BACKOFF}

    def install(self):
        sh(ROOT / "test/cluster/install", self.folder, self.kubeconfig)
        for fabric in (o for o in self.fabric if o["kind"] == "Fabric"):
            self.api.call("POST", "/apis/yardmaster.dev/v1alpha1/fabrics", fabric)

    def submit(self, job):
        self.api.call("POST", JOBS, {
            "apiVersion": "yardmaster.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": job.name},
            "spec": {"workers": job.workers, "gpusPerWorker": job.gpus_per_worker, "parallelism": job.parallelism,
                     "template": {"spec": {"terminationGracePeriodSeconds": 0, "containers": [
                         {"name": "trainer", "image": "registry.example/trainer:1"}]}}}})

    def remove(self, job):
        self.api.delete("%s/%s" % (JOBS, job.name), policy="Foreground")

    def identity(self, labels):
        return labels["yardmaster.dev/job"], int(labels["yardmaster.dev/rank"])


ALL = {"default": Scheduler, "packed": Packed, "yardmaster": Yardmaster}
