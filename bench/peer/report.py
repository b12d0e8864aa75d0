"""Results as the table and the pictures of docs/evaluation.md."""
import chart
import others
import schedulers
from trace import ROOT

ALL = {**schedulers.ALL, **others.ALL}
# The columns from left to right, whichever was measured first.
ORDER = ["default", "packed", *others.ALL, "yardmaster"]
PAGE = ROOT / "docs/evaluation.md"
IMAGES = ROOT / "docs/images"
BEGIN, END = "<!-- measured: begin, written by bench/peer/run --write -->", "<!-- measured: end -->"
WORKLOADS = {"lingjun": "Lingjun 2023 sizes", "llm": "LLM mix"}
# Field, row of the table, how it is written.
ROWS = [
    ("placeSecondsP50", "seconds from `create` to the last binding, median (jobs that found room at once)", "%.2f"),
    ("placeSecondsP99", "the same, 99th percentile", "%.2f"),
    ("segments", "segments of a job of two hosts or more, mean", "%.2f"),
    ("dpOverAggShare", "data-parallel bytes that cross the Agg layer", "%.1f %%"),
    ("gpusStranded", "free GPUs on hosts partly in use, mean over time", "%.1f"),
    ("gpusBlocked", "GPUs held by jobs that are not whole, mean over time", "%.1f"),
    ("waitMinutes", "minutes in the queue, mean", "%.0f"),
    ("makespanMinutes", "minutes until the last job has ended", "%d"),
    ("withdrawn", "jobs withdrawn because all waited for each other", "%d"),
]


def value_of(measured, field):
    value = measured[field]
    return value * 100 if field == "dpOverAggShare" else value


def title_of(key, measured):
    return measured.get("title", ALL[key].title)


def in_order(by_scheduler):
    return sorted(by_scheduler, key=ORDER.index)


def table(results):
    lines = []
    for workload, by_scheduler in results["traces"].items():
        keys = in_order(by_scheduler)
        lines += ["", "**%s**, %d jobs" % (WORKLOADS[workload], results["jobs"]), "",
                  "| | %s |" % " | ".join(title_of(key, by_scheduler[key]) for key in keys), "|---|%s" % ("---|" * len(keys))]
        for field, words, form in ROWS:
            lines.append("| %s | %s |" % (words, " | ".join(
                "-" if by_scheduler[k][field] is None else form % value_of(by_scheduler[k], field) for k in keys)))
        lines.append("| least segments possible, mean | %s |" % " | ".join("%.2f" % by_scheduler[k]["segmentsLeast"] for k in keys))
        for policy, words in (("ecmp", "ECMP"), ("crux", "Crux levels and planned paths")):
            cells = [by_scheduler[k]["simulated"].get(policy) for k in keys]
            lines.append("| utilisation of the GPUs in use, simulated, %s | %s |" % (
                words, " | ".join("-" if c is None else "%.2f %%" % (100 * c["utilisation"]) for c in cells)))
        lines.append("| mean slowdown by contention, simulated, ECMP | %s |" % " | ".join(
            "%.3f" % by_scheduler[k]["simulated"]["ecmp"]["meanSlowdown"] for k in keys))
    return "\n".join(lines).strip()


PICTURES = [
    ("segments", "Segments of a job", "less is better; jobs of two hosts or more", lambda m: m["segments"]),
    ("dp", "Data-parallel bytes that cross the Agg layer, per cent", "less is better", lambda m: 100 * m["dpOverAggShare"]),
    ("stranded", "GPUs idle though not free as whole hosts, or held by incomplete jobs", "less is better; mean over time",
     lambda m: m["gpusStranded"] + m["gpusBlocked"]),
    ("place", "Seconds from create to the last binding, median", "less is better; jobs that found room at once",
     lambda m: m["placeSecondsP50"]),
]


def write(results):
    first = next(iter(results["traces"].values()))
    keys = in_order(first)
    names = [title_of(key, first[key]) for key in keys]
    links = []
    for name, title, better, value in PICTURES:
        groups = [(WORKLOADS[w], [value(by[key]) for key in keys]) for w, by in results["traces"].items()]
        (IMAGES / ("peer-%s.svg" % name)).write_text(chart.bars(title, groups, names, better))
        links.append("![%s](images/peer-%s.svg)" % (title, name))
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text("%s%s\n\n%s\n\n%s\n\n%s%s" % (before, BEGIN, table(results), "\n".join(links), END, after))
