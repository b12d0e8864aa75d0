// Ledger writes Gangs, and ensures that only the leader writes them and that the outcome of every
// write becomes known.
//
//   1. Only one leader writes. Every write carries the fencing token of the hold of the lease under
//      which its pass began, and is sent only while that hold is current. The first pass of a hold
//      lists all Gangs and writes its token on every unfinished one. From then on no write of an
//      earlier leader takes effect, because it names an older resource version. The API server
//      refuses a smaller token (validation rule of the Gang), which stops an earlier leader that
//      has read the newer version. A Gang whose status cannot be written by this process is
//      reported as a problem and skipped.
//   2. No write stays indeterminate. After a write whose outcome is unknown, the ledger increments
//      status.settledWrites of the Gang: the answer shows which version holds, and the unknown
//      write can no longer take effect. While that write fails, too, the Gang must not be written,
//      and the hosts of both versions count as promised.
//   3. After a conflict the next pass decides again from the newer version. If the write changes no
//      promise, and the newer version differs only in what the operator writes, the ledger repeats
//      the write at once.
//
// Thread safety: one thread; may_write: any thread. Lifetimes: everything passed in outlives the
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

// The name in metadata.managedFields.
inline constexpr char kFieldManager[] = "yardmaster-extender";

// The hold of the lease by this process. Both functions may be called from any thread.
struct Fence {
  // Returns the fencing token of the present hold; 0: this process does not lead. It is greater
  // than that of every earlier hold of any process.
  std::function<std::int64_t()> token;
  // Ends the present hold if its token is not greater than `token`, and makes later tokens greater.
  // Called when a Gang has a token that the lease does not know.
  std::function<void(std::int64_t token)> require_above;
};

class Ledger {
 public:
  struct Options {
    kube::Client* fence_client = nullptr;  // has its own rate limit; null: `client`
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

  // Begins a pass under the present hold. Returns true if this process leads; then the cache has
  // the current version of every Gang, and no write of an earlier leader can take effect. Returns
  // false if the pass must not write; `report` has the error, unless this process does not lead.
  // Indeterminate writes of gangs that back off stay indeterminate.
  bool BeginPass(PassReport& report);
  // Whether the hold under which the pass began is current. Callers check it before every write.
  bool may_write() const { return pass_token_ != 0 && fence_.token() == pass_token_; }

  // The result of a write.
  struct Written {
    bool is_done = false;  // the Gang has the written state; false: it has not, or it is unknown
    std::shared_ptr<const api::Gang> gang;  // the newest version that was read; null: none
  };
  // Writes the status of `base`. On failure `report` has the error, and the gang backs off.
  // REQUIRES: may_write, and the gang has no indeterminate write.
  Written WriteStatus(const api::Gang& base, const api::GangStatus& status, PassReport& report);
  // Creates the Gang (`is_new`), or replaces its spec.
  Written WriteSpec(const api::Gang& gang, bool is_new, PassReport& report);

  // A write that may still take effect.
  struct IndeterminateWrite {
    // The write named an old version: it has taken effect, or never will.
    bool conflicted = false;
    std::shared_ptr<const api::Gang>
        attempted;  // the Gang as the write would leave it, based on the version that it named
  };
  const std::map<NamespacedName, IndeterminateWrite>& indeterminate() const {
    return indeterminate_;
  }

 private:
  bool TakeOver(std::int64_t token, PassReport& report);
  // Returns true if a Gang has a token that is not smaller than `token`; a greater one was
  // requested.
  bool RaiseToken(const std::vector<kube::ObjectPtr>& gangs, std::int64_t token);
  bool FenceAll(const std::vector<kube::ObjectPtr>& gangs, std::int64_t token, PassReport& report);
  // OK: no earlier write of this Gang can take effect, or `problem` says why it cannot be fenced.
  absl::Status FenceOne(const nlohmann::json& gang, std::int64_t token, std::string& problem);
  void ResolveAll(PassReport& report);
  // Prevents the write from taking effect later. Returns the present Gang.
  absl::StatusOr<nlohmann::json> Resolve(const IndeterminateWrite& write);
  Written Resolve(IndeterminateWrite write, PassReport& report);
  // Applies `wanted`, which was computed from `base`, to the present version. Null: it must be
  // decided again, or it holds already.
  std::shared_ptr<const api::Gang> OnNewer(const api::Gang& base, const api::Gang& wanted);
  // Returns null, with an error in `report`, if the answer cannot be decoded.
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
