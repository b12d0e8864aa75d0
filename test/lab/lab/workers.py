"""Workers of training jobs without a cluster: forked from one process that has imported torch already."""

import json
import os
import signal
import sys
import time
import traceback

from lab import netns, train

# Every rank has both connections of its NIC; Gloo alternates between them.
INTERFACES = "n0,n1"


class JobRun:
    """One job's processes. Thread safety: none. End it by stop()."""

    def __init__(self, name, hosts, arguments, folder, port):
        """`hosts`: of the ranks in order."""
        self.record = os.path.join(folder, f"{name}.jsonl")
        if os.path.exists(self.record):
            os.remove(self.record)
        self._log = os.path.join(folder, f"{name}.log")
        environment = {"MASTER_ADDR": hosts[0].inner(0), "MASTER_PORT": str(port), "WORLD_SIZE": str(len(hosts)),
                       "GLOO_SOCKET_IFNAME": INTERFACES}
        self.pids = [self._fork(host, environment | {"RANK": str(rank)}, arguments + ["--record", self.record])
                     for rank, host in enumerate(hosts)]

    def _fork(self, host, environment, arguments):
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            return pid
        try:
            netns.enter(host.name)
            log = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            os.dup2(log, 1)
            os.dup2(log, 2)
            os.environ.update(environment)
            train.main(arguments)
        except BaseException:  # pylint: disable=broad-except
            traceback.print_exc()
        finally:
            os._exit(1)

    def lines(self):
        """The iterations so far."""
        try:
            with open(self.record, encoding="ascii") as file:
                return [json.loads(line) for line in file if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def alive(self):
        for pid in self.pids:
            done, _ = os.waitpid(pid, os.WNOHANG)
            if done:
                self.pids.remove(pid)
                return False
        return True

    def wait_for(self, iterations, timeout):
        """Until so many iterations are done. Raises when a worker ends, or after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while len(self.lines()) < iterations:
            if not self.alive() or time.monotonic() > deadline:
                with open(self._log, encoding="utf-8", errors="replace") as file:
                    tail = file.read()[-2000:]
                raise RuntimeError(f"{self.record}: {len(self.lines())} of {iterations} iterations; the workers' log "
                                   f"ends with:\n{tail}")
            time.sleep(0.05)

    def stop(self):
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
        for pid in self.pids:
            os.waitpid(pid, 0)
        self.pids = []
