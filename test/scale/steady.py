"""Whether a cluster under an even load is steady: memory that stays, queues that come back, promises in time. Pure functions over samples."""

# Less than this is what an allocator does by itself.
LEAST_MIB = 8
# In shorter halves a slope is noise, and a cluster that has just begun to work is not steady.
LEAST_SECONDS = 540


def second_half(series):
    return series[len(series) // 2:]


def slope(points):
    """Of the line through (x, y) with the least squares; 0 with fewer than two."""
    n = len(points)
    if n < 2:
        return 0.0
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0


def memory(points):
    """`points`: (second, MiB). Of the second half its mean, and growth in MiB and in percent an hour."""
    half = second_half(points)
    mean = sum(mib for _, mib in half) / len(half)
    an_hour = 3600 * slope(half)
    return {"firstMib": points[0][1], "meanMib": round(mean), "lastMib": points[-1][1], "spanSeconds": round(half[-1][0] - half[0][0]),
            "mibAnHour": round(an_hour, 1), "percentAnHour": round(100 * an_hour / mean, 1) if mean else 0.0}


def leaks(measured, percent_an_hour):
    """Whether that memory grows by more."""
    grown = measured["mibAnHour"] * measured["spanSeconds"] / 3600
    return grown > LEAST_MIB and measured["percentAnHour"] > percent_an_hour


def grows(values):
    """Whether a queue never came back in the last quarter to what it was in the second one: it only gets longer."""
    quarter = len(values) // 4
    return quarter >= 2 and min(values[-quarter:]) > max(values[quarter:2 * quarter]) + 1


def faults(report, percent_an_hour, limits, judged=("yardmaster-extender", "yardmaster-operator")):
    """What is wrong, a sentence each."""
    out = ["%s does not run" % program for program in judged if program not in report["memory"]]
    long_enough = any(measured["spanSeconds"] >= LEAST_SECONDS for measured in report["memory"].values())
    for program in judged:
        measured = report["memory"].get(program)
        if measured and long_enough and leaks(measured, percent_an_hour):
            out.append("memory of %s grows by %.1f %% an hour" % (program, measured["percentAnHour"]))
    out += ["%s grows: %s" % (name, values) for name, values in report["queues"].items() if long_enough and grows(values)]
    for promise, limit in limits.items():
        seen = report["promises"].get(promise, {"oldestOwedSeconds": 0})
        if seen.get("p99Seconds", 0) > limit:
            out.append("%s: p99 %.2f s, at most %g; the latest: %s" % (promise, seen["p99Seconds"], limit, ", ".join(seen["latest"])))
        if seen["oldestOwedSeconds"] > max(10 * limit, 60):
            out.append("%s: owed for %.0f s" % (promise, seen["oldestOwedSeconds"]))
    return out
