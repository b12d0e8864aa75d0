"""The test node: all hosts of the lab as Nodes of a cluster, and the pods bound to them as processes.

One process stands for every host's kubelet: it registers Nodes, renews their leases, watches pods, serves
`kubectl logs`, and keeps the names of pods with a subdomain in the /etc/hosts of all containers. Hosts come
(`add`) and go (`remove`) while it runs.

A host has `name`, `namespace` (of the network; None: this machine's), `inner(0)` (the address of its pods), `manifest()`
and `status()` (of its Node).
"""

import argparse
import datetime
import http.server
import os
import signal
import ssl
import subprocess
import sys
import threading
import urllib.parse

from lab.api import Api, ApiError
from lab.pods import PodRunner, now
from lab.shape import Shape

_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


class TestNode:
    def __init__(self, api, hosts, folder, environment=None, cgroups=None):
        """`environment`: what every container gets besides its own. `cgroups`: as PodRunner has it."""
        self._api, self._folder, self._environment, self._cgroups = api, folder, environment or {}, cgroups
        self._hosts = {host.name: host for host in hosts}
        self._runners = {}  # pod uid -> runner
        self._names = {}  # pod uid -> (address, names)
        self._dead = set()
        self._stop = threading.Event()
        self._hosts_file = os.path.join(folder, "hosts")
        self._write_hosts_file()
        self._logs = _serve_logs(self, folder)

    def register(self):
        """Creates the Nodes that are missing and makes all of them Ready."""
        for host in self._hosts.values():
            self._register(host)

    def add(self, host):
        """A host more, with a Node that is Ready."""
        self._hosts[host.name] = host
        self._register(host)

    def remove(self, name):
        """The host is taken away: its processes are killed and its Node is deleted."""
        self.fail(name)
        self._hosts.pop(name, None)
        for path in (f"/api/v1/nodes/{name}", f"{_LEASES}/{name}"):
            try:
                self._api.delete(path)
            except ApiError as error:
                if error.code != 404:
                    raise

    def _register(self, host):
        self._api.create_or_keep("/api/v1/nodes", host.manifest())
        self._heartbeat(host)

    def run(self):
        """Until stop()."""
        threading.Thread(target=self._beat, daemon=True).start()
        for kind, pod in self._api.watch("/api/v1/pods", "fieldSelector=spec.nodeName!=", self._stop):
            try:
                self._see(kind, pod)
            except (OSError, ValueError, KeyError, ApiError) as error:
                print(f"{pod['metadata']['name']}: {error}", file=sys.stderr, flush=True)

    def stop(self):
        self._stop.set()
        for runner in list(self._runners.values()):
            runner.kill()

    def fail(self, name):
        """The host dies: no more heartbeats, its processes are killed."""
        self._dead.add(name)
        for runner in list(self._runners.values()):
            if runner.host.name == name:
                runner.kill()

    def log_of(self, namespace, name, container):
        for runner in self._runners.values():
            metadata = runner.pod["metadata"]
            if (metadata["namespace"], metadata["name"]) == (namespace, name):
                return runner.log_file(container)
        return None

    def _see(self, kind, pod):
        node, uid = pod["spec"].get("nodeName"), pod["metadata"]["uid"]
        if node not in self._hosts or node in self._dead:
            return
        runner = self._runners.get(uid)
        if kind == "DELETED":
            if runner:
                runner.forget()
                del self._runners[uid]
                runner.clean_up()
            if self._names.pop(uid, None):
                self._write_hosts_file()
            return
        if runner:
            runner.update(pod)
        elif pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
            self._name(pod)
            self._runners[uid] = PodRunner(self._api, self._hosts[node], pod, self._folder, self._hosts_file,
                                           lambda runner: None, self._environment, self._cgroups)
            if pod["metadata"].get("deletionTimestamp"):
                self._runners[uid].update(pod)

    # What a headless Service's DNS would answer.
    def _name(self, pod):
        host, spec = self._hosts[pod["spec"]["nodeName"]], pod["spec"]
        if spec.get("subdomain"):
            short = f"{spec.get('hostname', pod['metadata']['name'])}.{spec['subdomain']}.{pod['metadata']['namespace']}.svc"
            self._names[pod["metadata"]["uid"]] = (host.inner(0), f"{short} {short}.cluster.local")
            self._write_hosts_file()

    def _write_hosts_file(self):
        # In place: containers have this very file mounted.
        with open(self._hosts_file, "w", encoding="ascii") as file:
            file.write("127.0.0.1 localhost\n" + "".join(f"{a} {n}\n" for a, n in self._names.values()))

    def _beat(self):
        while not self._stop.wait(2):
            for host in list(self._hosts.values()):
                if host.name not in self._dead:
                    try:
                        self._heartbeat(host)
                    except (ApiError, OSError) as error:
                        print(f"{host.name}: heartbeat: {error}", file=sys.stderr, flush=True)

    def _heartbeat(self, host):
        status = host.status()
        status["conditions"][0] |= {"lastHeartbeatTime": now()}
        status["addresses"] = [{"type": "InternalIP", "address": "127.0.0.1"}]
        status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": self._logs}}
        status["nodeInfo"] = {key: "lab" for key in (
            "machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion",
            "kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture")}
        self._api.patch(f"/api/v1/nodes/{host.name}/status", {"status": status}, "merge")
        moment = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": host.name},
                 "spec": {"holderIdentity": host.name, "leaseDurationSeconds": 40, "renewTime": moment}}
        try:
            self._api.patch(f"{_LEASES}/{host.name}", {"spec": lease["spec"]})
        except ApiError as error:
            if error.code != 404:
                raise
            self._api.create_or_keep(_LEASES, lease)


def _serve_logs(node, folder):
    """A kubelet's /containerLogs; returns the port."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            url = urllib.parse.urlparse(self.path)
            parts = url.path.strip("/").split("/")
            path = node.log_of(*parts[1:4]) if len(parts) == 4 and parts[0] == "containerLogs" else None
            if path is None or not os.path.exists(path):
                self.send_error(404)
                return
            with open(path, "rb") as file:
                lines = file.read().splitlines(keepends=True)
            tail = urllib.parse.parse_qs(url.query).get("tailLines")
            body = b"".join(lines[-int(tail[0]):] if tail else lines)
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    key, certificate = os.path.join(folder, "node.key"), os.path.join(folder, "node.crt")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "2", "-subj", "/CN=lab-node", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def main():
    parser = argparse.ArgumentParser(prog="test/lab/node", description=__doc__)
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--folder", required=True, help="for logs and volumes of pods")
    parser.add_argument("--hosts", type=int, default=9, help="of a segment")
    options = parser.parse_args()
    node = TestNode(Api(options.kubeconfig), Shape(hosts=options.hosts).all_hosts(), options.folder)
    signal.signal(signal.SIGTERM, lambda *_: (node.stop(), os._exit(0)))
    node.register()
    node.run()


if __name__ == "__main__":
    main()
