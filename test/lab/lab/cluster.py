"""A real control plane over the lab: etcd to scheduler, our programs, and the test node as every host's kubelet.

The NIC stand-ins follow the files that the agent writes; link states go the agent's way (sysfs) for NIC ports
and by the Fabric's annotation `yardmaster.dev/down-links` for links between switches, as telemetry would.
"""

import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import threading
import time

from lab import netns
from lab.api import Api
from lab.experiment import arriving
from lab.node import TestNode
from lab.shape import fabric_manifest

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
_POLL_SECONDS = 0.02
_NICS_AT_ONCE = 4
_START_SECONDS = 120
_NOWHERE = ["--metrics-bind-address", "127.0.0.1:0", "--health-bind-address", "127.0.0.1:0"]


class Cluster:
    """start() to stop(); processes end with the process namespace in any case."""

    def __init__(self, lab):
        self._lab, self._folder = lab, os.path.join(lab.folder, "cluster")
        self._processes, self._stop = [], threading.Event()
        self._plans, self._sysfs = os.path.join(self._folder, "plans"), os.path.join(self._folder, "sysfs")
        self._port_states = {}  # (host, plane) -> whether its cable is up
        # Plans and port states come from two threads; NICs are configured apart from each other, as real ones are.
        self._nic_locks = {host.name: threading.Lock() for host in lab.hosts}
        self._nic_pool = concurrent.futures.ThreadPoolExecutor(_NICS_AT_ONCE)
        self.applied = {}  # host -> what its NIC has: (connections planned, level)
        self.planned = set()  # hosts for which there is a plan file

    def start(self):
        for folder in (self._plans, self._sysfs, os.path.join(self._folder, "pods")):
            os.makedirs(folder)
        test = os.path.join(_ROOT, "test")
        # Certificates and roles are as in the demo.
        netns.run([os.path.join(test, "cluster", "prepare"), self._folder])
        self._start_control_plane()
        environment_path = os.environ["YARDMASTER_CONTROLPLANE_BIN"] + ":" + os.environ["PATH"]
        os.environ["PATH"] = environment_path
        netns.run([os.path.join(test, "cluster", "install"), self._folder, self.kubeconfig])
        self.api = Api(self.kubeconfig)
        self.api.post("/apis/yardmaster.dev/v1alpha1/fabrics", fabric_manifest(self._lab.shape))
        self.api.post("/api/v1/namespaces", {"metadata": {"name": "lab"}})
        self.node = TestNode(self.api, self._lab.hosts, os.path.join(self._folder, "pods"), cgroups=self._cgroups())
        self.node.register()
        threading.Thread(target=self.node.run, daemon=True).start()
        self._report_ports()
        self._start_ours()
        threading.Thread(target=self._follow_plans, daemon=True).start()
        threading.Thread(target=self._watch_ports, daemon=True).start()

    def _start_control_plane(self):
        folder = os.path.join(self._folder, "controlplane")
        binaries = os.environ["YARDMASTER_CONTROLPLANE_BIN"]
        self._run("controlplane", [
            os.path.join(binaries, "controlplane"), "--dir", folder, "--bin", binaries, "--with", "scheduler",
            "--scheduler-config", os.path.join(self._folder, "scheduler.yaml"),
            "--controller-manager-arg", "node-monitor-grace-period=10s", "--controller-manager-arg",
            "node-monitor-period=1s"])
        description = os.path.join(folder, "cluster.json")
        self._wait("the control plane", lambda: os.path.exists(description))
        with open(description, encoding="utf-8") as file:
            self.kubeconfig = json.load(file)["kubeconfig"]

    def _start_ours(self):
        with open(os.path.join(self._folder, "nic-ports.yaml"), "w", encoding="ascii") as file:
            file.write("ports:\n" + "".join(f"- {{rail: 0, port: {p}, interface: e{p}}}\n" for p in range(self._lab.shape.planes)))
        with open(os.path.join(self._folder, "extender-port"), encoding="ascii") as file:
            port = file.read().strip()
        self._ours("extender", ["--bind-address", f"127.0.0.1:{port}", "--tls-cert-file", self._path("extender.crt"),
                                "--tls-key-file", self._path("extender.key"), "--client-ca-file", self._path("ca.crt"),
                                "--network-plan-wait", "10", *_NOWHERE])
        self._ours("operator", ["--plan-min-delay-ms", "50", "--plan-max-delay-ms", "500", *self._operator_arguments(),
                                *_NOWHERE])
        self._start_agents()

    # What else may be: another kind of cluster.
    def _cgroups(self):
        """Cgroups of containers, as PodRunner has it."""
        return None

    def _operator_arguments(self):
        return []

    def _start_agents(self):
        self._agent("agent", ["--nodes-matching", "yardmaster.dev/segment", "--plan-dir", self._plans, "--sysfs-root",
                              self._sysfs, "--grpc-bind-address", f"unix:{self._path('agent.sock')}"])

    def _agent(self, name, arguments):
        self._ours("agent", ["--nic-ports-file", self._path("nic-ports.yaml"), "--link-poll-ms", "50", "--link-down-ms",
                             "50", "--link-up-ms", "2000", *arguments, *_NOWHERE], name)

    def _path(self, name):
        return os.path.join(self._folder, name)

    def _ours(self, process, arguments, name=None):
        """`name`: of its log, where there are several of them."""
        program = os.path.join(os.environ["YARDMASTER_BIN"], f"yardmaster-{process}")
        self._run(name or process, [program, "--kubeconfig", self._path(f"{process}.kubeconfig"), *arguments])

    def _run(self, name, command):
        with open(self._path(f"{name}.log"), "ab") as log:
            self._processes.append((name, subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)))

    def _wait(self, what, done, seconds=_START_SECONDS):
        deadline = time.monotonic() + seconds
        while not done():
            for name, process in self._processes:
                if process.poll() is not None:
                    with open(self._path(f"{name}.log"), encoding="utf-8", errors="replace") as file:
                        raise RuntimeError(f"{name} ended with {process.returncode}:\n{file.read()[-1500:]}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"{what} did not come in {seconds} s\n" + self._last_words())
            time.sleep(0.05)

    def _last_words(self):
        """The end of every log."""
        out = []
        for name, _ in self._processes:
            with open(self._path(f"{name}.log"), encoding="utf-8", errors="replace") as file:
                out.append(f"--- {name}\n{file.read()[-1500:]}")
        return "\n".join(out)

    def stop(self):
        self._stop.set()
        self.node.stop()
        for _, process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
        for _, process in self._processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()

    # Jobs.
    def submit(self, job, arguments, shared, launcher=("python3",), recovery=None):
        """A TrainingJob whose workers are test/lab's training program, with the folder `shared` at /shared."""
        environment = {"GLOO_SOCKET_IFNAME": "n0,n1", "OMP_NUM_THREADS": "1"}
        self.submit_command(job, [*launcher, "/lab/train.py", *arguments], shared, environment, {}, recovery)

    def submit_command(self, job, command, shared, environment, annotations, recovery=None):
        """A TrainingJob of such workers, with environment variables and annotations of its pods; `recovery`: more of its
        spec.recovery."""
        container = {"name": "trainer", "image": "lab", "command": command,
                     "env": [{"name": name, "value": value} for name, value in environment.items()],
                     "volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
        manifest = job.training_job()
        manifest["spec"]["recovery"] = {"onHostLoss": "Replace", "hostGraceSeconds": 1, "maxRestarts": 100} | (recovery or {})
        manifest["spec"]["template"] = {"metadata": {"annotations": annotations}, "spec": {
            "restartPolicy": "OnFailure", "terminationGracePeriodSeconds": 2, "containers": [container],
            "volumes": [{"name": "shared", "hostPath": {"path": shared}}]}}
        self.api.post("/apis/yardmaster.dev/v1alpha1/namespaces/lab/trainingjobs", manifest)

    def set_recovery(self, job, recovery):
        """Changes these fields of the TrainingJob's spec.recovery."""
        self.api.patch(f"/apis/yardmaster.dev/v1alpha1/namespaces/lab/trainingjobs/{job.name}", {"spec": {"recovery": recovery}})

    def condition(self, job, kind):
        """Whether the TrainingJob has this condition."""
        return self.why("trainingjobs", job.name, kind) is not None

    def why(self, plural, name, kind):
        """"Reason: message" of a condition that is True; None: it is not."""
        status = self.api.get(f"/apis/yardmaster.dev/v1alpha1/namespaces/lab/{plural}/{name}").get("status", {})
        return next((f"{c['reason']}: {c['message']}" for c in status.get("conditions", [])
                     if c["type"] == kind and c["status"] == "True"), None)

    def fabric_says(self, kind):
        """"Reason: message" of a condition of the Fabric, whatever its status; None: it has none."""
        status = self.api.get("/apis/yardmaster.dev/v1alpha1/fabrics/lab").get("status", {})
        return next((f"{c['reason']}: {c['message']}" for c in status.get("conditions", []) if c["type"] == kind), None)

    def logs(self, pod):
        """What kubectl logs prints."""
        return netns.run(["kubectl", "--kubeconfig", self.kubeconfig, "logs", "-n", "lab", pod])

    def wait_for_success(self, job):
        self._wait(f"the success of {job.name}", lambda: self.condition(job, "Succeeded"), 60)

    def pods(self, job):
        """{rank: pod}"""
        items = self.api.get(f"/api/v1/namespaces/lab/pods?labelSelector=yardmaster.dev/job={job.name}")["items"]
        return {int(item["metadata"]["labels"]["yardmaster.dev/rank"]): item for item in items}

    def places(self, job):
        """Hosts by rank of the pods that are bound."""
        return {rank: self._lab.by_name[pod["spec"]["nodeName"]] for rank, pod in self.pods(job).items()
                if pod["spec"].get("nodeName")}

    def wait_for_plan(self, job):
        """Until every NIC of the job has a plan."""
        self._wait(f"the network plan of {job.name}", lambda: len(self.places(job)) == job.workers and all(
            self.applied.get(host.name, ({},))[0] for host in self.places(job).values()), 60)

    def wait_for_levels(self, job):
        """Until every NIC of the job has a plan file; in a sprayed fabric it has no paths."""
        self._wait(f"the levels of {job.name}", lambda: len(self.places(job)) == job.workers and all(
            host.name in self.planned for host in self.places(job).values()), 60)

    def remove(self, job):
        """Deletes the TrainingJob and waits until its pods are gone."""
        self.api.delete(f"/apis/yardmaster.dev/v1alpha1/namespaces/lab/trainingjobs/{job.name}")
        self._wait(f"the end of {job.name}", lambda: not self.pods(job), 60)

    def wait_for_down_port(self, host, plane, down=True):
        """Until the agent has reported that the port is down, or that it is not."""
        def reported():
            annotations = self.api.get(f"/api/v1/nodes/{host.name}")["metadata"].get("annotations", {})
            return (f"r0p{plane}" in annotations.get("yardmaster.dev/down-ports", "").split(",")) == down
        self._wait(f"the report of port {plane} of {host.name}", reported, 60)

    def annotate_down(self, links, switches):
        value = json.dumps({"version": 1, "links": links, "switches": switches}) if links or switches else None
        self.api.patch("/apis/yardmaster.dev/v1alpha1/fabrics/lab",
                       {"metadata": {"annotations": {"yardmaster.dev/down-links": value}}})

    # The NICs obey the agent's files.
    def _follow_plans(self):
        seen = {}
        while not self._stop.wait(_POLL_SECONDS):
            texts = {host.name: self._plan_text(host.name) for host in self._lab.hosts}
            self.planned = {name for name, text in texts.items() if text}
            self._apply({name: json.loads(text) if text else {} for name, text in texts.items() if seen.get(name) != text})
            seen = texts

    def _plan_text(self, name):
        folder = os.path.join(self._plans, name)
        try:
            for file_name in sorted(os.listdir(folder)):
                if file_name.endswith(".json"):
                    with open(os.path.join(folder, file_name), encoding="utf-8") as file:
                        return file.read()
        except FileNotFoundError:
            pass
        return ""

    def _apply(self, plans):
        """`plans`: {host: what its file says now}; every NIC that is concerned is configured once."""
        changed = set(plans)
        for name, plan in plans.items():
            planned = {}
            for rail in plan.get("rails", []):
                for peer in rail.get("peers", []):
                    planned.setdefault(peer["address"], []).extend((peer["plane"], p) for p in peer["sourcePorts"])
            for paths in planned.values():
                paths.sort()
            before = self.applied.get(name, ({}, 0))[0]
            self.applied[name] = (planned, plan.get("level", 0))
            # Their answers follow the packets they answer.
            changed.update(peer.name for peer in self._lab.hosts if before.get(peer.address) != planned.get(peer.address))
        list(self._nic_pool.map(self._configure, [self._lab.by_name[name] for name in sorted(changed)]))

    def _configure(self, host):
        with self._nic_locks[host.name]:
            nic, ports = self._lab.nics[host.name], {name: planned for name, (planned, _) in dict(self.applied).items()}
            planned, level = self.applied.get(host.name, ({}, 0))
            try:
                nic.apply(nic.connections(0, planned, arriving(nic, ports)), level)
            except netns.CommandError as error:
                print(f"{host.name}: {error}", file=sys.stderr, flush=True)

    # The agent reads link states where a host has them.
    def _watch_ports(self):
        while not self._stop.wait(_POLL_SECONDS):
            self._report_ports()

    def _report_ports(self):
        changed = []
        for host in self._lab.hosts:
            for plane in range(self._lab.shape.planes):
                state = self._lab.fabric.carrier(host.name, f"e{plane}")
                if self._port_states.get((host.name, plane)) != state:
                    self._port_states[host.name, plane] = state
                    down = self._lab.nics[host.name].down_ports
                    (down.discard if state else down.add)(plane)
                    changed.append(host)
                    folder = os.path.join(self._sysfs, host.name, "class", "net", f"e{plane}")
                    os.makedirs(folder, exist_ok=True)
                    with open(os.path.join(folder, "operstate.new"), "w", encoding="ascii") as file:
                        file.write("up\n" if state else "down\n")
                    os.rename(os.path.join(folder, "operstate.new"), os.path.join(folder, "operstate"))
        self._ports_changed({host.name: host for host in changed}.values())

    def _ports_changed(self, hosts):
        """A NIC sees its own ports at once; one that sprays sees soon which planes do not reach a peer."""
        if hosts and self._lab.shape.sprayed:
            list(self._nic_pool.map(self._lab.spread, self._lab.hosts))
        list(self._nic_pool.map(self._configure, hosts))
