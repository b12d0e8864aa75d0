#include "pkg/agent/profiles/progress_writer.h"

#include <algorithm>
#include <optional>
#include <set>

#include "pkg/agent/plans/annotations.h"
#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/api_error.h"

namespace yardmaster::agent {

namespace {

enum class Change { kNone, kElse, kState };

// `report`: null: nothing is known of the worker.
Change ChangeOf(const api::ProgressReport* report, const PodInput& pod) {
  const bool waits = report != nullptr && report->state == api::ProgressState::kWaiting;
  // Without one a worker makes progress.
  if (!pod.progress) return waits ? Change::kState : Change::kNone;
  const auto written = api::DecodeProgressReport(*pod.progress);
  if (!written.ok()) return Change::kState;
  const bool said_to_wait = written->state == api::ProgressState::kWaiting;
  if (said_to_wait != waits) return Change::kState;
  if (!waits) return Change::kNone;
  const bool says_else = written->last_progress_ms != report->last_progress_ms ||
                         written->processes != report->processes ||
                         written->gpus_compute != report->gpus_compute;
  // Below 0: the clock was set back.
  const std::int64_t age_ms = report->time_ms - written->time_ms;
  return says_else || age_ms < 0 || age_ms >= api::kProgressRenewalMs ? Change::kElse
                                                                      : Change::kNone;
}

}  // namespace

absl::Status ProgressWriter::Write(const PodInput& pod, const api::ProgressReport* report) {
  std::optional<std::string> text;
  if (report != nullptr) text = api::EncodeProgressReport(*report);
  const absl::Status written = AnnotatePod(client_, pod, api::kProgressAnnotation, text);
  if (written.ok()) ++writes_;
  return kube::IsGone(written) ? absl::OkStatus() : written;
}

std::vector<absl::Status> ProgressWriter::Flush(
    std::int64_t steady_ms, const std::map<std::string, api::ProgressReport>& reports,
    const std::vector<std::string>& annotated, const FindPod& find) {
  std::set<std::string> uids(annotated.begin(), annotated.end());
  for (const auto& [uid, report] : reports) uids.insert(uid);
  std::erase_if(pods_, [&](const auto& pod) { return uids.count(pod.first) == 0; });
  std::vector<absl::Status> errors;
  int left = options_.writes_per_flush;
  for (const std::string& uid : uids) {
    const auto known = pods_.find(uid);
    Pod last = known == pods_.end() ? Pod() : known->second;
    if (left == 0 || (known != pods_.end() && steady_ms < last.next_ms)) continue;
    const std::optional<PodInput> pod = find(uid);
    if (!pod) continue;
    const auto at = reports.find(uid);
    const api::ProgressReport* report = at == reports.end() ? nullptr : &at->second;
    const Change change = ChangeOf(report, *pod);
    if (change == Change::kNone || (change == Change::kElse && steady_ms < last.next_else_ms)) {
      continue;
    }
    --left;
    const absl::Status written = Write(*pod, report);
    last.next_ms = last.next_else_ms = steady_ms + options_.pod_interval_ms;
    if (written.ok()) {
      if (change == Change::kState) last.interval_ms = 0;
      last.interval_ms =
          std::clamp(2 * last.interval_ms, options_.pod_interval_ms, api::kProgressRenewalMs);
      last.next_else_ms = steady_ms + last.interval_ms;
    } else {
      errors.push_back(Annotate(written, StrCat("progress of pod ", pod->ns, "/", pod->name)));
    }
    pods_[uid] = last;
  }
  return errors;
}

}  // namespace yardmaster::agent
