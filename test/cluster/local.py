"""A control plane and our processes on this machine, for test drivers."""
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BIN = os.environ.get("YARDMASTER_BIN", os.path.join(ROOT, "build/release/bin"))


def sh(*command, input=None, env=None):
    """What the command prints; the driver ends when it fails."""
    done = subprocess.run(command, input=input, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:6])}: {done.stderr or done.stdout}")
    return done.stdout


def start_control_plane(name, folder, *options):
    """One whose scheduler calls the extender with the certificates in `folder`, which this makes. Points KUBECONFIG and
    PATH at it, and returns the kubeconfig. `options` go to test/controlplane/up."""
    sh(os.path.join(ROOT, "test/cluster/prepare"), folder)
    export = sh(os.path.join(ROOT, "test/controlplane/up"), name, "--scheduler-config", f"{folder}/scheduler.yaml", *options)
    values = sh("bash", "-c", f"{export}\nprintf '%s\\n%s' \"$KUBECONFIG\" \"$PATH\"").split("\n")
    os.environ["KUBECONFIG"], os.environ["PATH"] = values[0], BIN + ":" + values[1]
    return values[0]


def stop_control_plane(name):
    subprocess.run([os.path.join(ROOT, "test/controlplane/down"), name], capture_output=True)


def start(process, folder, arguments):
    """One of our processes, with the rights that test/cluster/install gave it; its log is in `folder`."""
    with open(f"{folder}/{process}.log", "w") as log:
        return subprocess.Popen([f"{BIN}/yardmaster-{process}", "--kubeconfig", f"{folder}/{process}.kubeconfig",
                                 "--health-bind-address", "127.0.0.1:0", *arguments],
                                stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def extender_arguments(folder):
    """Its port and its certificates."""
    with open(f"{folder}/extender-port") as file:
        port = file.read().strip()
    return ["--bind-address", f"127.0.0.1:{port}", "--tls-cert-file", f"{folder}/extender.crt",
            "--tls-key-file", f"{folder}/extender.key", "--client-ca-file", f"{folder}/ca.crt"]


def wait(what, holds, seconds, pause=0.25):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            sys.exit(f"{what} did not happen in {seconds} s")
        time.sleep(pause)
