"""The jobs of the experiment, as arguments of train.py and as manifests for the planner."""

import dataclasses

from lab.shape import FABRIC_POD, SCALE
from lab.train import communication_start

# What a GPU is taken to do in a second; the same for all, so any number serves.
GPU_FLOPS = 1e12
# Of the bytes on the wire of a full packet, how many are the job's.
GOODPUT = 1448 / 1564


@dataclasses.dataclass(frozen=True)
class Job:
    name: str
    workers: int
    kind: str  # ddp, or pipeline of two stages
    megabytes: float  # of gradients
    compute: float  # seconds of GPU time an iteration
    activation_megabytes: float = 0.0  # of a micro-batch
    micro_batches: int = 4
    # The profile: GPU seconds of an iteration, pipeline bubbles included, and the fraction of them after which
    # it communicates. Measured by calibrated(); until then what the arguments imply.
    busy: float = 0.0
    start: float = -1.0
    goodput: float = GOODPUT

    @property
    def busy_seconds(self):
        return self.busy or self.compute

    @property
    def communication_start(self):
        return self.start if self.start >= 0 else communication_start(self.kind)

    def communication_seconds(self, host_mbps):
        """Of an iteration alone on the fabric: what the busiest NIC sends, by all of its ports."""
        sent = {}
        for source, _, size in self.flows():
            sent[source] = sent.get(source, 0) + size
        return max(sent.values()) / (host_mbps / 8 * 1e6 * self.goodput)

    def calibrated(self, alone, host_mbps, goodput=GOODPUT):
        """The job with the profile that its iteration of `alone` seconds shows, as an agent would measure it."""
        job = dataclasses.replace(self, goodput=goodput)
        rest = alone - job.communication_seconds(host_mbps)
        if rest <= self.compute:
            return dataclasses.replace(job, start=max(0.0, rest / self.compute))
        return dataclasses.replace(job, busy=rest, start=1.0)

    @property
    def stages(self):
        return 2 if self.kind == "pipeline" else 1

    @property
    def data(self):
        return self.workers // self.stages

    def arguments(self):
        return ["--kind", self.kind, "--megabytes", str(self.megabytes), "--compute", str(self.compute),
                "--activation-megabytes", str(self.activation_megabytes), "--micro-batches", str(self.micro_batches)]

    def flop(self):
        return GPU_FLOPS * self.busy_seconds * self.workers

    def data_bytes(self):
        """That a rank sends to its neighbour in the ring of its data group."""
        return 2 * (self.data - 1) / self.data * self.megabytes * 1e6

    def pipeline_bytes(self):
        return self.activation_megabytes * self.micro_batches * 1e6

    def flows(self):
        """[(from rank, to rank, bytes)]: rings of the data groups; between stages there and back."""
        out = []
        for stage in range(self.stages):
            ranks = range(stage * self.data, (stage + 1) * self.data)
            if self.data > 1:
                out += [(r, ranks[(i + 1) % self.data], self.data_bytes()) for i, r in enumerate(ranks)]
        if self.stages == 2:
            for r in range(self.data):
                out += [(r, r + self.data, self.pipeline_bytes()), (r + self.data, r, self.pipeline_bytes())]
        return out

    def spec(self):
        """What a TrainingJob and a Gang have in common. Bytes are those on the wire."""
        profile = {"flopPerIteration": self.flop(), "computeSeconds": self.busy_seconds,
                   "communicationStart": self.communication_start,
                   "dataBytes": self.data_bytes() * SCALE / self.goodput}
        if self.stages == 2:
            profile["pipelineBytes"] = self.pipeline_bytes() * SCALE / self.goodput
        return {"workers": self.workers, "gpusPerWorker": 1,
                "parallelism": {"data": self.data, "pipeline": self.stages}, "profile": profile}

    def training_job(self):
        return {"apiVersion": "yardmaster.dev/v1alpha1", "kind": "TrainingJob",
                "metadata": {"name": self.name, "namespace": "lab"},
                "spec": self.spec() | {"template": {"spec": {"containers": [{"name": "trainer", "image": "lab"}]}}}}

    def gang(self, hosts):
        """The job where it stands: on these hosts, by rank."""
        owner = {"apiVersion": "yardmaster.dev/v1alpha1", "kind": "TrainingJob", "name": self.name, "uid": self.name}
        assignments = [{"rank": r, "host": host.name, "fabricPod": FABRIC_POD, "segment": f"s{host.segment}",
                        "stages": [r // self.data]} for r, host in enumerate(hosts)]
        return {"apiVersion": "yardmaster.dev/v1alpha1", "kind": "Gang",
                "metadata": {"name": f"trainingjob-{self.name}", "namespace": "lab"},
                "spec": self.spec() | {"owner": owner},
                "status": {"planGeneration": 1, "fabric": "lab", "outcome": "Placed", "assignments": assignments}}


JOBS = [
    Job("wide", 4, "ddp", megabytes=1.8, compute=1.2),
    Job("deep", 4, "ddp", megabytes=1.2, compute=1.0),
    Job("pipe", 4, "pipeline", megabytes=0.8, compute=0.8, activation_megabytes=0.15),
    Job("pair", 2, "ddp", megabytes=1.5, compute=0.9),
]
