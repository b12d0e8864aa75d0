#include "pkg/agent/profiles/progress_writer.h"

#include "pkg/agent/plans/annotations.h"
#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/api_error.h"

namespace yardmaster::agent {

namespace {

bool SaysOther(const api::ProgressReport& report, const PodInput& pod) {
  const bool waits = report.state == api::ProgressState::kWaiting;
  const auto written = api::DecodeProgressReport(pod.progress.value_or(""));
  // Without one a worker makes progress.
  if (!written.ok()) return waits || pod.progress;
  if (written->state != report.state) return true;
  return waits &&
         (written->last_progress_ms != report.last_progress_ms ||
          written->processes != report.processes || written->gpus_compute != report.gpus_compute);
}

}  // namespace

std::vector<absl::Status> ProgressWriter::Flush(
    std::int64_t steady_ms, const std::map<std::string, api::ProgressReport>& reports,
    const FindPod& find) {
  std::vector<absl::Status> errors;
  std::erase_if(next_write_ms_, [&](const auto& pod) { return reports.count(pod.first) == 0; });
  int left = options_.writes_per_flush;
  for (const auto& [uid, report] : reports) {
    const auto next = next_write_ms_.find(uid);
    if (left == 0 || (next != next_write_ms_.end() && steady_ms < next->second)) continue;
    const std::optional<PodInput> pod = find(uid);
    if (!pod || !SaysOther(report, *pod)) continue;
    --left;
    next_write_ms_[uid] = steady_ms + options_.pod_interval_ms;
    const absl::Status written =
        AnnotatePod(client_, *pod, api::kProgressAnnotation, api::EncodeProgressReport(report));
    if (written.ok()) ++writes_;
    if (!written.ok() && !kube::IsGone(written)) {
      errors.push_back(Annotate(written, StrCat("progress of pod ", pod->ns, "/", pod->name)));
    }
  }
  return errors;
}

}  // namespace yardmaster::agent
