#include "simulation/bench/micro_cases.h"

#include <utility>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"

namespace yardmaster::bench {
namespace {

constexpr std::int32_t kAggs = 2;
constexpr std::int32_t kJobs = 5;
constexpr std::int32_t kLevels = 3;
constexpr double kUplinkGbps = 400;
constexpr double kFlopPerGpu = 1e14;

std::int32_t Up(std::int32_t tor, std::int32_t agg) { return 2 * (tor * kAggs + agg); }
std::int32_t Down(std::int32_t tor, std::int32_t agg) { return Up(tor, agg) + 1; }

// A ring's way there and back between two ToRs, over one Agg.
crux::Flow Crossing(std::int32_t number, std::int32_t from, std::int32_t to, double bytes) {
  crux::Flow flow{StrCat("crossing", number), bytes, {}};
  for (std::int32_t a = 0; a < kAggs; ++a) {
    flow.paths.Add(std::vector{Up(from, a), Down(to, a), Up(to, a), Down(from, a)});
  }
  return flow;
}

void SplitStarts(Random& random, crux::ContendingJob& job) {
  const std::size_t rings = job.flows.size();
  for (std::size_t r = 0; r < rings; ++r) {
    crux::Flow early = job.flows[r];
    early.id += ".early";
    early.communication_start = 0.3 * random.Unit();
    early.bytes *= 0.1 + 0.4 * random.Unit();
    job.flows[r].bytes -= early.bytes;
    job.flows.push_back(std::move(early));
  }
}

void AddStorage(Random& random, std::int32_t job_tor, std::int32_t tors, crux::ContendingJob& job) {
  const auto step = static_cast<std::int32_t>(1 + random.Below(tors - 1));
  const std::int32_t storage_tor = (job_tor + step) % tors;
  const bool loads = random.Below(3) == 0;
  crux::Flow flow;
  flow.id = loads ? "load" : "checkpoint";
  flow.background = loads || random.Below(2) == 0;
  flow.every_iterations = loads ? 1 : static_cast<std::int32_t>(4 + random.Below(13));
  const double least = loads ? 0.05 : 0.5;
  const double seconds = job.compute_seconds * least * (1 + 3 * random.Unit());
  flow.bytes = seconds * kUplinkGbps * 1e9 / 8;
  const std::int32_t from = loads ? storage_tor : job_tor;
  const std::int32_t to = loads ? job_tor : storage_tor;
  for (std::int32_t a = 0; a < kAggs; ++a) flow.paths.Add(std::vector{Up(from, a), Down(to, a)});
  job.flows.push_back(std::move(flow));
}

}  // namespace

crux::Problem MicroCase(std::uint64_t seed, const MicroTraits& traits) {
  Random random(seed * 0x9E3779B97F4A7C15ULL + 1);
  Random extra(seed * 0xD1B54A32D192ED03ULL + 1);
  crux::Problem problem;
  problem.levels = kLevels;
  const auto tors = static_cast<std::int32_t>(2 + random.Below(3));
  for (std::int32_t t = 0; t < tors; ++t) {
    for (std::int32_t a = 0; a < kAggs; ++a) {
      problem.links.push_back({StrCat("tor", t, ".agg", a, ".up"), kUplinkGbps});
      problem.links.push_back({StrCat("tor", t, ".agg", a, ".down"), kUplinkGbps});
    }
  }
  for (std::int32_t j = 0; j < kJobs; ++j) {
    const auto from = static_cast<std::int32_t>(random.Below(tors));
    const auto step = static_cast<std::int32_t>(1 + random.Below(tors - 1));
    const std::int32_t to = (from + step) % tors;
    crux::ContendingJob job;
    job.id = StrCat("job", j);
    job.gpus = static_cast<std::int32_t>(8 * (2 + random.Below(3)));
    job.compute_seconds = 0.5 + 1.5 * random.Unit();
    job.communication_start = random.Unit();
    const double seconds = job.compute_seconds * (0.125 + 0.875 * random.Unit());
    job.flop_per_iteration = job.gpus * kFlopPerGpu * job.compute_seconds * (0.5 + random.Unit());
    const double bytes = seconds * kUplinkGbps * 1e9 / 8;
    const auto rings = static_cast<std::int32_t>(1 + random.Below(2));
    for (std::int32_t r = 0; r < rings; ++r) {
      job.flows.push_back(Crossing(r, from, to, bytes / rings));
    }
    if (traits.several_starts) SplitStarts(extra, job);
    if (traits.storage) AddStorage(extra, from, tors, job);
    problem.jobs.push_back(std::move(job));
  }
  return problem;
}

}  // namespace yardmaster::bench
