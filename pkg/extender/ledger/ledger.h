// Writes of Gangs, by the process that leads and by no other.
//
// What the ledger promises:
//   1. One leader writes. Every write carries the fencing token of the hold of the lease under
//      which its pass began, and is made only while that hold is the current one. A hold's first
//      pass writes its token on every unfinished Gang and reads the Gang in the same call: from
//      then on no write of an earlier leader takes effect, however late it arrives, because it
//      names an older resource version. The API server refuses a smaller token (validation rule
//      of the Gang), which stops an earlier leader that has read the newer version.
//   2. No write stays in doubt. After a write that may or may not have taken effect the Gang is
//      written once more (status.settledWrites), which reads what holds and makes the write in
//      doubt impossible. While that fails, too, the Gang is not written, and the hosts of both
//      versions are treated as promised.
// A write that conflicts leaves the gang to the next pass, which sees the newer version.
//
// Thread safety: one thread, but may_write from any. Lifetimes: everything passed in outlives the
// ledger.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/gang.h"
#include "pkg/extender/ledger/pass.h"
#include "pkg/kube/client.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::extender {

// The manager's name in metadata.managedFields.
inline constexpr char kFieldManager[] = "yardmaster-extender";

// This process's hold of the lease. Both from any thread.
struct Fence {
  // Fencing token of the present hold; 0 while this process does not lead. Greater than that of
  // every earlier hold of any process.
  std::function<std::int64_t()> token;
  // Ends a present hold whose token is not greater than `token`, and makes those of later holds
  // greater: the ledger holds `token`, although the lease does not know of it.
  std::function<void(std::int64_t token)> require_above;
};

class Ledger {
 public:
  struct Options {
    kube::Client* fence_client = nullptr;  // with a rate limit of its own; null: the other one
    std::size_t fence_threads = 32;
  };

  Ledger(kube::Client& client, state::ClusterCache& cache, Fence fence, Options options)
      : client_(client),
        fence_client_(options.fence_client != nullptr ? *options.fence_client : client),
        cache_(cache),
        fence_(std::move(fence)),
        options_(options) {}

  // Begins a pass under the present hold. True: this process leads, the cache has every Gang as it
  // is, and no write of an earlier leader can take effect. False: the pass writes nothing;
  // `pass.report` says why, unless this process simply does not lead. Gangs of `pass.backing_off`
  // stay in doubt.
  bool BeginPass(PassState& pass);
  // The hold under which the pass began is the current one. Ask before every write.
  bool may_write() const { return pass_token_ != 0 && fence_.token() == pass_token_; }
  // True: the Gang's plan is as in `status`. False: it is not, or not known to be; `pass.report`
  // says why, unless the gang waits after a refused write (gang_backoff.h) or is in quarantine: then
  // nothing is written.
  // Either way `pass.gangs` and the cache hold the newest version that was read, and hosts that may
  // have been promised are taken off `pass.snapshot`.
  bool Write(PassState& pass, const api::Gang& gang, const api::GangStatus& status);
  // Makes the Gang, if there is none, or gives it this spec. True: `pass` has it, and `pods` by the
  // ranks that it gives. False: `pass.report` says why, as for Write.
  bool WriteSpec(PassState& pass, const api::Gang& gang, GatheredGang pods);
  // The last write of this Gang may still take effect.
  bool InDoubt(const NamespacedName& gang) const { return doubts_.count(gang) != 0; }
  // Hosts that a write in doubt may have promised.
  std::set<std::string> HostsInDoubt() const;
  // Takes hosts that a write in doubt may have promised off a new snapshot.
  void HoldHostsInDoubt(PassState& pass) const;

 private:
  // A write without a known outcome.
  struct Doubt {
    // The version that it names is gone: it has taken effect, or never will.
    bool conflicted;
    api::Gang attempted;  // the Gang as it would be, on top of the version that was written
  };

  bool MayWrite(const PassState& pass, const NamespacedName& gang) const;
  bool TakeOver(std::int64_t token, PassReport& report);
  // True: some Gang has a token that `token` is not above, and a greater one was asked for.
  bool RaiseToken(const std::vector<kube::ObjectPtr>& gangs, std::int64_t token);
  bool FenceAll(const std::vector<kube::ObjectPtr>& gangs, std::int64_t token, PassReport& report);
  // OK: no earlier write of this Gang can take effect any more.
  absl::Status FenceOne(const nlohmann::json& gang, std::int64_t token, std::string& problem);
  void SettleAll(PassState& pass);
  // The present Gang, after the write in doubt was made impossible.
  absl::StatusOr<nlohmann::json> Settle(const Doubt& doubt);
  bool Resolve(PassState& pass, const Doubt& doubt);
  bool Keep(PassState& pass, const nlohmann::json& gang);
  static void HoldHosts(const Doubt& doubt, PassState& pass);

  kube::Client& client_;
  kube::Client& fence_client_;
  state::ClusterCache& cache_;
  const Fence fence_;
  const Options options_;

  std::int64_t begun_token_ = 0;   // the hold whose take-over has begun
  std::int64_t fenced_token_ = 0;  // the hold whose token is on every unfinished Gang
  std::atomic<std::int64_t> pass_token_ = 0;
  std::map<NamespacedName, Doubt> doubts_;
};

}  // namespace yardmaster::extender
