// Writes the annotations of pods in a safe order and at a bounded rate.
//
// Order:
//   1. Gated pods that wait for their network plan. Their gang is released with it and sends no
//      traffic before. Gangs with few waiting pods come first, so that a replaced rank does not
//      wait for a large new gang. These writes take no tokens; one call makes `gated_at_once` of
//      them.
//   2. Levels that fall, the deepest fall first; then new ports; then levels that rise. A level
//      rises only once every fall of the round is written, so that no instant has more jobs on a
//      high level than planned.
//   3. Plans of which only the expiry is renewed.
//
// Rate: a token bucket limits the writes of 2 and 3. Deferred writes are kept in order and sent by
// WriteLeft when tokens are available, without another plan. The next round replaces them. A failed
// write drops the deferred writes of pods without the gate until the next round; those of gated
// pods depend on no other write.
//
// Release: the write of a gated pod may also release it (pod_release.h), if this process leads and
// the Gang still has the plan from which the write follows. Otherwise the pod is not written, and
// the next round decides again. If the API server rejects the release, because the pod has changed
// or a policy forbids it, the annotations alone are written, and the extender releases the pod.
//
// Denied writes: a write that the API server denies (a policy, annotations that are too long)
// affects only its pod. No level waits for it and no deferred write is dropped. The pod is skipped
// for a time that doubles with each denial.
//
// Thread safety: one thread calls the methods; they write on several threads. Lifetimes: client and
// cache outlive the object.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/pod.h"
#include "pkg/base/run_once.h"
#include "pkg/base/token_bucket.h"
#include "pkg/kube/client.h"
#include "pkg/operator/network/pod_release.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

struct PodWrite {
  std::shared_ptr<const api::Pod> pod;
  std::map<std::string, std::string> annotations;
  int rise = 0;          // new level minus old
  bool renewal = false;  // only the expiry changes
  // Number of gated pods of its gang whose release waits for such a write, including this one; 0:
  // the pod is not gated.
  int waiting = 0;
  std::optional<PlannedRelease> release = std::nullopt;  // of a gated pod
};

struct PodWriterOptions {
  double writes_per_second = 50;
  double burst = 200;
  std::size_t threads = 4;
  std::size_t gated_at_once = 24;  // per call
  // Returns whether this process leads; called before each release. Null: it leads.
  std::function<bool()> leads = {};
};

// `done`: pods written. `again_ms`: when the first pod that was skipped after a denial may be tried
// again.
struct WriteResult : RunResult {
  int released = 0;  // of the pods written, those that were released
  // Writes deferred for lack of tokens, above `gated_at_once`, or because a fall is not written
  // yet.
  int deferred = 0;
};

class PodWriter {
 public:
  PodWriter(kube::Client& client, state::ClusterCache& cache, PodWriterOptions options)
      : client_(client),
        cache_(cache),
        options_(std::move(options)),
        bucket_(options_.writes_per_second, options_.burst) {}

  // Writes `writes`, and drops deferred writes of earlier rounds: `writes` contains those that are
  // still needed.
  WriteResult Write(std::vector<PodWrite> writes, std::int64_t now_ms);
  // Sends deferred writes, as many as there are tokens.
  WriteResult WriteLeft(std::int64_t now_ms);
  bool HasLeft() const { return !left_.empty(); }
  // True if gated pods wait for deferred writes.
  bool HasWaiting() const { return !left_.empty() && left_.front().waiting > 0; }
  void DropLeft() { left_.clear(); }

 private:
  // A pod whose last write was denied.
  struct Denied {
    std::int64_t wait_ms = 0;
    std::int64_t until_ms = 0;
  };

  // Sets `released` if the gate was opened. Errors: Aborted if the place for which the release was
  // planned is outdated.
  absl::StatusOr<nlohmann::json> Send(const PodWrite& write, bool& released) const;
  // Writes [first, last). True if all were written or denied, or their pods are gone.
  bool WriteSome(const std::vector<PodWrite>& writes, std::size_t first, std::size_t last,
                 std::int64_t now_ms, WriteResult& result);
  // Removes pods that are skipped after a denial. Returns the time until the first may be tried
  // again.
  std::optional<std::int64_t> LeaveOutDenied(std::vector<PodWrite>& writes, std::int64_t now_ms);
  // Drops the deferred writes of pods without the gate.
  void KeepGatedOnly();

  kube::Client& client_;
  state::ClusterCache& cache_;
  const PodWriterOptions options_;
  TokenBucket bucket_;
  std::vector<PodWrite> left_;            // in order
  std::map<std::string, Denied> denied_;  // by the pod's uid
};

}  // namespace yardmaster::op
