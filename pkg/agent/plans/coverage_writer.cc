#include "pkg/agent/plans/coverage_writer.h"

#include <algorithm>

#include "pkg/agent/plans/annotations.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/api_error.h"

namespace yardmaster::agent {

namespace {

constexpr std::int64_t kPodIntervalMs = 30'000;
constexpr int kWritesPerFlush = 8;

}  // namespace

std::optional<api::ConnectionReport> ConnectionsOf(const ShimSummary& summary) {
  if (summary.steered + summary.unsteered + summary.unplanned == 0) return std::nullopt;
  api::ConnectionReport report{summary.steered, summary.unsteered, summary.unplanned, ""};
  const auto most =
      std::max_element(summary.reasons.begin(), summary.reasons.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != summary.reasons.end()) {
    report.why = CutAtCharacter(most->first, api::kMaxWhyBytes);
  }
  return report;
}

std::vector<absl::Status> CoverageWriter::Flush(std::int64_t steady_ms,
                                                const std::map<std::string, ShimSummary>& by_pod,
                                                const FindPod& find) {
  std::erase_if(entries_, [&](const auto& entry) { return by_pod.count(entry.first) == 0; });
  std::vector<absl::Status> errors;
  int writes = 0;
  for (const auto& [uid, summary] : by_pod) {
    const auto report = ConnectionsOf(summary);
    if (!report || writes >= kWritesPerFlush) continue;
    Entry& entry = entries_[uid];
    if (entry.reported == report || steady_ms < entry.next_write_ms) continue;
    const std::optional<PodInput> pod = find(uid);
    if (!pod) continue;
    entry.next_write_ms = steady_ms + kPodIntervalMs;
    ++writes;
    const absl::Status status = AnnotatePod(client_, *pod, api::kConnectionsAnnotation,
                                            api::EncodeConnectionReport(*report));
    if (status.ok() || kube::IsGone(status)) {
      entry.reported = report;
    } else {
      errors.push_back(Annotate(status, StrCat("pod ", pod->ns, "/", pod->name)));
    }
  }
  return errors;
}

}  // namespace yardmaster::agent
