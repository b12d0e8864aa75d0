// The order and the rate in which pods' annotations are written.
//
// First of all, what pods behind the gate wait for: their gang is released when it is written, and
// until then they send nothing. Gangs of which few pods wait go first, so that a rank that was
// replaced does not wait for a large new gang. These writes take no tokens; one call makes
// `gated_at_once` of them. Then, with tokens: levels that fall, the deepest fall first, then new
// ports, then levels that rise; last of all plans that are only renewed. A level rises only once
// every fall of the round is written: no instant has more jobs on a high level than planned. A
// token bucket bounds the rate. What it does not allow is kept, in order, and goes out with later
// tokens (WriteLeft) without another plan. The next round replaces what is kept. A write that
// failed drops what is kept of pods in front of the gate until the next round; pods behind it wait
// for no other write.
//
// A pod behind the gate may be released with the same write (pod_release.h), while this process
// leads and the Gang has the plan that it follows from; else nothing is written, and the next round
// decides again. If the API server does not take the release, because the pod is not as it was
// known or a policy forbids it, the annotations are written alone and the extender releases the
// pod.
//
// A write that the API server denies (a policy, annotations that are too long) is its pod's own
// matter: no level waits for it, nothing that is kept is dropped, and it is left out of the next
// rounds, for twice as long after each denial.
//
// Thread safety: none, but writes go out on several threads. Lifetimes: client and cache outlive
// it.
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
  bool renewal = false;  // nothing new but the expiry
  // Pods of its gang behind the gate whose release waits for such a write, this one included; 0:
  // the pod is in front of the gate.
  int waiting = 0;
  std::optional<PlannedRelease> release = std::nullopt;  // of a pod behind the gate
};

struct PodWriterOptions {
  double writes_per_second = 50;
  double burst = 200;
  std::size_t threads = 4;
  std::size_t gated_at_once = 24;  // of one call
  // Whether this process leads, asked before each release; null: it does.
  std::function<bool()> leads = {};
};

// `done`: pods written. Run again when the first pod whose write was left out after a denial may be
// tried again.
struct WriteResult : RunResult {
  int released = 0;  // of the pods written, those whose gate was opened
  // For want of tokens, above `gated_at_once`, or because a fall before them is not written.
  int deferred = 0;
};

class PodWriter {
 public:
  PodWriter(kube::Client& client, state::ClusterCache& cache, PodWriterOptions options)
      : client_(client),
        cache_(cache),
        options_(std::move(options)),
        bucket_(options_.writes_per_second, options_.burst) {}

  // Drops the deferred writes of earlier rounds: `writes` has those that are still needed.
  WriteResult Write(std::vector<PodWrite> writes, std::int64_t now_ms);
  // Of what is left, as much as there are tokens for.
  WriteResult WriteLeft(std::int64_t now_ms);
  bool HasLeft() const { return !left_.empty(); }
  // Pods behind the gate wait for what is left.
  bool HasWaiting() const { return !left_.empty() && left_.front().waiting > 0; }
  void DropLeft() { left_.clear(); }

 private:
  // A pod whose last write was denied.
  struct Denied {
    std::int64_t wait_ms = 0;
    std::int64_t until_ms = 0;
  };

  // `released`: whether the gate was opened. Aborted: the release was planned for what does not
  // hold any more.
  absl::StatusOr<nlohmann::json> Send(const PodWrite& write, bool& released) const;
  // Writes [first, last); true when all are written or denied, or their pods are gone.
  bool WriteSome(const std::vector<PodWrite>& writes, std::size_t first, std::size_t last,
                 std::int64_t now_ms, WriteResult& result);
  // How long until the first that was left out may be tried again.
  std::optional<std::int64_t> LeaveOutDenied(std::vector<PodWrite>& writes, std::int64_t now_ms);
  void KeepGatedOnly();

  kube::Client& client_;
  state::ClusterCache& cache_;
  const PodWriterOptions options_;
  TokenBucket bucket_;
  std::vector<PodWrite> left_;            // in order
  std::map<std::string, Denied> denied_;  // by the pod's uid
};

}  // namespace yardmaster::op
