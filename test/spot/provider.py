"""A provider of hosts: makes Nodes for NodeClaims and ProvisioningRequests, takes them back, and writes the bill.

Stands for Karpenter, Cluster Autoscaler and the cloud behind them. A host takes a few seconds to boot. It is paid for
from the time that its object reports (NodeClaim: `Launched`; ProvisioningRequest: `Provisioned`) until that object is gone.
"""
import dataclasses
import datetime
import threading
import time

from api import ApiError

CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
REQUESTS = "/apis/autoscaling.x-k8s.io/v1"
POOLS = "/apis/yardmaster.dev/v1alpha1/capacitypools"
FINALIZER = "karpenter.sh/termination"
ALLOCATABLE = {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "1"}
BOOT_SECONDS = 2
POLL_SECONDS = 0.1
HOUR = 3600


@dataclasses.dataclass
class Pool:
    name: str
    type: str  # of its one offer
    price: float  # USD an hour, at first
    segment: str
    by_request: bool = False  # scaled by ProvisioningRequests, otherwise by NodeClaims, which label Nodes with the type

    def __post_init__(self):
        self.prices = [(0.0, self.price)]  # since when

    def price_at(self, moment):
        return next(price for since, price in reversed(self.prices) if since <= moment)

    def cost(self, began, ended):
        """Price times time, USD."""
        edges = [began, *(since for since, _ in self.prices if began < since < ended), ended]
        return sum(self.price_at(a) * (b - a) / HOUR for a, b in zip(edges, edges[1:]))

    def manifest(self):
        node_class = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
        scaling = ({"provisioningClassName": "best-effort-atomic-scale-up.autoscaling.x-k8s.io"} if self.by_request
                   else {"nodeClassRef": node_class})
        return {"apiVersion": "yardmaster.dev/v1alpha1", "kind": "CapacityPool", "metadata": {"name": self.name},
                "spec": {"instanceType": "hpc.1x", "allocatable": ALLOCATABLE, "fabricPod": "p0", "segment": self.segment,
                         "nodeLabels": {"pool": self.name}, "scaling": scaling | {"timeoutSeconds": 60},
                         "offers": [{"type": self.type, "pricePerHour": f"{self.price:.2f} USD", "maxHosts": 4,
                                     "noticeSeconds": 120} | ({"nodeLabels": {"cloud.google.com/gke-spot": "true"}}
                                                              if self.by_request else {})]}}


@dataclasses.dataclass
class Rental:
    """One host, from when it is paid for until it is not."""
    job: str
    pool: Pool
    node: str
    began: float
    ended: float = 0.0
    taken_by_force: bool = False

    def cost(self):
        return self.pool.cost(self.began, self.ended or time.time())


class Host:
    """What the test node has to know of a host."""
    namespace = None

    def __init__(self, name, labels, taints):
        self.name, self._labels, self._taints = name, labels, taints

    def inner(self, _):
        return "127.0.0.1"

    def manifest(self):
        return {"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": self.name, "labels": self._labels | {"kubernetes.io/hostname": self.name}},
                "spec": {"taints": self._taints}}

    def status(self):
        amount = ALLOCATABLE | {"pods": "110"}
        return {"capacity": amount, "allocatable": amount,
                "conditions": [{"type": "Ready", "status": "True", "reason": "TestNode", "message": "the test node answers"}]}


def stamp(moment):
    return datetime.datetime.fromtimestamp(moment, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def condition(kind, moment):
    return {"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": stamp(moment)}


class Provider:
    """Thread safety: `lock` guards the rentals."""

    def __init__(self, api, node, pools, namespace, say):
        self.api, self.node, self.namespace, self.say = api, node, namespace, say
        self.pools = {pool.name: pool for pool in pools}
        self.lock = threading.Lock()
        self.rentals = {}  # (kind, name) of the object -> rentals
        self.bill = []  # all rentals there ever were
        self.error = None
        self._hosts = 0
        self._stop = threading.Event()

    def start(self):
        for pool in self.pools.values():
            self.api.call("POST", POOLS, pool.manifest())
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self):
        self._stop.set()
        self._thread.join()

    # --- what markets and clouds do

    def set_price(self, name, price):
        pool = self.pools[name]
        offer = pool.manifest()["spec"]["offers"][0] | {"pricePerHour": f"{price:.2f} USD"}
        with self.lock:
            self.api.merge(f"{POOLS}/{name}", {"spec": {"offers": [offer]}})
            pool.prices.append((time.time(), price))
        self.say(f"a host of {name} costs {price:.2f} USD/h now")

    def take_back(self, job, taint, seconds):
        """Gives notice for the host that the job runs on; it is gone after `seconds`, given back or not."""
        node = self._node_of(job)
        taints = self.api.call("GET", f"/api/v1/nodes/{node}")["spec"].get("taints", [])
        self.api.merge(f"/api/v1/nodes/{node}", {"spec": {"taints": [*taints, {"key": taint, "effect": "NoSchedule"}]}})
        self.say(f"notice: {node}, where {job} runs, is taken back in {seconds} s ({taint})")
        timer = threading.Timer(seconds, self._take, [node])
        timer.daemon = True
        timer.start()

    def _take(self, node):
        with self.lock:
            rental = next((r for r in self.bill if r.node == node and not r.ended), None)
            if rental is None or self._stop.is_set():
                return
            rental.taken_by_force = True
            self.say(f"{node} is gone, and was not given back in time")
            self.node.remove(node)
            rental.ended = time.time()

    def _pods(self):
        """(job, node) of the pods that have not ended."""
        return [(pod["metadata"]["labels"]["yardmaster.dev/job"], pod["spec"].get("nodeName"))
                for pod in self.api.items(f"/api/v1/namespaces/{self.namespace}/pods")
                if pod["status"].get("phase") not in ("Succeeded", "Failed")]

    def _node_of(self, job):
        return next(node for owner, node in self._pods() if owner == job)

    # --- what there is

    def rentals_of(self, job):
        with self.lock:
            return [r for r in self.bill if r.job == job]

    def pool_of(self, job):
        """Where the job has a host now; empty: nowhere."""
        return next((r.pool.name for r in self.rentals_of(job) if not r.ended), "")

    # --- the controllers

    def _run(self):
        while not self._stop.wait(POLL_SECONDS):
            try:
                self._step()
            except ApiError as error:
                if error.code not in (404, 409):
                    self.error = self.error or str(error)
            except Exception as error:  # pylint: disable=broad-except
                self.error = self.error or repr(error)

    def _step(self):
        # Claims are read first and looked at last: what made way for them has ended by then.
        claims, requests = self.api.items(CLAIMS), self.api.items(f"{REQUESTS}/provisioningrequests")
        named = lambda kind, objects: {(kind, o["metadata"]["name"]): o for o in objects}  # noqa: E731
        claims, requests = named("NodeClaim", claims), named("ProvisioningRequest", requests)
        for key in [k for k in self.rentals if k not in claims and k not in requests]:
            self._end(key)
        for key, request in requests.items():
            if key not in self.rentals:
                self._grant(request, key)
        for key, claim in claims.items():
            if claim["metadata"].get("deletionTimestamp"):
                self._terminate(claim, key)
            else:
                self._follow_claim(claim, key)

    def _rent(self, key, job, pool, count=1):
        with self.lock:
            rentals = []
            for _ in range(count):
                self._hosts += 1
                rentals.append(Rental(job, self.pools[pool], f"{pool}-{self._hosts}", time.time()))
            self.rentals[key] = rentals
            self.bill += rentals
        return rentals

    def _follow_claim(self, claim, key):
        path, metadata, spec = f"{CLAIMS}/{key[1]}", claim["metadata"], claim["spec"]
        if key not in self.rentals:
            self.api.merge(path, {"metadata": {"finalizers": [FINALIZER]}})
            job = metadata["annotations"]["yardmaster.dev/rental-job"].split("/")[1]
            rental = self._rent(key, job, metadata["labels"]["pool"])[0]
            self.api.merge(path + "/status", {"status": {"conditions": [condition("Launched", rental.began)]}})
            return
        rental = self.rentals[key][0]
        known = {c["type"] for c in claim.get("status", {}).get("conditions", [])}
        if "Initialized" in known or time.time() < rental.began + BOOT_SECONDS or rental.ended:
            return
        labels = metadata["labels"] | {r["key"]: r["values"][0] for r in spec["requirements"]}
        self.node.add(Host(rental.node, labels, spec.get("taints", [])))
        conditions = [condition("Launched", rental.began)]
        conditions += [condition(kind, time.time()) for kind in ("Registered", "Initialized", "Ready")]
        self.api.merge(path + "/status", {"status": {"conditions": conditions, "nodeName": rental.node}})

    def _terminate(self, claim, key):
        """As Karpenter: the instance first, then the object."""
        if key in self.rentals:
            self._end(key)
        if claim["metadata"].get("finalizers"):
            self.api.merge(f"{CLAIMS}/{key[1]}", {"metadata": {"finalizers": None}})

    def _grant(self, request, key):
        namespace = request["metadata"]["namespace"]
        sets = []
        for pods in request["spec"]["podSets"]:
            template = self.api.call("GET", f"/api/v1/namespaces/{namespace}/podtemplates/{pods['podTemplateRef']['name']}")
            sets.append((template["template"]["spec"]["nodeSelector"], pods["count"]))
        job = request["metadata"]["labels"]["yardmaster.dev/job"]
        time.sleep(BOOT_SECONDS)
        for labels, count in sets:
            for rental in self._rent(key, job, labels["pool"], count):
                self.node.add(Host(rental.node, labels, [{"key": "yardmaster.dev/rented", "value": "pool", "effect": "NoSchedule"}]))
        conditions = [condition(kind, time.time()) for kind in ("Accepted", "Provisioned")]
        self.api.merge(f"{REQUESTS}/namespaces/{namespace}/provisioningrequests/{key[1]}/status", {"status": {"conditions": conditions}})
        with self.lock:
            for rental in self.rentals[key]:
                rental.began = time.time()

    def _end(self, key):
        busy = {node for _, node in self._pods()} if key[0] == "ProvisioningRequest" else set()
        with self.lock:
            for rental in self.rentals.pop(key):
                if rental.ended:
                    continue
                if rental.node in busy:
                    self._swap(rental, busy)
                self.node.remove(rental.node)
                rental.ended = time.time()

    def _swap(self, rental, busy):
        """Hosts of a node group are the same to all requests: Cluster Autoscaler gives back one that nothing runs on."""
        for other in self.bill:
            if other.pool is rental.pool and not other.ended and other.node not in busy:
                other.node, rental.node = rental.node, other.node
                return
