"""Kueue and Volcano as processes beside a control plane of their own, with the rights and the configuration of their charts.

The folder given for one holds its programs and its chart, of one release:

  Kueue      bin/kueue                                      charts/kueue
  Volcano    bin/vc-scheduler bin/vc-controller-manager     charts/volcano

What a chart's configuration cannot be here: the processes listen on loopback, make as many calls a second as the other schedulers,
and elect no leader. Kueue serves no visibility API, which reads queues only; Volcano runs without its admission webhooks, which
write defaults that the jobs here have already.
"""
import json
import os
import pathlib
import socket
import subprocess
import time
import urllib.parse

import yaml  # Debian's python3-yaml
from others import Kueue, KueueStages, Volcano
from schedulers import ROOT, Scheduler, sh

QPS, BURST = 500, 1000


class Beside:
    """Mixed into a scheduler of others.py. `name_of_chart`, `release_namespace` and `values` are the subclass's."""

    KINDS = {"CustomResourceDefinition", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding",
             "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}

    def __init__(self, folder, fabric, given):
        super().__init__(folder, fabric, None)
        self.given = pathlib.Path(given).resolve()
        chart = yaml.safe_load((self.given / "charts" / self.name_of_chart / "Chart.yaml").read_text())
        self.title = "%s %s" % (self.title, chart["appVersion"].lstrip("v"))

    def start(self):
        Scheduler.start(self)

    def stop(self):
        Scheduler.stop(self)
        self.children.clear()

    def install(self):
        self.make("/api/v1/namespaces", {"metadata": {"name": self.release_namespace}})
        rendered = [o for o in yaml.safe_load_all(sh(
            "helm", "template", self.name_of_chart, self.given / "charts" / self.name_of_chart,
            "--namespace", self.release_namespace, "--set", self.values)) if o]
        objects = [o for o in rendered if o["kind"] in self.KINDS]
        sh("kubectl", "--kubeconfig", self.kubeconfig, "create", "-f", "-", text=yaml.safe_dump_all(objects))
        custom = ["crd/" + o["metadata"]["name"] for o in objects if o["kind"] == "CustomResourceDefinition"]
        sh("kubectl", "--kubeconfig", self.kubeconfig, "wait", "--for=condition=Established", "--timeout=60s", *custom)
        self.run_processes(rendered)
        super().install()

    def kubeconfig_of(self, account):
        """With a token of the chart's ServiceAccount, never the administrator's certificate."""
        kubeconfig = yaml.safe_load(pathlib.Path(self.kubeconfig).read_text())
        token = sh("kubectl", "--kubeconfig", self.kubeconfig, "create", "token", account, "-n", self.release_namespace,
                   "--duration", "8h").strip()
        kubeconfig["users"][0]["user"] = {"token": token}
        path = self.folder / (account + ".kubeconfig")
        path.write_text(yaml.safe_dump(kubeconfig))
        return path

    def spawn(self, name, *command, environment=None):
        with open(self.log_of(name), "w") as log:
            self.children.append(subprocess.Popen([str(part) for part in command], stdout=log, stderr=log,
                                                  env={**os.environ, **(environment or {})}))

    def log_of(self, name):
        return self.folder / (name + ".log")

    def fail(self, name):
        raise RuntimeError("%s does not run:\n%s" % (name, self.log_of(name).read_text()[-2000:]))


class KueueBeside(Beside, Kueue):
    name_of_chart = "kueue"

    def install(self):
        """As the tests have it; the folder of the programs is one that test/controlplane/build makes, or of another release."""
        sh(ROOT / "test/cluster/prepare", self.folder)  # certificates for 127.0.0.1
        self.run_controller("kueue", self.given)
        Kueue.install(self)

    def run_controller(self, name, given, configuration=None):
        """Beside the control plane. `configuration` is merged into that of its chart."""
        how = json.loads(sh(ROOT / "test/kinds/install", given, self.folder, self.kubeconfig, json.dumps(configuration or {})))
        self.spawn(name, *how["command"])
        self.await_webhooks(name, urllib.parse.urlsplit(how["webhooks"]).port)

    def await_webhooks(self, name, port):
        for _ in range(300):
            if self.children[-1].poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                time.sleep(0.2)
        self.fail(name)


class KueueStagesBeside(KueueBeside, KueueStages):
    pass


class VolcanoBeside(Beside, Volcano):
    name_of_chart, release_namespace, values = "volcano", "volcano-system", "custom.admission_enable=false"

    def run_processes(self, rendered):
        config_map = next(o for o in rendered if o["kind"] == "ConfigMap" and "volcano-scheduler.conf" in o.get("data", {}))
        config = with_topology(yaml.safe_load(config_map["data"]["volcano-scheduler.conf"]))
        (self.folder / "volcano.conf").write_text(yaml.safe_dump(config))
        common = ["--logtostderr", "--leader-elect=false", "--kube-api-qps", QPS, "--kube-api-burst", BURST, "-v", 2]
        sockets = {"DEBUG_SOCKET_DIR": str(self.folder / "sockets")}
        self.spawn("vc-controller-manager", self.given / "bin/vc-controller-manager", "--kubeconfig",
                   self.kubeconfig_of("volcano-controllers"), *common, environment=sockets)
        self.spawn("vc-scheduler", self.given / "bin/vc-scheduler", "--kubeconfig", self.kubeconfig_of("volcano-scheduler"),
                   "--scheduler-conf", self.folder / "volcano.conf", "--schedule-period", "1s", *common, environment=sockets)
        self.await_queue()

    def await_queue(self):
        """The scheduler makes the queue `default` when it starts."""
        for _ in range(300):
            for name, child in zip(("vc-controller-manager", "vc-scheduler"), self.children):
                if child.poll() is not None:
                    self.fail(name)
            if any(q["metadata"]["name"] == "default" for q in self.api.items("/apis/scheduling.volcano.sh/v1beta1/queues")):
                return
            time.sleep(0.2)
        self.fail("vc-scheduler")


def with_topology(config):
    """The chart's configuration with the plugin network-topology-aware and its arguments as Volcano's guide has them."""
    config["tiers"][-1]["plugins"].append({"name": "network-topology-aware", "arguments": {
        "weight": 10, "hypernode.binpack.resources": "nvidia.com/gpu", "hypernode.binpack.resources.nvidia.com/gpu": 2}})
    return config


ALL = {"kueue": KueueBeside, "kueue-stages": KueueStagesBeside, "volcano": VolcanoBeside}
