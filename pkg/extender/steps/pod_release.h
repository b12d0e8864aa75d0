// Releases the pods of committed gangs: each gets its slot annotation, is pinned to its slot's host
// and ungated, in one patch. Pods that came without the gate get slot and tolerations only.
//
// Left alone: pods of gangs that wait for their network plan (network_wait.h), that are being stopped,
// are in quarantine or back off, or whose plan is in doubt; pods of ranks whose host is unavailable or
// refused (they wait for their replacement); pods behind a gate of others; and every pod once the hold
// under which the pass began has ended. A patch names
// the pod by the uid that was planned, so that a pod made again under its name waits for a pass
// that has seen it. Level triggered: what is released already is not touched.
//
// A pass releases for `slice_ms` and leaves the rest to the next one, which should follow without a pause
// (PassReport::releases_left): thousands of pods that are released do not hold up gangs that lost a
// host. Ranks of gangs that have been released before go first; the others are released gang by gang, in
// the order in which they were committed. While a gang that ran lacks a rank, a quarter as many patches are on their way at once:
// its replacement takes calls of the operator and of kube-scheduler to the same API server. A gang that lacks one for longer than
// 30 s waits for something else, and slows nothing down. Thread safety: one thread
// calls; it writes on several. Lifetimes: everything passed in outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/extender/steps/network_wait.h"
#include "pkg/extender/steps/pass_step.h"

namespace yardmaster::extender {

class PodRelease : PassStep {
 public:
  struct Options {
    std::size_t threads = 8;
    std::int64_t slice_ms = 250;
    std::int64_t network_wait_ms = 0;  // network_wait.h
  };

  PodRelease(const StepTools& tools, Options options)
      : PassStep(tools),
        options_(options),
        network_wait_(tools.clock, tools.notify, options.network_wait_ms) {}
  void Run(PassState& pass);

 private:
  struct Work;

  static std::vector<Work> Collect(const PassState& pass, const Ledger& ledger);
  void HoldBack(PassState& pass, std::vector<Work>& work);
  bool SomeGangRecovers(const PassState& pass);
  // Errors: Internal for an exception, which is the pod's fault as far as known; those of the client.
  absl::StatusOr<nlohmann::json> Write(const Work& work);
  absl::StatusOr<nlohmann::json> Release(const Work& work);

  const Options options_;
  NetworkWait network_wait_;
  std::map<NamespacedName, std::int64_t> recovering_since_ms_;  // gangs that lack a rank, steady
};

}  // namespace yardmaster::extender
