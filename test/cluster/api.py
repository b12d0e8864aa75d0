"""The API server as the cluster's administrator sees it, for test drivers. Connections stay open, one per thread."""
import base64
import http.client
import json
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse


class ApiError(RuntimeError):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Api:
    def __init__(self, kubeconfig):
        view = subprocess.run(["kubectl", "--kubeconfig", kubeconfig, "config", "view", "--raw", "-o", "json"],
                              check=True, capture_output=True, text=True).stdout
        config = json.loads(view)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.server = urllib.parse.urlparse(cluster["server"])
        self.context = ssl.create_default_context(cafile=self._file(cluster, "certificate-authority"))
        self.context.load_cert_chain(self._file(user, "client-certificate"), self._file(user, "client-key"))
        self.local = threading.local()

    @staticmethod
    def _file(holder, key):
        if key in holder:
            return holder[key]
        with tempfile.NamedTemporaryFile(delete=False) as out:
            out.write(base64.b64decode(holder[key + "-data"]))
        return out.name

    def text(self, path):
        """What a page of text says, such as /metrics."""
        connection = http.client.HTTPSConnection(self.server.hostname, self.server.port, context=self.context, timeout=30)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        if answer.status != 200:
            raise ApiError(answer.status, body[:200])
        return body

    def call(self, method, path, body=None, content_type="application/json"):
        """The answer as a value. A call that the server has no room for yet (429) is made again, for ten seconds."""
        for attempt in range(20):
            try:
                return self._call_once(method, path, body, content_type)
            except ApiError as error:
                if error.code != 429 or attempt == 19:
                    raise
                time.sleep(0.5)

    def _call_once(self, method, path, body, content_type):
        """A call that meets a connection the server has closed is made once more."""
        for attempt in (1, 2):
            if not hasattr(self.local, "connection"):
                self.local.connection = http.client.HTTPSConnection(self.server.hostname, self.server.port,
                                                                    context=self.context, timeout=30)
            connection = self.local.connection
            try:
                connection.request(method, path, None if body is None else json.dumps(body),
                                   {"Content-Type": content_type})
                answer = connection.getresponse()
                data = json.loads(answer.read())
            except (OSError, http.client.HTTPException):
                connection.close()
                del self.local.connection
                if attempt == 2:
                    raise
                continue
            if answer.status >= 400:
                raise ApiError(answer.status, f"{method} {path}: {answer.status} {data.get('message')}")
            return data

    def items(self, path):
        return self.call("GET", path)["items"]

    def merge(self, path, patch):
        return self.call("PATCH", path, patch, "application/merge-patch+json")

    def delete(self, path, policy="Background"):
        """Also fine if it is gone already."""
        try:
            self.call("DELETE", path, {"propagationPolicy": policy})
        except ApiError as error:
            if error.code != 404:
                raise
