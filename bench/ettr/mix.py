"""The jobs: sizes of the public Lingjun 2023 trace, multiplied so that together they fill the hosts that jobs may have."""
import dataclasses
import math
import random
import sys

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/peer")
import faults  # noqa: E402
from trace import Job, lingjun_sizes  # noqa: E402

HOST_GPUS = 8
# Seconds that training stands still for a checkpoint that is written in the background: "several seconds" until it is in the memory
# of the hosts. Jiang et al., MegaScale, NSDI 2024, section 4.4.
CHECKPOINT_SECONDS = 5.0
# Nobody writes more often or less often than this: HPCA 2025 discusses intervals of 5 to 60 minutes.
LEAST_INTERVAL, LONGEST_INTERVAL = 300.0, 3600.0


def interval_of(hosts):
    """Between checkpoints, what loses least (Daly 2006, first order), by the failure rate of the job's hosts."""
    between_failures = 1 / (hosts * faults.stops_a_second())
    return min(LONGEST_INTERVAL, max(LEAST_INTERVAL, math.sqrt(2 * CHECKPOINT_SECONDS * between_failures)))


@dataclasses.dataclass
class LongJob(Job):
    """One that trains for the whole time."""

    @property
    def interval(self):
        return interval_of(self.workers)


def scaled(sizes, total):
    """Hosts of each job, at least one, with `total` as their sum; shares as those of `sizes`."""
    if total < len(sizes):
        raise ValueError("%d hosts are too few for %d jobs" % (total, len(sizes)))
    low, high = 0.0, float(total)
    for _ in range(60):
        factor = (low + high) / 2
        if sum(max(1, math.floor(size * factor)) for size in sizes) > total:
            high = factor
        else:
            low = factor
    hosts = [max(1, math.floor(size * low)) for size in sizes]
    largest = sorted(range(len(sizes)), key=lambda i: (-sizes[i], i))
    for i in range(total - sum(hosts)):
        hosts[largest[i % len(largest)]] += 1
    return hosts


def draw(count, total_hosts, seed):
    """Jobs of whole hosts."""
    dice = random.Random("mix %d" % seed)
    choices = [(model, gpus // HOST_GPUS) for model, gpus in lingjun_sizes() if gpus >= HOST_GPUS]
    picked = [dice.choice(choices) for _ in range(count)]
    sizes = scaled([hosts for _, hosts in picked], total_hosts)
    return [LongJob("job-%02d" % i, model, hosts * HOST_GPUS, 0, 0) for i, ((model, _), hosts) in enumerate(zip(picked, sizes))]
