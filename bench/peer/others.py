"""Kueue's topology-aware scheduling and Volcano: the same jobs, the same measures.

On a cluster that has them: it needs the hosts of `bench/peer/run --print-hosts`, simulated by KWOK, and nothing else; this module makes
the queues and topologies and removes only the jobs. Kueue also runs as a process beside a control plane of ours, as the other
schedulers do, when a folder has its program and its chart (KueueHere).

Written from their documentation and CRDs for Kueue 0.19, whose API is v1beta2, and Volcano 1.15. Neither has been run.
"""
import base64
import os
import pathlib
import socket
import subprocess
import time

import yaml  # Debian's python3-yaml
from schedulers import NAMESPACE, ROOT, Scheduler, sh
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
        gpus = sum(int(o["status"]["allocatable"]["nvidia.com/gpu"]) for o in self.fabric if o["kind"] == "Node" and not o.get("spec", {}).get("taints"))
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

    def submit(self, job):
        more = {"annotations": {"kueue.x-k8s.io/podset-preferred-topology": SEGMENT}}
        self.api.call("POST", "/apis/batch/v1/namespaces/%s/jobs" % NAMESPACE, {
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": job.name, "labels": {"kueue.x-k8s.io/queue-name": "all"}},
            "spec": {"suspend": True, "completionMode": "Indexed", "parallelism": job.workers, "completions": job.workers,
                     "template": self.template(job, more)}})

    def remove(self, job):
        self.api.delete("/apis/batch/v1/namespaces/%s/jobs/%s" % (NAMESPACE, job.name), policy="Foreground")

    def identity(self, labels):
        return labels["job"], int(labels["batch.kubernetes.io/job-completion-index"])


class KueueHere(Kueue):
    """Kueue's manager beside a control plane of its own, with its chart's configuration, rights and webhooks.

    `kueue` holds the program, bin/kueue, and charts/kueue. What the chart's configuration cannot be here: the manager listens on
    loopback with certificates of ours, makes as many calls a second as the other schedulers, elects no leader and has no
    visibility API, which reads queues only.
    """

    KINDS = {"CustomResourceDefinition", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding",
             "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
    OURS = "kueue-system"

    def __init__(self, folder, fabric, kueue):
        super().__init__(folder, fabric, None)
        self.kueue = pathlib.Path(kueue).resolve()
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]

    start, stop = Scheduler.start, Scheduler.stop

    def install(self):
        sh(ROOT / "test/cluster/prepare", self.folder)  # certificates for 127.0.0.1
        rendered = list(yaml.safe_load_all(sh("helm", "template", "kueue", self.kueue / "charts/kueue", "--namespace", self.OURS,
                                              "--set", "enableCertManager=true")))
        objects = [self.on_loopback(o) for o in rendered if o and o["kind"] in self.KINDS]
        self.make("/api/v1/namespaces", {"metadata": {"name": self.OURS}})
        sh("kubectl", "--kubeconfig", self.kubeconfig, "create", "-f", "-", text=yaml.safe_dump_all(objects))
        self.run_manager(next(o for o in rendered if o and o["kind"] == "ConfigMap"))
        self.await_webhooks()
        self.make_queues()

    def on_loopback(self, value):
        """Webhooks at an address instead of a Service: nothing here routes to Services."""
        if isinstance(value, list):
            return [self.on_loopback(item) for item in value]
        if not isinstance(value, dict):
            return value
        value = {key: self.on_loopback(item) for key, item in value.items()}
        if isinstance(value.get("clientConfig"), dict) and "service" in value["clientConfig"]:
            ca = base64.b64encode((self.folder / "ca.crt").read_bytes()).decode()
            value["clientConfig"] = {"url": "https://127.0.0.1:%d%s" % (self.port, value["clientConfig"]["service"]["path"]), "caBundle": ca}
        return value

    def run_manager(self, config_map):
        config = yaml.safe_load(config_map["data"]["controller_manager_config.yaml"])
        config.update(namespace=self.OURS, health={"healthProbeBindAddress": "127.0.0.1:0"}, metrics={"bindAddress": "0"},
                      clientConnection={"qps": 500, "burst": 1000}, leaderElection={"leaderElect": False},
                      webhook={"port": self.port, "host": "127.0.0.1", "certDir": "/etc/kueue/metrics/certs"})
        (self.folder / "kueue.yaml").write_text(yaml.safe_dump(config))
        kubeconfig = yaml.safe_load(pathlib.Path(self.kubeconfig).read_text())
        token = sh("kubectl", "--kubeconfig", self.kubeconfig, "create", "token", "kueue-controller-manager", "-n", self.OURS,
                   "--duration", "8h").strip()
        kubeconfig["users"][0]["user"] = {"token": token}
        (self.folder / "kueue.kubeconfig").write_text(yaml.safe_dump(kubeconfig))
        # The program reads the certificates of its metrics from this folder and no other: it gets an /etc of its own.
        certificates = self.folder / "etc/kueue/metrics/certs"
        certificates.mkdir(parents=True, exist_ok=True)
        for name, file in (("tls.crt", "extender.crt"), ("tls.key", "extender.key")):
            (certificates / name).write_bytes((self.folder / file).read_bytes())
        (self.folder / "etc/hosts").write_text("127.0.0.1 localhost\n")
        namespaces = ["--mount"] if os.getuid() == 0 else ["--mount", "--map-root-user"]
        log = open(self.folder / "kueue.log", "w")
        self.children.append(subprocess.Popen(
            ["unshare", *namespaces, "sh", "-c", 'mount --bind "$0" /etc && exec "$@"', self.folder / "etc", self.kueue / "bin/kueue",
             "--config", self.folder / "kueue.yaml", "--kubeconfig", self.folder / "kueue.kubeconfig", "--zap-log-level", "2",
             "--feature-gates", "VisibilityOnDemand=false"], stdout=log, stderr=log))

    def await_webhooks(self):
        for _ in range(300):
            if self.children[0].poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.2)
        raise RuntimeError("Kueue does not run:\n" + (self.folder / "kueue.log").read_text()[-2000:])


class Volcano(Existing):
    """Volcano Jobs, gangs by minAvailable, softly in as low a tier of HyperNodes as there is room for."""

    title = "Volcano"

    def install(self):
        segments = {}
        for node in (o for o in self.fabric if o["kind"] == "Node"):
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


ALL = {"kueue": Kueue, "volcano": Volcano}
