"""The installed chart's processes on this machine, for test drivers: with the arguments, certificates and ServiceAccounts that the chart
gives them. KUBECONFIG points at the cluster; programs and logs are in the folders named."""
import base64
import json
import os
import pathlib
import re
import subprocess

import yaml  # Debian's python3-yaml

from local import ROOT, sh, wait

NAMESPACE = "yardmaster-system"


def up(name):
    """Starts a control plane and points KUBECONFIG at it; test/controlplane/down stops it."""
    export = sh(os.path.join(ROOT, "test/controlplane/up"), name).strip().splitlines()[-1]
    os.environ["KUBECONFIG"] = re.search(r"KUBECONFIG='?([^' ]*)", export)[1]


def values(folder, webhook_port, page_port, operator_args=()):
    """What this machine needs otherwise stands behind what the chart writes, and wins. The extender's certificate is in folder/extender."""
    elsewhere = ["--metrics-bind-address=127.0.0.1:0", "--health-bind-address=127.0.0.1:0"]
    files = ["--%s=%s" % (flag, folder / "extender" / file)
             for flag, file in (("tls-cert-file", "tls.crt"), ("tls-key-file", "tls.key"), ("client-ca-file", "ca.crt"))]
    path = folder / "values.yaml"
    path.write_text(yaml.safe_dump({
        "operator": {"extraArgs": [*elsewhere, "--page-bind-address=127.0.0.1:%s" % page_port, "--reports-bind-address=127.0.0.1:0", *operator_args]},
        "extender": {"extraArgs": [*elsewhere, "--bind-address=127.0.0.1:%s" % webhook_port, *files]}}))
    return str(path)


def get(kind, name):
    return json.loads(sh("kubectl", "get", kind, name, "-n", NAMESPACE, "-o", "json"))


def kubeconfig_of(account, folder):
    config = yaml.safe_load(pathlib.Path(os.environ["KUBECONFIG"]).read_text())
    config["users"][0]["user"] = {"token": sh("kubectl", "create", "token", account, "-n", NAMESPACE, "--duration", "1h").strip()}
    path = folder / (account + ".kubeconfig")
    path.write_text(yaml.safe_dump(config))
    return path


def start(programs, process, folder):
    """With the arguments that its Deployment has, and nothing else."""
    template = get("deployment", "yardmaster-" + process)["spec"]["template"]["spec"]
    config = kubeconfig_of(template["serviceAccountName"], folder)
    log = open(folder / (process + ".log"), "w")
    return subprocess.Popen([programs / ("yardmaster-" + process), "--kubeconfig", config, *template["containers"][0]["args"]],
                            stdout=log, stderr=log)


def write_secret(name, folder):
    """The Secret's files, as the kubelet mounts them, as soon as it is there."""
    wait("the Secret " + name, lambda: subprocess.run(["kubectl", "get", "secret", name, "-n", NAMESPACE], capture_output=True).returncode == 0, 30)
    folder.mkdir()
    for key, value in get("secret", name)["data"].items():
        (folder / key).write_bytes(base64.b64decode(value))
