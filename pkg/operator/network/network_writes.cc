#include "pkg/operator/network/network_writes.h"

#include <algorithm>
#include <tuple>

#include "nlohmann/json.hpp"

#include "pkg/base/backoff.h"
#include "pkg/base/mutex.h"
#include "pkg/base/parallel.h"
#include "pkg/base/status.h"
#include "pkg/kube/api_error.h"
#include "pkg/operator/write_target.h"

namespace yardmaster::op {

namespace {

auto OrderOf(const PodWrite& write) {
  const bool gated = write.waiting > 0;
  return std::tuple(!gated, write.waiting, write.renewal, gated ? 0 : write.rise,
                    write.pod->metadata.namespace_name, write.pod->metadata.name);
}

constexpr BackoffLimits kDeniedWait{1'000, 300'000};

// The API server has understood the patch and has not taken it: the pod is not as it was known, is
// released already, or a policy keeps the operator from releasing it.
bool WasNotTaken(const absl::Status& status) {
  return kube::IsDenied(status) || absl::IsFailedPrecondition(status) || absl::IsAborted(status);
}

}  // namespace

absl::StatusOr<nlohmann::json> PodWriter::Send(const PodWrite& write, bool& released) const {
  const api::ObjectMeta& metadata = write.pod->metadata;
  const kube::Target target{kube::Pods(), metadata.namespace_name, metadata.name, ""};
  if (write.release) {
    const auto gang = cache_.FindGang(write.release->gang.text());
    if ((options_.leads && !options_.leads()) || !StillHolds(*write.release, gang.get())) {
      return absl::AbortedError("planned for a place that the gang had before");
    }
    if (const auto patch = api::ReleasePatchOf(*write.pod, write.release->pin, write.annotations)) {
      auto written = client_.Patch(target, kube::JsonPatch(*patch), {kFieldManager});
      released = written.ok();
      if (!WasNotTaken(written.status())) return written;
    }
  }
  const nlohmann::json patch = {
      {"metadata", {{"uid", metadata.uid}, {"annotations", write.annotations}}}};
  return client_.Patch(target, kube::MergePatch(patch), {kFieldManager});
}

bool PodWriter::WriteSome(const std::vector<PodWrite>& writes, std::size_t first, std::size_t last,
                          std::int64_t now_ms, WriteResult& result) {
  Mutex mutex;
  bool all = true;
  ParallelFor(last - first, options_.threads, [&](std::size_t i) {
    const PodWrite& write = writes[first + i];
    const api::ObjectMeta& metadata = write.pod->metadata;
    bool released = false;
    const auto written = Send(write, released);
    if (written.ok()) cache_.Assume(state::Kind::kPod, *written);
    const std::string name = StrCat("Pod ", metadata.namespace_name, "/", metadata.name);
    const MutexLock lock(mutex);
    if (written.ok()) {
      ++result.done;
      result.released += released ? 1 : 0;
      denied_.erase(metadata.uid);
    } else if (kube::IsDenied(written.status())) {
      Denied& denied = denied_[metadata.uid];
      denied.wait_ms = NextDelayMs(denied.wait_ms, kDeniedWait);
      denied.until_ms = now_ms + denied.wait_ms;
      result.Fail(name, written.status());
    } else if (!absl::IsNotFound(written.status()) && !absl::IsAborted(written.status()) &&
               !absl::IsFailedPrecondition(written.status())) {
      all = false;
      result.Fail(name, written.status());
    }
  });
  return all;
}

std::optional<std::int64_t> PodWriter::LeaveOutDenied(std::vector<PodWrite>& writes,
                                                      std::int64_t now_ms) {
  std::erase_if(denied_, [now_ms](const auto& entry) {
    return now_ms - entry.second.until_ms >= kDeniedWait.max_ms;
  });
  std::optional<std::int64_t> again_ms;
  std::erase_if(writes, [&](const PodWrite& write) {
    const auto denied = denied_.find(write.pod->metadata.uid);
    if (denied == denied_.end() || denied->second.until_ms <= now_ms) return false;
    const std::int64_t left_ms = denied->second.until_ms - now_ms;
    again_ms = std::min(again_ms.value_or(left_ms), left_ms);
    return true;
  });
  return again_ms;
}

WriteResult PodWriter::Write(std::vector<PodWrite> writes, std::int64_t now_ms) {
  const std::optional<std::int64_t> again_ms = LeaveOutDenied(writes, now_ms);
  std::sort(writes.begin(), writes.end(),
            [](const PodWrite& a, const PodWrite& b) { return OrderOf(a) < OrderOf(b); });
  left_ = std::move(writes);
  WriteResult result = WriteLeft(now_ms);
  result.again_ms = again_ms;
  return result;
}

// A fall may have failed that a rise waits for: only a new plan knows. Pods behind the gate send
// nothing, so that no order binds them to the others.
void PodWriter::KeepGatedOnly() {
  left_.erase(
      std::find_if(left_.begin(), left_.end(), [](const PodWrite& w) { return w.waiting == 0; }),
      left_.end());
}

WriteResult PodWriter::WriteLeft(std::int64_t now_ms) {
  WriteResult result;
  const std::vector<PodWrite> writes = std::move(left_);
  left_.clear();
  const auto gated = static_cast<std::size_t>(
      std::count_if(writes.begin(), writes.end(), [](const PodWrite& w) { return w.waiting > 0; }));
  const std::size_t begun = std::min(gated, options_.gated_at_once);
  bool failed = !WriteSome(writes, 0, begun, now_ms, result);
  left_.insert(left_.end(), writes.begin() + static_cast<std::ptrdiff_t>(begun),
               writes.begin() + static_cast<std::ptrdiff_t>(gated));
  const std::size_t allowed = gated + bucket_.Take(writes.size() - gated, now_ms);
  bool may_rise = true;
  for (std::size_t first = gated; first < writes.size();) {
    // One rise after the other, so that what falls is down before anything climbs.
    std::size_t last = first;
    while (last < writes.size() && writes[last].rise == writes[first].rise &&
           writes[last].renewal == writes[first].renewal) {
      ++last;
    }
    const bool rises = writes[first].rise > 0;
    std::size_t end = std::min(last, std::max(first, allowed));
    if (rises && !may_rise) end = first;
    const bool all = WriteSome(writes, first, end, now_ms, result);
    failed = failed || !all;
    if (writes[first].rise < 0 && (!all || end < last)) may_rise = false;
    left_.insert(left_.end(), writes.begin() + static_cast<std::ptrdiff_t>(end),
                 writes.begin() + static_cast<std::ptrdiff_t>(last));
    first = last;
  }
  result.deferred = static_cast<int>(left_.size());
  if (failed) KeepGatedOnly();
  return result;
}

}  // namespace yardmaster::op
