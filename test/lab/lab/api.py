"""A small client of the Kubernetes API: requests and watches over TLS with a client certificate."""

import base64
import http.client
import json
import os
import ssl
import tempfile
import time
import urllib.parse

from lab import netns

_PATCH = {"merge": "application/merge-patch+json", "apply": "application/apply-patch+yaml",
          "json": "application/json-patch+json"}


class ApiError(RuntimeError):
    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code = code


class Api:
    """Thread safety: every call opens its own connection."""

    def __init__(self, kubeconfig):
        view = json.loads(netns.run(["kubectl", "--kubeconfig", kubeconfig, "config", "view", "--raw", "-o", "json"]))
        cluster, user = view["clusters"][0]["cluster"], view["users"][0]["user"]
        self._address = urllib.parse.urlparse(cluster["server"])
        self._tls = ssl.create_default_context(cafile=_file(cluster, "certificate-authority"))
        self._tls.load_cert_chain(_file(user, "client-certificate"), _file(user, "client-key"))

    def _send(self, method, path, body, content_type, timeout):
        connection = http.client.HTTPSConnection(self._address.hostname, self._address.port, context=self._tls,
                                                 timeout=timeout)
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = content_type
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        return connection, connection.getresponse()

    def call(self, method, path, body=None, content_type="application/json", timeout=10):
        """The decoded answer. Raises ApiError, or OSError when the server is not reached."""
        connection, response = self._send(method, path, body, content_type, timeout)
        try:
            text = response.read()
        finally:
            connection.close()
        if response.status >= 300:
            raise ApiError(response.status, text.decode(errors="replace")[:500])
        return json.loads(text) if text else {}

    def get(self, path):
        return self.call("GET", path)

    def post(self, path, body):
        return self.call("POST", path, body)

    def patch(self, path, body, kind="merge"):
        return self.call("PATCH", path, body, _PATCH[kind])

    def delete(self, path, body=None):
        return self.call("DELETE", path, body)

    def create_or_keep(self, path, body):
        try:
            return self.post(path, body)
        except ApiError as error:
            if error.code != 409:
                raise
            return self.get(f"{path}/{body['metadata']['name']}")

    def watch(self, path, query, stop):
        """Yields ("ADDED" | "MODIFIED" | "DELETED", object), from a list on, for as long as `stop` is not set.
        After a lost connection everything is listed again; what went meanwhile is yielded as DELETED."""
        known = {}
        while not stop.is_set():
            try:
                listing = self.get(f"{path}?{query}")
                present = {item["metadata"]["uid"]: item for item in listing["items"]}
                for uid in set(known) - set(present):
                    yield "DELETED", known.pop(uid)
                for uid, item in present.items():
                    known[uid] = item
                    yield "ADDED", item
                for kind, item in self._events(path, query, listing["metadata"]["resourceVersion"], stop):
                    known[item["metadata"]["uid"]] = item
                    if kind == "DELETED":
                        del known[item["metadata"]["uid"]]
                    yield kind, item
            except (OSError, http.client.HTTPException, ApiError):
                time.sleep(0.5)

    def _events(self, path, query, version, stop):
        connection, response = self._send("GET", f"{path}?{query}&watch=1&resourceVersion={version}"
                                          f"&timeoutSeconds=300", None, "", 310)
        try:
            for line in response:
                event = json.loads(line)
                if event["type"] == "ERROR" or stop.is_set():
                    return
                yield event["type"], event["object"]
        finally:
            connection.close()


def _file(entry, name):
    """A kubeconfig's file or its inline data, as a path."""
    if name in entry:
        return entry[name]
    handle, path = tempfile.mkstemp(prefix="lab-key-")
    os.write(handle, base64.b64decode(entry[name + "-data"]))
    os.close(handle)
    return path
