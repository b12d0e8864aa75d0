// Writes of Gangs, by the process that leads and by no other.
//
// What the ledger promises:
//   1. One leader writes. Every write carries the fencing token of the hold of the lease under
//      which its pass began, and is made only while that hold is the current one. A hold's first
//      pass lists all Gangs, writes its token on every unfinished one and reads it in the same
//      call: from then on no write of an earlier leader takes effect, however late it arrives,
//      because it names an older resource version. The API server refuses a smaller token
//      (validation rule of the Gang), which stops an earlier leader that has read the newer
//      version.
//   2. No write stays indeterminate. After a write that may or may not have taken effect the Gang
//      is written once more (status.settledWrites), which reads what holds and makes a late arrival
//      of that write impossible. While that fails, too, the Gang is not to be written, and the
//      hosts of both versions are to be treated as promised.
// A write that conflicts leaves the gang to the next pass, which sees the newer version. Where it
// changes no promise, and the newer version differs in what the operator writes alone, it is made
// again on that version at once.
//
// Thread safety: one thread, but may_write from any. Lifetimes: everything passed in outlives the
// ledger.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/gang.h"
#include "pkg/extender/ledger/gang_backoff.h"
#include "pkg/extender/ledger/pass_report.h"
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

  Ledger(kube::Client& client, state::ClusterCache& cache, GangBackoff& backoff, Fence fence,
         Options options)
      : client_(client),
        fence_client_(options.fence_client != nullptr ? *options.fence_client : client),
        cache_(cache),
        backoff_(backoff),
        fence_(std::move(fence)),
        options_(options) {}

  // Begins a pass under the present hold. True: this process leads, the cache has every Gang as it
  // is, and no write of an earlier leader can take effect. False: the pass writes nothing; `report`
  // says why, unless this process simply does not lead. Indeterminate writes of gangs that back off
  // stay so.
  bool BeginPass(PassReport& report);
  // The hold under which the pass began is the current one. Ask before every write.
  bool may_write() const { return pass_token_ != 0 && fence_.token() == pass_token_; }

  // What became of a write.
  struct Written {
    bool is_done = false;  // the Gang is as it was to be; else it is not, or not known to be
    std::shared_ptr<const api::Gang> gang;  // the newest version, as far as one was read; else null
  };
  // The plan of `base`, and all else of its status. Of a failure `report` says why, and it counts
  // against the gang. REQUIRES: may_write, and the gang's last write is not indeterminate.
  Written WriteStatus(const api::Gang& base, const api::GangStatus& status, PassReport& report);
  // Makes the Gang (`is_new`), or gives it this spec.
  Written WriteSpec(const api::Gang& gang, bool is_new, PassReport& report);

  // A write that may still take effect.
  struct IndeterminateWrite {
    // The version that it names is gone: it has taken effect, or never will.
    bool conflicted = false;
    std::shared_ptr<const api::Gang>
        attempted;  // as the Gang would be, on top of the version that was written
  };
  const std::map<NamespacedName, IndeterminateWrite>& indeterminate() const {
    return indeterminate_;
  }

 private:
  bool TakeOver(std::int64_t token, PassReport& report);
  // True: some Gang has a token that `token` is not above, and a greater one was asked for.
  bool RaiseToken(const std::vector<kube::ObjectPtr>& gangs, std::int64_t token);
  bool FenceAll(const std::vector<kube::ObjectPtr>& gangs, std::int64_t token, PassReport& report);
  // OK: no earlier write of this Gang can take effect any more.
  absl::Status FenceOne(const nlohmann::json& gang, std::int64_t token, std::string& problem);
  void ResolveAll(PassReport& report);
  // The present Gang, after the write was made impossible.
  absl::StatusOr<nlohmann::json> Resolve(const IndeterminateWrite& write);
  Written Resolve(IndeterminateWrite write, PassReport& report);
  // `wanted`, which was made from `base`, on the version that is there now. Null: it is to be
  // decided again from that version, or is there already.
  std::shared_ptr<const api::Gang> OnNewer(const api::Gang& base, const api::Gang& wanted);
  // Null, and a problem is reported, where the answer cannot be read.
  std::shared_ptr<const api::Gang> Assume(const nlohmann::json& gang, PassReport& report);

  kube::Client& client_;
  kube::Client& fence_client_;
  state::ClusterCache& cache_;
  GangBackoff& backoff_;
  const Fence fence_;
  const Options options_;

  std::int64_t begun_token_ = 0;   // the hold whose take-over has begun
  std::int64_t fenced_token_ = 0;  // the hold whose token is on every unfinished Gang
  std::atomic<std::int64_t> pass_token_ = 0;
  std::map<NamespacedName, IndeterminateWrite> indeterminate_;
};

}  // namespace yardmaster::extender
