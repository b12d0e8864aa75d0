#include "pkg/agent/profiles/checkpoint_marks.h"

#include <algorithm>

#include "pkg/agent/plans/annotations.h"
#include "pkg/agent/plans/pod_volume.h"
#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/api_error.h"

namespace yardmaster::agent {

namespace {

constexpr std::size_t kMaxMarkBytes = 4096;

}  // namespace

absl::StatusOr<api::CheckpointMark> ReadCheckpointMark(const std::string& kubelet_pods_folder,
                                                       const std::string& pod_uid) {
  YM_ASSIGN_OR_RETURN(const UniqueFd volume,
                      OpenPodVolume(kubelet_pods_folder, pod_uid, api::kCheckpointMarkVolume));
  const auto file = ReadPodFile(volume, api::kCheckpointMarkFile, kMaxMarkBytes);
  if (!file) return absl::NotFoundError("there is no checkpoint mark");
  if (file->text.find_first_not_of(" \t\r\n") == std::string::npos) {
    return api::CheckpointMark{file->modified_ms / 1'000 * 1'000, 0};
  }
  return api::DecodeCheckpointMark(file->text);
}

absl::Status CheckpointMarks::WriteMark(std::int64_t steady_ms, const PodInput& pod, Entry& entry) {
  const auto mark = ReadCheckpointMark(options_.kubelet_pods_folder, pod.uid);
  if (absl::IsNotFound(mark.status())) return absl::OkStatus();
  YM_RETURN_IF_ERROR(mark.status());
  if (mark->time_ms <= entry.written_ms) return absl::OkStatus();
  entry.next_write_ms = steady_ms + options_.pod_interval_ms;
  const absl::Status written =
      AnnotatePod(client_, pod, api::kCheckpointAnnotation, api::EncodeCheckpointMark(*mark));
  if (!kube::IsGone(written)) YM_RETURN_IF_ERROR(written);
  entry.written_ms = mark->time_ms;
  return absl::OkStatus();
}

std::vector<absl::Status> CheckpointMarks::Poll(std::int64_t steady_ms,
                                                const std::vector<std::string>& uids,
                                                const FindPod& find) {
  std::vector<absl::Status> errors;
  if (options_.kubelet_pods_folder.empty() || steady_ms < next_read_ms_) return errors;
  next_read_ms_ = steady_ms + options_.read_interval_ms;
  std::erase_if(entries_, [&](const auto& entry) {
    return std::find(uids.begin(), uids.end(), entry.first) == uids.end();
  });
  for (const std::string& uid : uids) {
    const std::optional<PodInput> pod = find(uid);
    if (!pod) continue;
    Entry& entry = entries_[uid];
    if (steady_ms < entry.next_write_ms) continue;
    const absl::Status status = WriteMark(steady_ms, *pod, entry);
    if (!status.ok()) {
      errors.push_back(
          Annotate(status, StrCat("checkpoint mark of pod ", pod->ns, "/", pod->name)));
    }
  }
  return errors;
}

}  // namespace yardmaster::agent
