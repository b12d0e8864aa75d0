"""What a test node does with real processes: python3 -m unittest lab.test_processes. Needs the right to mount."""

import os
import subprocess
import tempfile
import threading
import time
import unittest

from lab.pods import PodRunner

_PROGRAM = """
trap 'echo asked to end; exit 0' TERM
echo ready
while sleep 0.05; do
  [ ! -e wanted ] || { echo saved > checkpoint; touch "$YARDMASTER_CHECKPOINT_MARK"; echo wrote a checkpoint; rm wanted; }
done
"""
_MARKS = "yardmaster-checkpoint-mark"


class _Api:
    """Takes what the test node tells the API server."""

    def __init__(self):
        self.deleted = threading.Event()

    def patch(self, *_):
        pass

    def delete(self, *_):
        self.deleted.set()


class _Host:
    name, namespace = "host", None

    def inner(self, _):
        return "127.0.0.1"


class Hooks(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.mkdtemp(prefix="yardmaster-lab-")
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "lab", self._folder], capture_output=True).returncode != 0:
            os.rmdir(self._folder)
            print("skipped: no right to mount", flush=True)
            self.skipTest("no right to mount")

    def tearDown(self):
        subprocess.run(["umount", "-l", self._folder], check=True)
        os.rmdir(self._folder)

    def _await(self, holds):
        end = time.monotonic() + 30
        while not holds() and time.monotonic() < end:
            time.sleep(0.05)
        self.assertTrue(holds())

    def test_a_command_asks_for_a_checkpoint_before_sigterm_and_the_mark_lies_where_the_agent_reads_it(self):
        ask = "touch wanted; while [ -e wanted ]; do sleep 0.05; done; echo the command returns"
        pod = {"metadata": {"uid": "u1", "name": "a-0", "namespace": "team"}, "spec": {
            "containers": [{
                "name": "c", "workingDir": "/data", "command": ["sh", "-c", _PROGRAM],
                "env": [{"name": "YARDMASTER_CHECKPOINT_MARK", "value": "/run/yardmaster/checkpoint/mark"}],
                "lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", ask]}}},
                "volumeMounts": [{"name": "data", "mountPath": "/data"},
                                 {"name": _MARKS, "mountPath": "/run/yardmaster/checkpoint"}]}],
            "volumes": [{"name": "data", "emptyDir": {}}, {"name": _MARKS, "emptyDir": {}}]}}
        hosts = os.path.join(self._folder, "hosts")
        with open(hosts, "w", encoding="ascii"):
            pass
        api = _Api()
        runner = PodRunner(api, _Host(), pod, self._folder, hosts, lambda _: None)

        def said():
            path = runner.log_file("c")
            if not os.path.exists(path):
                return []
            with open(path, encoding="utf-8") as file:
                return file.read().split("\n")[:-1]
        self._await(lambda: "ready" in said())
        metadata = pod["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}
        runner.update(pod | {"metadata": metadata})
        self._await(api.deleted.is_set)
        self.assertEqual(said(), ["ready", "wrote a checkpoint", "the command returns", "asked to end"])
        self.assertTrue(os.path.exists(f"{self._folder}/u1/volumes/kubernetes.io~empty-dir/{_MARKS}/mark"))


if __name__ == "__main__":
    unittest.main()
