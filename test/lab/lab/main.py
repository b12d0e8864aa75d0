"""The lab: PyTorch jobs on a fabric of Linux switches, planned by this repository's programs."""

import argparse
import json
import os
import sys
import tempfile
import time

from lab import chart, experiment, sockets, sprayed, sprayed_story, story


_SPRAYED_SEEDS = 3


def _table(document):
    lines = []
    if document["configurations"]:
        lines.append(f"{'configuration':<24}{'of alone':>10}{'simulated':>11}{'collisions':>12}   seconds an iteration (alone)")
    for row in document["configurations"]:
        jobs = ", ".join(f"{j['name']} {j['iterationSeconds']:.2f} ({j['aloneSeconds']:.2f})" for j in row["jobs"])
        lines.append(f"{row['name']:<24}{row['ofAlone']:>10.1%}{row['predictedOfAlone']:>11.1%}{row['collisions']:>12}   {jobs}")
    for row in document.get("sprayed", []):
        jobs = ", ".join(f"{j['name']} {j['iterationSeconds']:.2f} ({j['aloneSeconds']:.2f})" for j in row["jobs"])
        lines.append(f"{row['name']:<24}{row['ofAlone']:>10.1%}{row['predictedOfAlone']:>11.1%}{'':>12}   {jobs}; "
                     f"uplinks differ by {row['unevenness']:.1%} at most")
    for row in document.get("sprayedFailures", {}).get("failures", []):
        lines.append(f"sprayed, {row['what']:<15}{row['stallSeconds']:>10.2f}{row['ofBefore']:>11.0%}")
    for row in document.get("sockets", []):
        lines.append(f"{'with' if row['shim'] else 'without'} the socket shim: {row['plannedPort']} of {row['connections']} TCP "
                     f"connections by planned ports, {row['plannedUplink']} of {row['acrossAggs']} on the planned uplink")
    if document.get("failures"):
        lines.append(f"\n{'lost':<24}{'delay, s':>10}{'after':>11}   left to the kernel")
        for row in document["failures"]:
            kernel = row["kernelOnly"]
            lines.append(f"{row['what']:<24}{row['stallSeconds']:>10.2f}{row['ofBefore']:>11.0%}   "
                         f"{kernel['stallSeconds']:.2f} s, then {kernel['ofBefore']:.0%}")
    if document.get("hostLoss"):
        loss = document["hostLoss"]
        lines.append(f"\nhost {loss['from']} died: rank {loss['rank']} moved to {loss['to']}, training went on "
                     f"{loss['secondsToTraining']} s later at step {loss['resumedAtStep']} of {loss['lastStep']}; "
                     f"{loss['restartedInPlace']} others restarted in place; loss {loss['lossFirst']:.2f} at first, {loss['lossBefore']:.3f} before, {loss['lossAfter']:.3f} after")
    return "\n".join(lines)


def _parse():
    parser = argparse.ArgumentParser(prog="test/lab/run", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="draws of places and ports")
    parser.add_argument("--seconds", type=float, default=8, help="of each measurement")
    parser.add_argument("--only", choices=["configurations", "failures", "sockets", "sprayed"],
                        help="one part of the experiment; sockets (plain TCP with the socket shim) alone is not in the whole")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    parser.add_argument("--json", default="", help="file for the document, beside what is printed")
    parser.add_argument("--svg", default="", help="file for the picture")
    options = parser.parse_args()
    if options.seeds < 1 or options.seconds < 1:
        parser.error("--seeds and --seconds are at least 1")
    return options


def _hashed(options, folder, say):
    """What of the document is measured on switches that hash."""
    document = {}
    lab = experiment.Lab(experiment.SHAPE, folder)
    say(f"{len(lab.hosts)} hosts, {lab.shape.segments * 2} ToRs and {lab.shape.aggs * 2} Aggs are up")
    try:
        if options.only == "sockets":
            document["sockets"] = sockets.Sockets(lab, say).run()
        if options.only in (None, "configurations"):
            document["configurations"] = experiment.run(lab, range(1, options.seeds + 1), options.seconds, say)
        if options.only in (None, "failures"):
            kernel = story.kernel_only(lab, say)
            told, document["hostLoss"] = story.Story(lab, say).run(list(kernel))
            document["failures"] = story.document(told, kernel)
    finally:
        lab.planner.close()
    lab.fabric.remove()
    return document


def _sprayed(options, folder, say):
    """`sprayed` and `sprayedFailures` of the document."""
    lab = experiment.Lab(sprayed.SHAPE, folder)
    planes = lab.shape.planes
    say(f"{len(lab.hosts)} hosts, {lab.shape.segments * planes} ToRs and {lab.shape.aggs * planes} Aggs of {planes} planes are up")
    try:
        # Where nothing hashes one draw of places is as good as another.
        rows = sprayed.run(lab, range(1, min(options.seeds, _SPRAYED_SEEDS) + 1), options.seconds, say)
        for problem in sprayed.problems(rows):
            say(f"not as it should be: {problem}")
        return {"sprayed": rows, "sprayedFailures": sprayed_story.SprayedStory(lab, say).run()}
    finally:
        lab.planner.close()


def main():
    options = _parse()
    began = time.monotonic()

    def say(text):
        print(f"[{time.monotonic() - began:4.0f} s] {text}", file=sys.stderr, flush=True)
    document = {"configurations": [], "failures": []}
    # Workers are forked from this process.
    import torch.distributed  # pylint: disable=unused-import
    if options.only != "sprayed":
        with tempfile.TemporaryDirectory(prefix="lab-") as folder:
            document |= _hashed(options, folder, say)
    if options.only in (None, "sprayed"):
        with tempfile.TemporaryDirectory(prefix="lab-") as folder:
            document |= _sprayed(options, folder, say)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
    if options.svg:
        with open(options.svg, "w", encoding="utf-8") as file:
            file.write(chart.svg(document))
    print(json.dumps(document) if options.output == "json" else _table(document), flush=True)
    return 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
