#include "pkg/crux/problem.h"

#include <string_view>
#include <unordered_map>

#include "pkg/base/strings.h"

namespace yardmaster::crux {
namespace {

// Far beyond anything real, near enough that sums and quotients stay finite.
constexpr double kMaxGbps = 1e9;
constexpr double kMaxBytes = 1e21;
constexpr double kMaxFlop = 1e30;
constexpr double kMaxSeconds = 1e9;
constexpr double kMinPositive = 1e-12;
constexpr std::int32_t kMaxEveryIterations = 1'000'000;
constexpr std::size_t kShortPath = 16;
constexpr double kMostShare = 1 + 1e-9;  // sums of parts round

// Names the place an error is at. Text is made only when there is an error: a large problem has
// millions of places.
struct Place {
  std::int64_t job = -1;
  std::int64_t flow = -1;
  std::int64_t path = -1;

  std::string Field(std::string_view rest) const {
    std::string field;
    if (job >= 0) field = StrCat("jobs[", job, "]");
    if (flow >= 0) field += StrCat(".flows[", flow, "]");
    if (path >= 0) field += StrCat(".paths[", path, "]");
    const bool dotted = !field.empty() && !rest.empty() && rest.front() != '[';
    return StrCat(field, dotted ? "." : "", rest);
  }
  std::string Owner(const Problem& problem) const {
    if (job < 0) return "";
    const ContendingJob& owner = problem.jobs[job];
    std::string text = StrCat("job \"", owner.id, "\" ");
    if (flow >= 0) text += StrCat("flow \"", owner.flows[flow].id, "\" ");
    return text;
  }
};

class Checker {
 public:
  Checker(const Problem& problem, const ValidationOptions& options)
      : problem_(problem), options_(options) {}

  absl::Status CheckLinks() const {
    YM_RETURN_IF_ERROR(CheckIds({}, "links", problem_.links));
    for (std::size_t l = 0; l < problem_.links.size(); ++l) {
      const Link& link = problem_.links[l];
      if (InRange(link.gbps, kMaxGbps)) continue;
      return FieldError(StrCat("links[", l, "].gbps"),
                        StrCat("link \"", link.id, "\" is ", link.gbps), RangeText(kMaxGbps));
    }
    return absl::OkStatus();
  }

  absl::Status CheckJobIds() const { return CheckIds({}, "jobs", problem_.jobs); }

  absl::Status CheckJob(std::int64_t j) const {
    const ContendingJob& job = problem_.jobs[j];
    const Place at{j, -1, -1};
    if (job.gpus < 1) {
      return Error(at, "gpus", StrCat("is ", job.gpus), "a job has at least one GPU");
    }
    YM_RETURN_IF_ERROR(CheckRange(at, "flopPerIteration", job.flop_per_iteration, kMaxFlop));
    YM_RETURN_IF_ERROR(CheckRange(at, "computeSeconds", job.compute_seconds, kMaxSeconds));
    YM_RETURN_IF_ERROR(CheckStart(at, job.communication_start));
    if (job.flows.empty() && !options_.allow_jobs_without_flows) {
      return Error(at, "flows", "has no flow",
                   "a job that sends nothing needs no schedule; leave it out");
    }
    YM_RETURN_IF_ERROR(CheckIds(at, "flows", job.flows));
    for (std::size_t f = 0; f < job.flows.size(); ++f) {
      YM_RETURN_IF_ERROR(CheckFlow({j, static_cast<std::int64_t>(f), -1}, job.flows[f]));
    }
    return absl::OkStatus();
  }

 private:
  static bool InRange(double value, double limit) {
    return value >= kMinPositive && value <= limit;  // NaN is not
  }
  static std::string RangeText(double limit) {
    return StrCat("it has to be greater than 0, from ", kMinPositive, " to ", limit);
  }

  absl::Status Error(const Place& at, std::string_view field, std::string_view problem,
                     std::string_view fix) const {
    return FieldError(at.Field(field), StrCat(at.Owner(problem_), problem), fix);
  }

  absl::Status CheckRange(const Place& at, std::string_view field, double value,
                          double limit) const {
    if (InRange(value, limit)) return absl::OkStatus();
    return Error(at, field, StrCat("is ", value), RangeText(limit));
  }

  template <typename Items>
  absl::Status CheckIds(const Place& at, std::string_view list, const Items& items) const {
    std::unordered_map<std::string_view, std::size_t> seen;  // only looked up
    seen.reserve(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::string& id = items[i].id;
      const auto [before, fresh] = seen.emplace(id, i);
      if (fresh && !id.empty()) continue;
      const std::string field = StrCat(list, "[", i, "].id");
      if (id.empty()) return Error(at, field, "is empty", "name it");
      return Error(at, field, StrCat("\"", id, "\" is already ", list, "[", before->second, "]"),
                   "every id has to be unique");
    }
    return absl::OkStatus();
  }

  absl::Status CheckStart(const Place& at, double start) const {
    if (start >= 0 && start <= 1) return absl::OkStatus();  // NaN is not
    return Error(at, "communicationStart", StrCat("is ", start),
                 "it is a fraction of the compute time, from 0 to 1");
  }

  absl::Status CheckFlow(Place at, const Flow& flow) const {
    YM_RETURN_IF_ERROR(CheckRange(at, "bytes", flow.bytes, kMaxBytes));
    if (flow.communication_start) YM_RETURN_IF_ERROR(CheckStart(at, *flow.communication_start));
    if (flow.every_iterations < 1 || flow.every_iterations > kMaxEveryIterations) {
      return Error(at, "everyIterations", StrCat("is ", flow.every_iterations),
                   StrCat("it runs in every n-th iteration, n from 1 to ", kMaxEveryIterations));
    }
    if (flow.ring < -1) {
      return Error(at, "ring", StrCat("is ", flow.ring),
                   "number rings from 0; leave it out for none");
    }
    if (flow.paths.empty()) {
      return Error(at, "paths", "has no candidate path", "give at least one");
    }
    for (at.path = 0; at.path < flow.paths.size(); ++at.path) {
      const auto path = static_cast<std::int32_t>(at.path);
      YM_RETURN_IF_ERROR(CheckPath(at, flow.paths[path]));
      YM_RETURN_IF_ERROR(CheckShares(at, flow.paths.shares(path)));
    }
    return absl::OkStatus();
  }

  absl::Status CheckPath(const Place& at, std::span<const std::int32_t> path) const {
    if (path.empty()) return Error(at, "", "lists no link", "name its links");
    const auto links = static_cast<std::int32_t>(problem_.links.size());
    for (std::size_t i = 0; i < path.size(); ++i) {
      if (path[i] >= 0 && path[i] < links) continue;
      return Error(at, StrCat("[", i, "]"), StrCat("link ", path[i], " is unknown"),
                   "declare it under links");
    }
    // Paths are short, and sorting a copy of each would cost more than looking.
    for (std::size_t i = 1; path.size() <= kShortPath && i < path.size(); ++i) {
      if (std::find(path.begin(), path.begin() + i, path[i]) != path.begin() + i) {
        return Cycle(at, path[i]);
      }
    }
    if (path.size() <= kShortPath) return absl::OkStatus();
    std::vector<std::int32_t> sorted(path.begin(), path.end());
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    return twice == sorted.end() ? absl::OkStatus() : Cycle(at, *twice);
  }

  absl::Status CheckShares(const Place& at, std::span<const double> shares) const {
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (InRange(shares[i], kMostShare)) continue;
      return Error(at, StrCat("[", i, "]"), StrCat("link carries ", shares[i], " of the flow"),
                   "a share is greater than 0 and at most 1");
    }
    return absl::OkStatus();
  }

  absl::Status Cycle(const Place& at, std::int32_t link) const {
    return Error(at, "", StrCat("runs in a cycle over link \"", problem_.links[link].id, "\""),
                 "a path uses a link once");
  }

  const Problem& problem_;
  const ValidationOptions& options_;
};

bool SamePaths(const PathList& a, const PathList& b) {
  if (a.size() != b.size()) return false;
  for (std::int32_t p = 0; p < a.size(); ++p) {
    if (!std::ranges::equal(a[p], b[p]) || !std::ranges::equal(a.shares(p), b.shares(p))) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool AreTwins(const Flow& a, const Flow& b) {
  return a.bytes == b.bytes && a.communication_start == b.communication_start &&
         a.every_iterations == b.every_iterations && a.background == b.background &&
         a.ring == b.ring && SamePaths(a.paths, b.paths);
}

Paths PathsOf(const Solution& solution) {
  Paths paths;
  paths.reserve(solution.jobs.size());
  for (const JobDecision& job : solution.jobs) paths.push_back(job.paths);
  return paths;
}

absl::Status Validate(const Problem& problem, const ValidationOptions& options) {
  if (problem.levels < 1) {
    return FieldError("levels", StrCat("is ", problem.levels), "there has to be at least one");
  }
  const Checker checker(problem, options);
  YM_RETURN_IF_ERROR(checker.CheckLinks());
  YM_RETURN_IF_ERROR(checker.CheckJobIds());
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    YM_RETURN_IF_ERROR(checker.CheckJob(static_cast<std::int64_t>(j)));
  }
  return absl::OkStatus();
}

absl::Status ValidateChanged(const Problem& problem, std::span<const ContendingJobId> changed) {
  const ValidationOptions options;
  const Checker checker(problem, options);
  for (const ContendingJobId j : changed) {
    if (!j.valid() || j.index() >= problem.jobs.size()) {
      return FieldError("changed", StrCat("there is no job ", j.value), "list indices of jobs");
    }
    YM_RETURN_IF_ERROR(checker.CheckJob(j.value));
  }
  return absl::OkStatus();
}

}  // namespace yardmaster::crux
