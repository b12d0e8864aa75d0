// Writes of Gangs' statuses: one PUT with the resource version it was made from, and only while
// this process leads.
//
// A write that conflicts leaves the gang to the next pass, which sees the newer version. Thread
// safety: one thread. Lifetimes: everything passed in outlives the ledger.
#pragma once

#include <functional>

#include "pkg/api/gang.h"
#include "pkg/extender/pass.h"
#include "pkg/kube/client.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::extender {

// Who made a write, in metadata.managedFields.
inline constexpr char kFieldManager[] = "yardmaster-extender";

class Ledger {
 public:
  // Whether this process may write at this instant.
  using MayWrite = std::function<bool()>;

  Ledger(kube::Client& client, state::ClusterCache& cache, MayWrite may_write)
      : client_(client), cache_(cache), may_write_(std::move(may_write)) {}

  bool may_write() const { return may_write_(); }
  // Reads every Gang from the API server into the cache, because the watch may not have brought yet
  // what the leader before committed.
  absl::Status ReadAll();
  // False: nothing is known to have been written; `pass.report` says why. True: `pass.gangs` and
  // the cache hold the new version.
  bool Write(PassState& pass, const api::Gang& gang, const api::GangStatus& status);

 private:
  kube::Client& client_;
  state::ClusterCache& cache_;
  const MayWrite may_write_;
};

}  // namespace yardmaster::extender
