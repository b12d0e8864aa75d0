"""The jobs that every scheduler is given: drawn from the public Lingjun 2023 sizes, or a synthetic mix of LLM training.

Times are whole minutes of the replay's clock. Deterministic in (name, jobs, seed, capacity).
"""
import csv
import dataclasses
import math
import pathlib
import random

ROOT = pathlib.Path(__file__).resolve().parents[2]
# GPUs of a job -> weight, for the synthetic mix: fine-tuning on a few hosts, pre-training on many.
LLM_MIX = {8: 15, 16: 15, 32: 20, 64: 25, 128: 17, 256: 8}
LLM_MODELS = {8: "GPT-7b", 16: "GPT-7b", 32: "GPT-13b", 64: "llama_30b", 128: "65b", 256: "65b"}


@dataclasses.dataclass
class Job:
    name: str
    model: str
    gpus: int
    arrival: int
    minutes: int

    @property
    def workers(self):
        return max(1, math.ceil(self.gpus / 8))

    @property
    def gpus_per_worker(self):
        return min(8, self.gpus)

    @property
    def stages(self):
        """Pipeline stages: from 16 hosts on, as many as divide the hosts."""
        if self.workers < 16:
            return 1
        return next((p for p in (4, 5, 2) if self.workers % p == 0), 1)

    @property
    def parallelism(self):
        """Tensor parallel inside a host, the rest data parallel. Jobs below a host are data parallel alone."""
        tensor = 8 if self.gpus >= 8 else 1
        return {"tensor": tensor, "pipeline": self.stages, "data": self.workers * self.gpus_per_worker // (tensor * self.stages)}


def lingjun_sizes():
    with open(ROOT / "test/data/lingjun-2023/model-gpus.csv", newline="") as f:
        rows = [(row["model"], int(row["total_gpu"])) for row in csv.DictReader(f)]
    # Sizes that hosts of eight GPUs can hold: below a host, or whole hosts.
    return [(model, gpus) for model, gpus in rows if gpus > 0 and (gpus < 8 or gpus % 8 == 0)]


def make(name, count, seed, capacity_gpus, load):
    """`load`: GPU minutes asked for per minute, over the capacity."""
    draw = random.Random("%s %d" % (name, seed))
    if name == "lingjun":
        choices = lingjun_sizes()
        picked = [draw.choice(choices) for _ in range(count)]
    else:
        sizes = draw.choices(list(LLM_MIX), weights=list(LLM_MIX.values()), k=count)
        picked = [(LLM_MODELS[gpus], gpus) for gpus in sizes]
    minutes = [max(5, min(600, round(draw.lognormvariate(math.log(50), 0.8)))) for _ in picked]
    work = sum(gpus * length for (_, gpus), length in zip(picked, minutes))
    gap = work / (capacity_gpus * load) / count
    jobs, at = [], 0.0
    for i, ((model, gpus), length) in enumerate(zip(picked, minutes)):
        jobs.append(Job("%s-%03d" % (name, i), model, gpus, round(at), length))
        at += draw.expovariate(1 / gap)
    return jobs
