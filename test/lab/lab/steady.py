"""Whether the machine had time for the lab: how late a thread with nothing to do comes to run.

Packets are forwarded by kernel threads of niceness 0. Where such a thread waits long for a processor, links are slower
than they say, and nothing that is measured means anything.
"""

import os
import threading
import time

_SLEEP_SECONDS = 0.005
# Of a machine with two processors that compiles beside the lab: 0.09 to 0.14.
_LIMIT = 0.3


class Unsteady(RuntimeError):
    """The machine was too busy for a measurement, time and again."""


class Probe(threading.Thread):
    """start() once; it ends with the process."""

    def __init__(self):
        super().__init__(daemon=True)
        self._samples = []  # (moment, seconds late)

    def run(self):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 0)
        before = time.monotonic()
        while True:
            time.sleep(_SLEEP_SECONDS)
            now = time.monotonic()
            self._samples.append((now, now - before - _SLEEP_SECONDS))
            before = now

    def steady_since(self, moment):
        """Whether the machine had time since time.monotonic() was `moment`."""
        late = sum(seconds for at, seconds in list(self._samples) if at >= moment)
        return late < _LIMIT * (time.monotonic() - moment)
