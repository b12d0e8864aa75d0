"""A training job on the CPU: PyTorch, Gloo, gradients by DistributedDataParallel or a pipeline of two stages.

The arithmetic is small and real, and the loss goes down; the time that a GPU would take for it is slept.
Ranks find each other by MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE, as under torchrun. Rank 0 writes one
JSON line an iteration: {"time", "step", "seconds", "loss"}. With --report every rank writes what it measures of its own
iterations to a file of its own: {"step", "seconds", "compute"}.
"""

import argparse
import json
import os
import signal
import sys
import time
from datetime import timedelta

_LAYERS = 4
_BATCH = 16
_RATE = 2.0
FORWARD_SHARE = 1 / 3


def parse(arguments):
    parser = argparse.ArgumentParser(prog="train.py", description=__doc__)
    parser.add_argument("--kind", choices=["ddp", "pipeline"], default="ddp")
    parser.add_argument("--megabytes", type=float, default=1.0, help="gradients of a rank (of a stage)")
    parser.add_argument("--activation-megabytes", type=float, default=0.25, help="of a micro-batch, between stages")
    parser.add_argument("--micro-batches", type=int, default=4)
    parser.add_argument("--compute", type=float, default=0.5, help="seconds of GPU time an iteration")
    parser.add_argument("--busy", type=float, default=0, help="seconds of CPU time an iteration, beside that")
    parser.add_argument("--report", default="", help="folder for a file rank-N.jsonl of every rank")
    parser.add_argument("--iterations", type=int, default=0, help="0: until stopped")
    parser.add_argument("--record", default="", help="file for rank 0's lines")
    parser.add_argument("--checkpoint", default="", help="folder on storage that all ranks share")
    parser.add_argument("--checkpoint-every", type=int, default=5, help="iterations")
    parser.add_argument("--timeout", type=float, default=30, help="seconds without a peer until a rank gives up")
    return parser.parse_args(arguments)


def gloo_rank(rank, world):
    """Gloo's ring sends from a rank to the one below, NCCL's (and the plan's) to the one above."""
    return (world - rank) % world


def communication_start(kind):
    """The fraction of compute after which the first gradients are sent."""
    return FORWARD_SHARE + (1 - FORWARD_SHARE) / _LAYERS if kind == "ddp" else FORWARD_SHARE


def main(arguments):
    # Imported here: a process that forks workers imports torch once.
    import torch
    import torch.distributed as dist
    options = parse(arguments)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", timeout=timedelta(seconds=options.timeout), rank=gloo_rank(rank, world),
                            world_size=world)
    step_class = {"ddp": _DataParallel, "pipeline": _Pipeline}[options.kind]
    step = step_class(torch, dist, options, rank, world)
    keeper = _Checkpoints(torch, options, step, rank)
    first = keeper.load()
    _loop(options, step, keeper, first, rank)
    dist.barrier()
    # Gloo's threads need not end in order.
    sys.stdout.flush()
    os._exit(0)


def _loop(options, step, keeper, first, rank):
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))
    record = open(options.record, "a", encoding="ascii") if options.record and rank == 0 else None
    report = open(os.path.join(options.report, f"rank-{rank}.jsonl"), "a", encoding="ascii") if options.report else None
    number = first
    while not stop and (options.iterations == 0 or number < options.iterations):
        began, computed = time.monotonic(), _Computed.seconds
        loss = step.run(number)
        seconds = time.monotonic() - began
        number += 1
        if report:
            print(json.dumps({"step": number, "seconds": round(seconds, 4),
                              "compute": round(_Computed.seconds - computed, 4)}), file=report, flush=True)
        if record:
            print(json.dumps({"time": time.time(), "step": number, "seconds": round(seconds, 4),
                              "loss": round(loss, 6)}), file=record, flush=True)
        if rank == 0 and number % 10 == 0:
            print(f"step {number} loss {loss:.4f} {seconds:.2f} s", flush=True)
        if options.checkpoint and number % options.checkpoint_every == 0:
            keeper.save(number)
    if stop:
        # As a container that obeys SIGTERM: what was done since the last checkpoint is lost.
        os._exit(143)


class _Computed:
    """What this process has computed so far, without waiting for others."""
    seconds = 0.0


def _compute(seconds, busy):
    """Takes the GPU's time, and so much CPU time, however long that takes where something holds the process back."""
    began = time.monotonic()
    time.sleep(seconds)
    end = time.thread_time() + busy
    while time.thread_time() < end:
        pass
    _Computed.seconds += time.monotonic() - began


def _busy_layers(torch, width, seconds, busy):
    """Layers of width x width weights; forward and backward take `seconds` together, and `busy` seconds of CPU time."""
    class Busy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            _compute(seconds * FORWARD_SHARE / _LAYERS, busy * FORWARD_SHARE / _LAYERS)
            return x.view_as(x)

        @staticmethod
        def backward(ctx, gradient):
            _compute(seconds * (1 - FORWARD_SHARE) / _LAYERS, busy * (1 - FORWARD_SHARE) / _LAYERS)
            return gradient

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(width, width, bias=False)
            torch.nn.init.normal_(self.linear.weight, std=0.5 / width**0.5)

        def forward(self, x):
            # Backward runs from the output: time passes first, then the weight's gradient is there.
            return Busy.apply(torch.tanh(self.linear(x)) + x)
    return torch.nn.Sequential(*[Layer() for _ in range(_LAYERS)])


def _width(megabytes):
    return max(8, int((megabytes * 1e6 / 4 / _LAYERS) ** 0.5))


class _DataParallel:
    def __init__(self, torch, dist, options, rank, world):
        self._torch = torch
        width = _width(options.megabytes)
        model = _busy_layers(torch, width, options.compute, options.busy)
        # A bucket a layer, so that gradients travel while the backward pass goes on, half by either connection.
        dist._DEFAULT_FIRST_BUCKET_BYTES = 1  # pylint: disable=protected-access
        self.model = torch.nn.parallel.DistributedDataParallel(
            model, bucket_cap_mb=options.megabytes / _LAYERS / 2, broadcast_buffers=False)
        self.optimizer = torch.optim.SGD(model.parameters(), lr=_RATE)
        generator = torch.Generator().manual_seed(7)
        self._target = torch.randn(width, width, generator=generator) / width**0.5
        self._rank, self._width = rank, width

    def run(self, number):
        torch = self._torch
        generator = torch.Generator().manual_seed(number * 64 + self._rank)
        x = torch.randn(_BATCH, self._width, generator=generator)
        loss = ((self.model(x) - x @ self._target) ** 2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def state(self):
        return {"model": self.model.module.state_dict()}

    def load(self, state):
        self.model.module.load_state_dict(state["model"])


class _Pipeline:
    """Two stages, micro-batches all forward and then all backward; gradients of a stage are summed in the end.
    Ranks in the order dp, pp: rank r is in stage r div (world / 2)."""

    def __init__(self, torch, dist, options, rank, world):
        self._torch, self._dist, self._options = torch, dist, options
        half = world // 2
        self._stage, self._other = rank // half, (rank + half) % world
        self._peer = gloo_rank(self._other, world)
        groups = [dist.new_group([gloo_rank(r, world) for r in ranks])
                  for ranks in (range(half), range(half, world))]
        self._group, self._size = groups[self._stage], half
        width = _width(options.megabytes)
        self._rows = max(_BATCH, int(options.activation_megabytes * 1e6 / 4 / width))
        self.model = _busy_layers(torch, width, options.compute / options.micro_batches, options.busy / options.micro_batches)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=_RATE)
        generator = torch.Generator().manual_seed(7)
        self._target = torch.randn(width, width, generator=generator) / width**0.5
        self._rank, self._width = rank, width

    def run(self, number):
        torch = self._torch
        self.optimizer.zero_grad()
        loss = self._first(number) if self._stage == 0 else self._last(number)
        sums = [self._dist.all_reduce(p.grad, group=self._group, async_op=True) for p in self.model.parameters()]
        for parameter, gradient_sum in zip(self.model.parameters(), sums):
            gradient_sum.wait()
            parameter.grad /= self._size * self._options.micro_batches
        self.optimizer.step()
        # The last stage knows the loss, the first writes it down.
        value = torch.tensor([loss])
        if self._stage == 0:
            self._dist.recv(value, self._peer, tag=999)
        else:
            self._dist.send(value, self._peer, tag=999)
        return value.item()

    def _input(self, number, micro, rank):
        generator = self._torch.Generator().manual_seed(number * 64 + micro * 8 + rank)
        return self._torch.randn(_BATCH, self._width, generator=generator)

    # What travels is as large as asked for; its first rows are the activations, the rest is padding.
    def _send(self, tensor, tag):
        padded = self._torch.zeros(self._rows, self._width)
        padded[:_BATCH] = tensor
        return self._dist.isend(padded, self._peer, tag=tag)

    def _receive(self, tag):
        padded = self._torch.empty(self._rows, self._width)
        self._dist.recv(padded, self._peer, tag=tag)
        return padded[:_BATCH].clone()

    def _first(self, number):
        outputs, sends = [], []
        for micro in range(self._options.micro_batches):
            outputs.append(self.model(self._input(number, micro, self._rank)))
            sends.append(self._send(outputs[-1].detach(), micro))
        for micro, output in enumerate(outputs):
            output.backward(self._receive(100 + micro))
        for send in sends:
            send.wait()
        return 0.0

    def _last(self, number):
        torch, sends, total = self._torch, [], 0.0
        for micro in range(self._options.micro_batches):
            x = self._receive(micro).requires_grad_()
            target = self._input(number, micro, self._other) @ self._target
            loss = ((self.model(x) - target) ** 2).mean()
            loss.backward()
            total += loss.item()
            sends.append(self._send(x.grad, 100 + micro))
        for send in sends:
            send.wait()
        return total / self._options.micro_batches

    def state(self):
        return {"model": self.model.state_dict()}

    def load(self, state):
        self.model.load_state_dict(state["model"])


class _Checkpoints:
    """One file a stage, written by its first rank, replaced by a rename."""

    def __init__(self, torch, options, step, rank):
        self._torch, self._options, self._step, self._rank = torch, options, step, rank
        stage = getattr(step, "_stage", 0)
        self._writer = rank == 0 or (stage == 1 and rank == int(os.environ["WORLD_SIZE"]) // 2)
        self._path = os.path.join(options.checkpoint, f"stage-{stage}.pt") if options.checkpoint else ""

    def load(self):
        """The number of iterations that the checkpoint holds, 0 without one."""
        if not self._path or not os.path.exists(self._path):
            return 0
        state = self._torch.load(self._path)
        self._step.load(state)
        print(f"resumed from the checkpoint of step {state['step']}", flush=True)
        return state["step"]

    def save(self, number):
        if not self._writer:
            return
        os.makedirs(self._options.checkpoint, exist_ok=True)
        self._torch.save({"step": number} | self._step.state(), self._path + ".new")
        os.rename(self._path + ".new", self._path)


if __name__ == "__main__":
    main(sys.argv[1:])
