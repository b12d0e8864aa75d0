// What the owner says of a gang without a place whose pods are not whole as they stand: its size, where
// it was scaled since the template was written, before the gang was placed or after it lost its place;
// the replicas that have ended for good, of which no pods come; and, where it makes its pods in stages
// (owner_stages.h), the size of those that have begun.
//
// The owner is read only when the pods do not make a gang as they stand: at once when they contradict
// themselves, after three seconds without a change when some seem to be missing, then ever less
// often. Its size counts only when exactly as many pods are there, or have ended, as it wants in all. The Jobs
// of a JobSet are read, too, those of at most 16 subgroups that lack a pod.
//
// Thread safety: one thread. Lifetimes: everything passed in outlives it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"

#include "pkg/base/clock.h"
#include "pkg/extender/ledger/ask_times.h"
#include "pkg/extender/ledger/pass.h"
#include "pkg/kube/client.h"

namespace yardmaster::extender {

struct OwnerSays {
  std::optional<int> size;     // nullopt: it is not known
  std::vector<Replica> ended;  // in order
  bool more_to_come = false;   // the size is that of the stages that have begun
  // Why the missing pods never come (owner_stages.h); empty: as far as known they do.
  std::string why_not;
};

class UnplacedSize {
 public:
  UnplacedSize(kube::Client& client, const Clock& clock)
      : client_(client), clock_(clock), ask_times_(clock) {}

  // Around the questions of one pass.
  void Begin();
  void End();
  // Of a gang that could not be made from its pods, because they contradict themselves (`contradict`) or
  // some are missing.
  OwnerSays Of(PassState& pass, const NamespacedName& key, bool contradict);

 private:
  // Since when a set of pods has been as it is.
  struct Seen {
    std::shared_ptr<const GatheredGang> pods;
    std::int64_t since_ms = 0;  // steady
    OwnerSays says;             // what the owner said of them
    std::uint64_t round = 0;
  };

  OwnerSays Ask(const PassState& pass, const NamespacedName& key, const GatheredGang& pods);
  std::vector<Replica> EndedOf(const PassState& pass, const NamespacedName& key,
                               const GatheredGang& pods, const nlohmann::json& owner);

  kube::Client& client_;
  const Clock& clock_;
  AskTimes ask_times_;
  std::uint64_t round_ = 0;
  std::map<NamespacedName, Seen> seen_;
};

}  // namespace yardmaster::extender
