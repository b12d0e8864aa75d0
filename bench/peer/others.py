"""Kueue's topology-aware scheduling and Volcano: the same jobs, the same measures.

On a cluster that has them: it needs the hosts of `bench/peer/run --print-hosts`, simulated by KWOK, and nothing else; this module makes
the queues and topologies and removes only the jobs. beside.py starts them itself, beside a control plane of ours.

For Kueue 0.19, whose API is v1beta2, and Volcano 1.15. Both have been run through beside.py.
"""
import collections

from schedulers import NAMESPACE, Scheduler
from api import Api, ApiError

SEGMENT = "yardmaster.dev/segment"
HOSTNAME = "kubernetes.io/hostname"


class Existing(Scheduler):
    """A cluster that exists already, in KUBECONFIG."""

    def __init__(self, folder, fabric, kubeconfig):
        super().__init__(folder, fabric)
        self.kubeconfig = str(kubeconfig)

    def start(self):
        self.api = Api(self.kubeconfig)
        self.make("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        self.install()

    def stop(self):
        pass

    def make(self, path, value):
        """Also fine if it is there already."""
        try:
            self.api.call("POST", path, value)
        except ApiError as error:
            if error.code != 409:
                raise

    def usable_nodes(self):
        return [o for o in self.fabric if o["kind"] == "Node" and not o.get("spec", {}).get("taints")]

    def template(self, job, more):
        return {"metadata": {"labels": {"job": job.name}, **more}, "spec": {
            "restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [
                {"name": "trainer", "image": "registry.example/trainer:1",
                 "resources": {"limits": {"nvidia.com/gpu": str(job.gpus_per_worker)}}}]}}


class Kueue(Existing):
    """Indexed Jobs, all pods together, in as few segments as have room (preferred topology)."""

    title = "Kueue TAS"
    group = "/apis/kueue.x-k8s.io/v1beta2"

    def install(self):
        self.make_queues()

    def make_queues(self):
        gpus = sum(int(node["status"]["allocatable"]["nvidia.com/gpu"]) for node in self.usable_nodes())
        kind = lambda name, **more: {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": name, **more}
        self.make(self.group + "/topologies", kind("Topology", metadata={"name": "fabric"}, spec={
            "levels": [{"nodeLabel": SEGMENT}, {"nodeLabel": HOSTNAME}]}))
        self.make(self.group + "/resourceflavors", kind("ResourceFlavor", metadata={"name": "gpu"}, spec={
            "nodeLabels": {"yardmaster.dev/fabric-pod": "p00"}, "topologyName": "fabric"}))
        self.make(self.group + "/clusterqueues", kind("ClusterQueue", metadata={"name": "all"}, spec={
            "namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["nvidia.com/gpu"], "flavors": [
                {"name": "gpu", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": gpus}]}]}]}))
        self.make("%s/namespaces/%s/localqueues" % (self.group, NAMESPACE), kind("LocalQueue", metadata={
            "name": "all", "namespace": NAMESPACE}, spec={"clusterQueue": "all"}))

    def annotations(self, job):
        return {"kueue.x-k8s.io/podset-preferred-topology": SEGMENT}

    def submit(self, job):
        more = {"annotations": self.annotations(job)}
        self.api.call("POST", "/apis/batch/v1/namespaces/%s/jobs" % NAMESPACE, {
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": job.name, "labels": {"kueue.x-k8s.io/queue-name": "all"}},
            "spec": {"suspend": True, "completionMode": "Indexed", "parallelism": job.workers, "completions": job.workers,
                     "template": self.template(job, more)}})

    def remove(self, job):
        self.api.delete("/apis/batch/v1/namespaces/%s/jobs/%s" % (NAMESPACE, job.name), policy="Foreground")

    def identity(self, labels):
        return labels["job"], int(labels["batch.kubernetes.io/job-completion-index"])


class KueueStages(Kueue):
    """Told of pipeline stages, as Yardmaster is: each is a slice that has to be inside one segment, where it fits there."""

    title = "Kueue TAS, stages"

    def annotations(self, job):
        hosts = collections.Counter(node["metadata"]["labels"][SEGMENT] for node in self.usable_nodes())
        stage = job.workers // job.stages
        if job.stages == 1 or stage > max(hosts.values()):
            return super().annotations(job)
        return {**super().annotations(job), "kueue.x-k8s.io/podset-slice-required-topology": SEGMENT,
                "kueue.x-k8s.io/podset-slice-size": str(stage)}


class Volcano(Existing):
    """Volcano Jobs, gangs by minAvailable, softly in as low a tier of HyperNodes as there is room for."""

    title = "Volcano"

    def install(self):
        segments = {}
        for node in self.usable_nodes():
            segments.setdefault(node["metadata"]["labels"][SEGMENT], []).append(node["metadata"]["name"])
        member = lambda kind, name: {"type": kind, "selector": {"exactMatch": {"name": name}}}
        group = {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode"}
        path = "/apis/topology.volcano.sh/v1alpha1/hypernodes"
        for segment, hosts in segments.items():
            self.make(path, {**group, "metadata": {"name": segment}, "spec": {
                "tier": 1, "members": [member("Node", host) for host in hosts]}})
        self.make(path, {**group, "metadata": {"name": "fabric"}, "spec": {
            "tier": 2, "members": [member("HyperNode", segment) for segment in segments]}})

    def submit(self, job):
        self.api.call("POST", "/apis/batch.volcano.sh/v1alpha1/namespaces/%s/jobs" % NAMESPACE, {
            "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": job.name},
            "spec": {"schedulerName": "volcano", "queue": "default", "maxRetry": 3, "minAvailable": job.workers, "networkTopology": {"mode": "soft"},
                     "tasks": [{"name": "worker", "replicas": job.workers, "template": self.template(job, {})}]}})

    def remove(self, job):
        self.api.delete("/apis/batch.volcano.sh/v1alpha1/namespaces/%s/jobs/%s" % (NAMESPACE, job.name), policy="Foreground")

    def identity(self, labels):
        return labels["job"], int(labels["volcano.sh/task-index"])


ALL = {"kueue": Kueue, "kueue-stages": KueueStages, "volcano": Volcano}
