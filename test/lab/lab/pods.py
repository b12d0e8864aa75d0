"""Runs the containers of one pod as processes on a lab host, and writes the pod's status, as a kubelet does.

What it knows: commands and arguments with $(VARIABLE), environment (values, fieldRef, downward API, configMap
and secret keys), volumes (emptyDir, hostPath, configMap, secret, downwardAPI, projected, and claims that are bound to a
hostPath), init containers,
exit codes, restart policies with back-off, commands in preStop hooks, SIGTERM and SIGKILL after the grace period, logs in files. Images
are not looked at: a container sees this machine's files through an overlay, and the lab's programs in /lab.
What it does not know: probes, resources, sidecars (init containers that restart), users, subPath.
Volumes lie below the pod's folder as they do below kubelet's: volumes/kubernetes.io~empty-dir/NAME.
"""

import base64
import datetime
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

from lab.api import ApiError

_LAB = os.path.dirname(os.path.abspath(__file__))
_FIRST_BACKOFF, _LAST_BACKOFF = 0.5, 10.0
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def field_of(pod, path):
    """A fieldRef's value; '' for what is absent. Raises ValueError for a path that is not known."""
    indexed = re.fullmatch(r"metadata\.(annotations|labels)\['(.+)'\]", path)
    if indexed:
        return pod["metadata"].get(indexed[1], {}).get(indexed[2], "")
    if path in ("metadata.annotations", "metadata.labels"):
        values = pod["metadata"].get(path.split(".")[1], {})
        return "\n".join(f"{key}={json.dumps(value)}" for key, value in sorted(values.items()))
    if path in ("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
                "status.podIP", "status.hostIP"):
        part, name = path.split(".")
        return pod.get(part, {}).get(name, "")
    raise ValueError(f"fieldPath {path} is not known to the test node")


def expand(text, environment):
    """$(NAME) as Kubernetes has it: unknown names stay, $$ is $."""
    return re.sub(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)",
                  lambda m: "$" if m[0] == "$$" else environment.get(m[1], m[0]), text)


def child_of(pid):
    """The first process of a container, which lab.container waits for; None: it has none."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return next(iter(file.read().split()), None)
    except FileNotFoundError:
        return None


def volume_path(folder, volume):
    """Of a volume that lives as long as its pod, below the pod's folder, as a kubelet names it."""
    kind = next((kubelet for key, kubelet in (("emptyDir", "empty-dir"), ("configMap", "configmap"), ("secret", "secret"),
                                              ("downwardAPI", "downward-api")) if key in volume), "projected")
    return os.path.join(folder, "volumes", f"kubernetes.io~{kind}", volume["name"])


class PodRunner:
    """One thread for the pod's life. update() and forget() are called by the watcher."""

    def __init__(self, api, host, pod, folder, hosts_file, on_end, environment=None, cgroups=None):
        """`cgroups`: gives the folders of cgroups that a container joins, by host, uid of the pod and name."""
        self._cgroups = cgroups or (lambda *_: [])
        self._api, self.host, self.pod, self._on_end = api, host, pod, on_end
        self._environment = environment or {}
        self.uid = pod["metadata"]["uid"]
        self._path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
        self._folder = os.path.join(folder, self.uid)
        self._hosts_file = hosts_file
        self._lock = threading.Lock()
        self._volumes = threading.Lock()  # held while files are written
        self._processes = {}  # container -> running process
        self._statuses = {}  # container -> containerStatus
        self._stopping = threading.Event()
        self._gone = False  # the pod is not in the API any more
        self._start_time = now()
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()

    def log_file(self, container):
        return os.path.join(self._folder, f"{container}.log")

    def update(self, pod):
        """The pod has changed: volumes of the downward API follow; a deletion ends it."""
        self.pod = pod | {"status": self.pod.get("status", {})}
        if pod["metadata"].get("deletionTimestamp"):
            self._stopping.set()
        elif os.path.isdir(self._folder):
            self._fill_volumes(downward_only=True)

    def forget(self):
        """The pod is gone from the API: its processes are killed at once."""
        self._gone = True
        self._stopping.set()
        self._signal(signal.SIGKILL)

    def kill(self):
        """The host dies: its processes end, and the API server is not informed."""
        self._on_end = lambda runner: None
        self._api = None
        self.forget()

    # The pod's life.
    def _live(self):
        try:
            os.makedirs(self._folder, exist_ok=True)
            self.pod.setdefault("status", {}).update({"podIP": self.host.inner(0), "hostIP": "127.0.0.1"})
            self._fill_volumes()
            phase = self._run_all()
        except (OSError, ValueError, KeyError, ApiError) as error:
            phase = "Failed"
            self._say(f"the pod cannot run: {error}")
        if self._stopping.is_set() and not self._gone:
            self._remove()
        elif not self._gone:
            self._write_status(phase)
        self._on_end(self)

    def _run_all(self):
        spec = self.pod["spec"]
        for container in spec.get("initContainers", []):
            while not self._stopping.is_set():
                code = self._run(container)
                if code == 0:
                    break
                if spec.get("restartPolicy") == "Never":
                    return "Failed"
                self._stopping.wait(_FIRST_BACKOFF)
        threads = [threading.Thread(target=self._keep_running, args=(c,), daemon=True) for c in spec["containers"]]
        for thread in threads:
            thread.start()
        stopper = threading.Thread(target=self._stop_when_asked, daemon=True)
        stopper.start()
        for thread in threads:
            thread.join()
        codes = [self._statuses[c["name"]]["state"].get("terminated", {}).get("exitCode", 1) for c in spec["containers"]]
        return "Succeeded" if all(code == 0 for code in codes) else "Failed"

    def _keep_running(self, container):
        policy, wait = self.pod["spec"].get("restartPolicy", "Always"), _FIRST_BACKOFF
        while True:
            began = time.monotonic()
            code = self._run(container)
            if self._stopping.is_set() or policy == "Never" or (policy == "OnFailure" and code == 0):
                return
            wait = _FIRST_BACKOFF if time.monotonic() - began > 60 else wait
            if self._stopping.wait(wait):
                return
            wait = min(2 * wait, _LAST_BACKOFF)

    def _run(self, container):
        name = container["name"]
        restarts = self._statuses.get(name, {}).get("restartCount", -1) + 1
        last = self._statuses.get(name, {}).get("state", {})
        status = {"name": name, "image": container.get("image", ""), "imageID": "", "ready": True, "started": True,
                  "restartCount": restarts, "containerID": f"lab://{self.uid}/{name}/{restarts}",
                  "state": {"running": {"startedAt": now()}}, "lastState": last}
        spec_file = os.path.join(self._folder, f"{name}.json")
        with open(spec_file, "w", encoding="utf-8") as file:
            json.dump(self._container_spec(container), file)
        with open(self.log_file(name), "ab") as log:
            with self._lock:
                if self._stopping.is_set():
                    return 137
                process = subprocess.Popen([sys.executable, "-m", "lab.container", spec_file], stdin=subprocess.DEVNULL,
                                           stdout=log, stderr=log, start_new_session=True)
                self._processes[name] = process
        self._statuses[name] = status
        self._write_status("Running")
        code = process.wait()
        code = 128 - code if code < 0 else code
        with self._lock:
            del self._processes[name]
        self._statuses[name] = status | {"ready": False, "started": False, "state": {"terminated": {
            "exitCode": code, "reason": "Completed" if code == 0 else "Error",
            "startedAt": status["state"]["running"]["startedAt"], "finishedAt": now(),
            "containerID": status["containerID"]}}}
        self._write_status("Running")
        return code

    def _signal(self, number):
        with self._lock:
            for process in self._processes.values():
                process.send_signal(number)

    def _stop_when_asked(self):
        self._stopping.wait()
        deadline = time.monotonic() + self.pod["metadata"].get("deletionGracePeriodSeconds", 30)
        if not self._gone:
            self._run_hooks(deadline)
        self._signal(signal.SIGTERM)
        while self._processes and time.monotonic() < deadline and not self._gone:
            time.sleep(0.05)
        self._signal(signal.SIGKILL)

    def _run_hooks(self, deadline):
        """The preStop commands of containers that run, all at once; they have until the end of the grace period."""
        hooks = []
        for container in self.pod["spec"]["containers"]:
            command = container.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command")
            with self._lock:
                process = self._processes.get(container["name"])
            inner = child_of(process.pid) if command and process else None
            if inner is None:
                continue
            environment = self._container_spec(container)["environment"]
            with open(self.log_file(container["name"]), "ab") as log:
                hooks.append(subprocess.Popen(
                    ["nsenter", f"--target={inner}", "--all", "--root", "--wd", "--", *command], env=environment,
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        for hook in hooks:
            while hook.poll() is None and time.monotonic() < deadline and not self._gone:
                time.sleep(0.05)
            hook.kill()
            hook.wait()

    def _remove(self):
        try:
            self._api.delete(self._path, {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0,
                                          "preconditions": {"uid": self.uid}})
        except (ApiError, OSError) as error:
            if getattr(error, "code", 0) not in (404, 409):
                self._say(f"delete: {error}")

    def clean_up(self):
        shutil.rmtree(self._folder, ignore_errors=True)

    # What a container gets.
    def _container_spec(self, container):
        environment = {"PATH": _PATH, "HOME": "/root", "HOSTNAME": self._hostname(), "PYTHONDONTWRITEBYTECODE": "1"}
        environment |= self._environment
        for variable in container.get("env", []):
            environment[variable["name"]] = (expand(variable.get("value", ""), environment)
                                             if "valueFrom" not in variable else self._value_from(variable["valueFrom"]))
        mounts = [[_LAB, "/lab", True], [self._hosts_file, "/etc/hosts", True]]
        for mount in container.get("volumeMounts", []):
            mounts.append([self._volume_folder(mount["name"]), mount["mountPath"], mount.get("readOnly", False)])
        command = container.get("command", []) + container.get("args", [])
        if not command:
            raise ValueError(f"container {container['name']} has no command, and images are not looked at")
        return {"namespace": self.host.namespace, "hostname": self._hostname(), "mounts": mounts,
                "environment": environment, "directory": container.get("workingDir", "/"),
                "root": os.path.join(self._folder, "root-" + container["name"]),
                "cgroups": self._cgroups(self.host, self.uid, container["name"]),
                "command": [expand(part, environment) for part in command]}

    def _hostname(self):
        return self.pod["spec"].get("hostname", self.pod["metadata"]["name"])

    def _value_from(self, source):
        if "fieldRef" in source:
            return field_of(self.pod, source["fieldRef"]["fieldPath"])
        for kind, plural in (("configMapKeyRef", "configmaps"), ("secretKeyRef", "secrets")):
            if kind in source:
                return self._object_data(plural, source[kind]["name"], source[kind].get("optional")).get(
                    source[kind]["key"], b"").decode()
        raise ValueError(f"valueFrom {list(source)} is not known to the test node")

    def _object_data(self, plural, name, optional):
        """{key: bytes} of a ConfigMap or a Secret."""
        try:
            item = self._api.get(f"/api/v1/namespaces/{self.pod['metadata']['namespace']}/{plural}/{name}")
        except ApiError as error:
            if error.code == 404 and optional:
                return {}
            raise
        if plural == "secrets":
            return {key: base64.b64decode(value) for key, value in item.get("data", {}).items()}
        return {key: value.encode() for key, value in item.get("data", {}).items()}

    def _volume_folder(self, name):
        volume = next(v for v in self.pod["spec"].get("volumes", []) if v["name"] == name)
        path = self._path_on_host(volume)
        if path is not None:
            os.makedirs(path, exist_ok=True)
            return path
        return volume_path(self._folder, volume)

    def _path_on_host(self, volume):
        """Of a volume that outlives the pod; None: it does not."""
        if "persistentVolumeClaim" in volume:
            namespace, name = self.pod["metadata"]["namespace"], volume["persistentVolumeClaim"]["claimName"]
            claim = self._api.get(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}")
            volume = self._api.get(f"/api/v1/persistentvolumes/{claim['spec']['volumeName']}")["spec"]
        return volume.get("hostPath", {}).get("path")

    def _fill_volumes(self, downward_only=False):
        with self._volumes:
            self._fill_volumes_locked(downward_only)

    def _fill_volumes_locked(self, downward_only):
        for volume in self.pod["spec"].get("volumes", []):
            if "hostPath" in volume or "persistentVolumeClaim" in volume:
                continue
            folder = volume_path(self._folder, volume)
            os.makedirs(folder, exist_ok=True)
            sources = volume.get("projected", {}).get("sources", [volume])
            for source in sources:
                if downward_only and "downwardAPI" not in source:
                    continue
                for name, content in self._files_of(source).items():
                    path = os.path.join(folder, name)
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    # By a rename: a reader sees the old file or the new one.
                    with open(path + ".new", "wb") as file:
                        file.write(content)
                    os.rename(path + ".new", path)

    def _files_of(self, source):
        if "downwardAPI" in source:
            return {item["path"]: field_of(self.pod, item["fieldRef"]["fieldPath"]).encode()
                    for item in source["downwardAPI"].get("items", []) if "fieldRef" in item}
        for kind, plural, key in (("configMap", "configmaps", "name"), ("secret", "secrets", "secretName")):
            if kind in source:
                block = source[kind]
                data = self._object_data(plural, block.get(key, block.get("name")), block.get("optional"))
                if "items" not in block:
                    return data
                return {item["path"]: data[item["key"]] for item in block["items"]}
        if "serviceAccountToken" in source:
            account = self.pod["spec"].get("serviceAccountName", "default")
            answer = self._api.post(f"/api/v1/namespaces/{self.pod['metadata']['namespace']}/serviceaccounts/"
                                    f"{account}/token", {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
                                                         "spec": {"expirationSeconds": 3600}})
            return {source["serviceAccountToken"]["path"]: answer["status"]["token"].encode()}
        if "emptyDir" in source:
            return {}
        raise ValueError(f"volume {source} is not known to the test node")

    # What the API is told.
    def _write_status(self, phase):
        if self._api is None or self._gone:
            return
        statuses = list(self._statuses.values())
        names = {c["name"] for c in self.pod["spec"].get("initContainers", [])}
        main = [s for s in statuses if s["name"] not in names]
        ready = phase == "Running" and len(main) == len(self.pod["spec"]["containers"]) and all(s["ready"] for s in main)
        conditions = [{"type": kind, "status": str(value), "lastTransitionTime": now()} for kind, value in (
            ("PodScheduled", True), ("Initialized", True), ("ContainersReady", ready), ("Ready", ready))]
        body = {"status": {"phase": phase, "conditions": conditions, "podIP": self.host.inner(0),
                           "podIPs": [{"ip": self.host.inner(0)}], "hostIP": "127.0.0.1",
                           "hostIPs": [{"ip": "127.0.0.1"}], "startTime": self._start_time,
                           "containerStatuses": main,
                           "initContainerStatuses": [s for s in statuses if s["name"] in names]}}
        for _ in range(20):
            try:
                self._api.patch(self._path + "/status", {"metadata": {"uid": self.uid}} | body)
                return
            except ApiError as error:
                if error.code in (404, 409, 422):
                    return  # it is gone, or another pod of its name is there
                self._say(f"status: {error}")
            except OSError as error:
                self._say(f"status: {error}")
            time.sleep(0.5)

    def _say(self, text):
        print(f"{self.host.name} {self.pod['metadata']['namespace']}/{self.pod['metadata']['name']}: {text}",
              file=sys.stderr, flush=True)
