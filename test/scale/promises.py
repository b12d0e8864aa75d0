"""What was promised, when, and when it was kept. Times are given, in seconds of one clock. Thread safety: every method locks."""
import threading


def quantile(ascending, share):
    return ascending[min(len(ascending) - 1, int(share * len(ascending)))]


class Promises:
    def __init__(self):
        self.lock, self.open, self.seconds = threading.RLock(), {}, {}

    def begin(self, promise, key, at):
        """From `at` on it is owed. One that is owed already goes on."""
        with self.lock:
            self.open.setdefault((promise, key), at)

    def keep(self, promise, key, at):
        """Ignores a key for which no promise is open."""
        with self.lock:
            began = self.open.pop((promise, key), None)
            if began is not None:
                self.seconds.setdefault(promise, []).append((max(0.0, at - began), key))

    def drop(self, belongs):
        """Nobody waits any longer for what `belongs`, a function of the key, says: neither kept nor broken."""
        with self.lock:
            for name in [name for name in self.open if belongs(name[1])]:
                del self.open[name]

    def owed(self, promise):
        """Keys of those that are owed."""
        with self.lock:
            return [key for name, key in self.open if name == promise]

    def forget(self):
        with self.lock:
            self.open, self.seconds = {}, {}

    def summary(self, at):
        """By promise: how many were kept, in which time, and which were the latest; how many are owed, and for how long the oldest is."""
        with self.lock:
            out = {}
            for promise in sorted({*self.seconds, *(name for name, _ in self.open)}):
                kept = sorted(self.seconds.get(promise, []))
                times = [seconds for seconds, _ in kept]
                waits = [at - began for (name, _), began in self.open.items() if name == promise]
                out[promise] = {"kept": len(times), "owed": len(waits), "oldestOwedSeconds": round(max(waits, default=0), 2)}
                if times:
                    out[promise] |= {name: round(value, 2) for name, value in (
                        ("p50Seconds", quantile(times, 0.5)), ("p99Seconds", quantile(times, 0.99)), ("maxSeconds", times[-1]))}
                    out[promise]["latest"] = ["%.2f s: %s" % (seconds, "/".join(map(str, key[:2]))) for seconds, key in reversed(kept[-3:])]
            return out
