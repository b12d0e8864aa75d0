"""What a phase of a measurement costs, and where: calls, watch events and bytes by resource, CPU seconds of each program, CPU
profiles of the API server, and when the pods of a namespace reach their stages."""
import http.client
import json
import os
import threading
import time


def samples(text, name):
    """Labels and value of each sample of a metric."""
    for line in text.splitlines():
        if not line.startswith(name + "{"):
            continue
        labels, value = line[len(name) + 1:].rsplit("} ", 1)
        fields = dict(field.split("=", 1) for field in labels.split('",') if "=" in field)
        yield {key: value.strip('"') for key, value in fields.items()}, float(value)


def metrics(port):
    """What a process of ours says at /metrics."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/metrics")
    return connection.getresponse().read().decode()


def client_calls(port):
    """Calls to the API server by verb, as a process of ours counts them."""
    out = {}
    for line in metrics(port).splitlines():
        if not line.startswith("rest_client_requests_total{"):
            continue
        labels, value = line[len("rest_client_requests_total{"):].rsplit("} ", 1)
        out[labels] = out.get(labels, 0) + float(value)
    return out


def served(api):
    """What the API server has answered, watches aside, by verb, resource and subresource; and what it has sent to watches:
    events and kilobytes by resource."""
    text = api.text("/metrics")
    out = {}
    for fields, value in samples(text, "apiserver_request_total"):
        if fields["verb"] == "WATCH":
            continue
        name = fields["verb"] + " " + fields["resource"] + ("/" + fields["subresource"] if fields["subresource"] else "")
        out[name] = out.get(name, 0) + value
    for metric, unit, divisor in (("apiserver_watch_events_total", "events", 1), ("apiserver_watch_events_sizes_sum", "KB", 1000)):
        for fields, value in samples(text, metric):
            name = "watch " + (fields.get("resource") or fields.get("kind")) + " " + unit
            out[name] = out.get(name, 0) + value / divisor
    return out


def cpu_seconds(marks):
    """CPU time that the processes of this run have used, by program."""
    out = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as f:
                words = f.read().split("\0")
            with open(f"/proc/{pid}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if any(mark in word for word in words for mark in marks):
            program = os.path.basename(words[0])
            out[program] = out.get(program, 0) + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    own = os.times()
    out["driver"] = own.user + own.system
    return out


def difference(before, after, least=0.1, divisor=1):
    return {k: round((v - before.get(k, 0)) / divisor, 2) for k, v in sorted(after.items())
            if (v - before.get(k, 0)) / divisor >= least}


class Profiles:
    """CPU profiles of the API server, one after the other while a phase lasts: FOLDER/NAME-00.pb.gz and so on, which
    `go tool pprof -top FOLDER/NAME-*` adds up."""

    def __init__(self, api, folder, name):
        self.api, self.prefix, self.ended = api, os.path.join(folder, name), threading.Event()
        self.thread = threading.Thread(target=self._take, daemon=True)

    def _take(self):
        number = 0
        while not self.ended.is_set():
            connection = http.client.HTTPSConnection(self.api.server.hostname, self.api.server.port, context=self.api.context,
                                                     timeout=60)
            connection.request("GET", "/debug/pprof/profile?seconds=2")
            data = connection.getresponse().read()
            connection.close()
            with open(f"{self.prefix}-{number:02}.pb.gz", "wb") as file:
                file.write(data)
            number += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


def stages_of(pod):
    """The stages that a pod has reached."""
    annotations, spec = pod["metadata"].get("annotations", {}), pod["spec"]
    out = ["created"]
    if "yardmaster.dev/slot" in annotations:
        out.append("slot")
    if "yardmaster.dev/network-priority" in annotations:
        out.append("level")
    if not spec.get("schedulingGates"):
        out.append("open")
    if spec.get("nodeName"):
        out.append("bound")
    if pod.get("status", {}).get("phase") == "Running":
        out.append("running")
    return out


class Watch:
    """Follows objects by a watch, which costs the API server less than lists: it encodes an object once for all watches of a
    form. Knows when each stage was reached, in seconds since this was made. `stages`: those that an object has reached."""

    def __init__(self, api, path, stages):
        self.api, self.path, self.stages_reached = api, f"{path}?watch=1&resourceVersion=0", stages
        self.began, self.reached, self.lock = time.monotonic(), {}, threading.Lock()
        self.ended = threading.Event()
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self):
        # The server ends a watch that it finds too slow; a new one begins with what the server's cache has.
        while not self.ended.is_set():
            connection = http.client.HTTPSConnection(self.api.server.hostname, self.api.server.port, context=self.api.context,
                                                     timeout=20)
            try:
                connection.request("GET", self.path)
                for line in connection.getresponse():
                    if self.ended.is_set():
                        break
                    self._note(json.loads(line), time.monotonic() - self.began)
            except (OSError, ValueError, http.client.HTTPException):
                pass
            connection.close()
            time.sleep(0.5)

    def _note(self, event, at):
        if event["type"] not in ("ADDED", "MODIFIED"):
            return
        uid = event["object"]["metadata"]["uid"]
        with self.lock:
            for stage in self.stages_reached(event["object"]):
                self.reached.setdefault(stage, {}).setdefault(uid, at)

    def count(self, stage):
        with self.lock:
            return len(self.reached.get(stage, ()))

    def nth(self, stage, number):
        """The monotonic time at which that many objects had reached the stage; None: they have not yet."""
        with self.lock:
            times = sorted(self.reached.get(stage, {}).values())
        return self.began + times[number - 1] if len(times) >= number else None

    def end(self):
        """The watch ends with the next event, so that it costs the phases after it nothing."""
        self.ended.set()

    def stages(self, uid, began):
        """Seconds from `began`, a monotonic time, until the pod reached each stage."""
        with self.lock:
            return {stage: round(self.began + times[uid] - began, 2) for stage, times in self.reached.items() if uid in times}

    def summary(self):
        """By stage: when the first, the middle and the last pod reached it."""
        with self.lock:
            lists = {stage: sorted(times.values()) for stage, times in self.reached.items()}
        return {stage: {"first": round(times[0], 1), "half": round(times[len(times) // 2], 1), "last": round(times[-1], 1),
                        "pods": len(times)} for stage, times in lists.items()}


class PodWatch(Watch):
    """Follows the pods of a namespace."""

    def __init__(self, api, namespace):
        super().__init__(api, f"/api/v1/namespaces/{namespace}/pods", stages_of)
