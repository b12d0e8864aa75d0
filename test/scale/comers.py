"""The jobs of the soak: those that stand for the whole time, and those that come and go, with the sizes of the Lingjun trace."""
import trace

SECONDS_A_MINUTE = 1.0


def body_of(kind, job, seconds):
    """`seconds` None: it runs until it is deleted."""
    notes = {} if seconds is None else {"pod-complete.stage.kwok.x-k8s.io/delay": "%ds" % max(1, seconds)}
    container = {"name": "trainer", "image": "registry.example/trainer:1"}
    if kind == "TrainingJob":
        return {"apiVersion": "yardmaster.dev/v1alpha1", "kind": kind, "metadata": {"name": job.name},
                "spec": {"workers": job.workers, "gpusPerWorker": job.gpus_per_worker, "parallelism": job.parallelism, "ttlSecondsAfterFinished": 30,
                         "recovery": {"hostGraceSeconds": 0, "backoffSeconds": 0, "maxRestarts": 1000000},
                         "template": {"metadata": {"annotations": notes}, "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]}}}}
    short = {"tensor": "tp", "pipeline": "pp", "data": "dp"}
    notes["yardmaster.dev/parallelism"] = ",".join("%s=%d" % (short[key], size) for key, size in job.parallelism.items())
    container["resources"] = {"limits": {"nvidia.com/gpu": str(job.gpus_per_worker)}}
    gone = [{"key": "node.kubernetes.io/" + key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0} for key in ("not-ready", "unreachable")]
    template = {"metadata": {"labels": {"job": job.name}, "annotations": notes}, "spec": {
        "restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "schedulingGates": [{"name": "yardmaster.dev/placement"}],
        "tolerations": gone, "containers": [container]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": job.name}, "spec": {
        "completionMode": "Indexed", "parallelism": job.workers, "completions": job.workers, "ttlSecondsAfterFinished": 30,
        "backoffLimit": 1000000, "template": template}}


def draw_jobs(prefix, dice):
    """One after the other without end: (kind, job). Every fifth is a Job."""
    sizes, number = trace.lingjun_sizes(), 0
    while True:
        model_name, gpus = dice.choice(sizes)
        job = trace.Job("%s-%05d" % (prefix, number), model_name, gpus, 0, 0)
        yield "Job" if number % 5 == 4 else "TrainingJob", job
        number += 1


def standing(capacity, jobs_an_hour, dice):
    """Jobs that fill the hosts which those that come and go leave: of these as many work as come in a second times seconds times hosts."""
    hosts = lambda gpus: gpus / 8
    mean_hosts = sum(hosts(gpus) for _, gpus in trace.lingjun_sizes()) / len(trace.lingjun_sizes())
    mean_seconds = sum(minutes(dice) for _ in range(10000)) / 10000 * SECONDS_A_MINUTE
    moving = max(150, jobs_an_hour / 3600 * mean_seconds * mean_hosts / 0.5)  # three of the largest jobs, at half load
    left, out = capacity - moving, []
    for kind, job in draw_jobs("stands", dice):
        left -= hosts(job.gpus)
        if left < 0:
            return out
        out.append((kind, job))


def minutes(dice):
    """As bench/peer/trace.py draws them."""
    return max(5, min(600, round(dice.lognormvariate(3.912, 0.8))))
