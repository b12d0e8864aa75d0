"""Jobs of five kinds on a real API server. TrainingJobs and Jobs have their own controllers there; of the others
this plays the controller: the JobSet's child Jobs, the PyTorchJob's pods, the MPIJob's launcher and workers, as the
real ones write them (test/data/kinds)."""
import random

NAMESPACE = "chaos"
KINDS = {"TrainingJob": "/apis/yardmaster.dev/v1alpha1", "Job": "/apis/batch/v1", "JobSet": "/apis/jobset.x-k8s.io/v1alpha2",
         "PyTorchJob": "/apis/kubeflow.org/v1", "MPIJob": "/apis/kubeflow.org/v2beta1"}
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"


def collection(kind):
    return f"{KINDS[kind]}/namespaces/{NAMESPACE}/{kind.lower()}s"


def definition(kind):
    """A CRD of one of the kinds whose controller is played here."""
    group, version = KINDS[kind].removeprefix("/apis/").split("/")
    plural = kind.lower() + "s"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
                     "versions": [{"name": version, "served": True, "storage": True, "schema": schema}]}}


class Job:
    def __init__(self, name, kind, workers, priority, movable=True, in_segment=False):
        self.name, self.kind, self.workers, self.priority = name, kind, workers, priority
        self.movable, self.in_segment = movable, in_segment  # of TrainingJobs
        self.uid = ""
        self.suspended = False
        self.lives = 0

    @property
    def path(self):
        return f"{collection(self.kind)}/{self.name}"

    def reference(self):
        return [{"apiVersion": KINDS[self.kind].removeprefix("/apis/"), "kind": self.kind, "name": self.name, "uid": self.uid,
                 "controller": True, "blockOwnerDeletion": True}]

    def pod_spec(self):
        return {"restartPolicy": "Never", "schedulingGates": [{"name": "yardmaster.dev/placement"}],
                "priorityClassName": f"chaos-{self.priority}",
                "containers": [{"name": "t", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]}

    def annotations(self):
        return {"yardmaster.dev/parallelism": f"tp=8,dp={self.workers}"}

    def batch_job(self, name, pods, labels):
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": NAMESPACE},
                "spec": {"completions": pods, "parallelism": pods, "completionMode": "Indexed", "backoffLimit": 1000,
                         "template": {"metadata": {"annotations": self.annotations(), "labels": labels}, "spec": self.pod_spec()}}}

    # --- what people do

    def create(self, api):
        if self.kind == "TrainingJob":
            body = {"spec": {"workers": self.workers, "gpusPerWorker": 8, "parallelism": {"tensor": 8},
                             "recovery": {"hostGraceSeconds": 1, "maxRestarts": 1000},
                             "priorityClassName": f"chaos-{self.priority}", "movable": "AtCheckpoint" if self.movable else "Never",
                             "template": {"spec": {"containers": [{"name": "t", "image": "i"}]}}}}
            if self.in_segment:
                body["spec"]["placement"] = {"data": {"within": "Segment", "mode": "Required"}}
        elif self.kind == "Job":
            body = self.batch_job(self.name, self.workers, {})
        else:
            body = {"spec": {}}
        body |= {"apiVersion": KINDS[self.kind].removeprefix("/apis/"), "kind": self.kind,
                 "metadata": {"name": self.name, "namespace": NAMESPACE}}
        self.uid = api.call("POST", collection(self.kind), body)["metadata"]["uid"]

    def may_suspend(self):
        return self.kind != "TrainingJob"

    def suspend(self, api, suspended, workers=None):
        """`workers`: its size when it is resumed. Kinds whose pods are made here can change it."""
        self.suspended = suspended
        where = {"runPolicy": {"suspend": suspended}} if self.kind in ("PyTorchJob", "MPIJob") else {"suspend": suspended}
        api.merge(self.path, {"spec": where})
        if workers and self.kind in ("PyTorchJob", "MPIJob", "JobSet"):
            self.workers = workers

    # --- what its controller does; as often as one likes

    def reconcile(self, api, pods, jobs):
        """`pods`, `jobs`: of the namespace, by name."""
        if self.kind == "JobSet":
            self.reconcile_children(api, jobs)
        elif self.kind in ("PyTorchJob", "MPIJob"):
            self.reconcile_pods(api, pods, jobs)

    def owned(self, objects):
        return [o for o in objects if any(r["uid"] == self.uid for r in o["metadata"].get("ownerReferences", []))]

    def reconcile_children(self, api, jobs):
        children = self.owned(jobs)
        if self.suspended:
            for child in children:
                if not child["metadata"].get("deletionTimestamp"):
                    api.delete(f"{JOBS}/{child['metadata']['name']}")
            return
        if any(child["metadata"].get("deletionTimestamp") for child in children):
            return
        present = {child["metadata"]["name"] for child in children}
        for index, pods in enumerate([1, self.workers - 1]):
            name = f"{self.name}-{index}"
            if pods == 0 or name in present:
                continue
            labels = {"jobset.sigs.k8s.io/jobset-name": self.name, "jobset.sigs.k8s.io/jobset-uid": self.uid,
                      "jobset.sigs.k8s.io/job-global-index": str(index)}
            child = self.batch_job(name, pods, labels)
            child["metadata"] |= {"labels": labels, "ownerReferences": self.reference()}
            api.call("POST", JOBS, child)

    def reconcile_pods(self, api, pods, jobs):
        mine = [p for p in pods if p["metadata"].get("labels", {}).get("training.kubeflow.org/job-name") == self.name]
        present = set()
        for pod in mine:
            rank = int(pod["metadata"]["annotations"]["chaos/rank"])
            ended = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
            if (self.suspended or ended) and rank >= self.first_made_here():
                if not pod["metadata"].get("deletionTimestamp"):
                    api.delete(f"{PODS}/{pod['metadata']['name']}")
            present.add(rank)
        if self.kind == "MPIJob":
            self.reconcile_launcher(api, jobs)
        for rank in range(self.first_made_here(), 0 if self.suspended else self.workers):
            if rank not in present:
                self.make_pod(api, rank)

    def first_made_here(self):
        return 1 if self.kind == "MPIJob" else 0  # the launcher's pod is its Job's

    def reconcile_launcher(self, api, jobs):
        name = f"{self.name}-launcher"
        launchers = [j for j in self.owned(jobs) if j["metadata"]["name"] == name]
        if self.suspended and launchers and not launchers[0]["metadata"].get("deletionTimestamp"):
            api.delete(f"{JOBS}/{name}")
        elif not self.suspended and not launchers:
            launcher = self.batch_job(name, 1, self.labels(0))
            del launcher["spec"]["completionMode"]
            launcher["spec"]["template"]["metadata"]["annotations"]["chaos/rank"] = "0"
            launcher["metadata"]["ownerReferences"] = self.reference()
            api.call("POST", JOBS, launcher)

    def labels(self, rank):
        labels = {"training.kubeflow.org/job-name": self.name}
        if self.kind == "MPIJob":
            return labels | {"training.kubeflow.org/operator-name": "mpi-operator", "training.kubeflow.org/replica-index": str(rank),
                             "training.kubeflow.org/job-role": "launcher" if rank == 0 else "worker"}
        return labels | {"training.kubeflow.org/operator-name": "pytorchjob-controller",
                         "training.kubeflow.org/replica-type": "master" if rank == 0 else "worker",
                         "training.kubeflow.org/replica-index": str(max(0, rank - 1))}

    def make_pod(self, api, rank):
        # Named by rank as the training operators do; a pod that is on its way out keeps the name until it is gone.
        name = f"{self.name}-worker-{rank}"
        body = {"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": name, "namespace": NAMESPACE, "labels": self.labels(rank),
                             "annotations": self.annotations() | {"chaos/rank": str(rank)}, "ownerReferences": self.reference()},
                "spec": self.pod_spec()}
        api.call("POST", PODS, body)


def random_job(name, draw: random.Random):
    return Job(name, draw.choice(sorted(KINDS)), draw.randint(1, 6), draw.randint(0, 2))


def random_movable_job(name, draw: random.Random):
    """Mostly one that may move. One that needs a whole place in a segment may wait until others have moved."""
    kind = "TrainingJob" if draw.random() < 0.8 else draw.choice(sorted(KINDS))
    return Job(name, kind, draw.randint(1, 4), draw.randint(0, 2), movable=draw.random() < 0.85,
               in_segment=kind == "TrainingJob" and draw.random() < 0.5)


def rank_of(pod):
    """Of a pod of any of the kinds, as Yardmaster counts them."""
    labels, annotations = pod["metadata"].get("labels", {}), pod["metadata"].get("annotations", {})
    if "chaos/rank" in annotations:
        return int(annotations["chaos/rank"])
    if "yardmaster.dev/rank" in labels:
        return int(labels["yardmaster.dev/rank"])
    index = int(labels["batch.kubernetes.io/job-completion-index"])
    return index + (1 if labels.get("jobset.sigs.k8s.io/job-global-index") == "1" else 0)


def job_of(pod):
    labels = pod["metadata"].get("labels", {})
    for key in ("yardmaster.dev/job", "jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name",
                "batch.kubernetes.io/job-name"):
        if key in labels:
            return labels[key]
    return ""
