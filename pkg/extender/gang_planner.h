// The extender's planner: one pass over the world gathers pods into gangs, plans those that wait,
// commits each plan in one write, moves ranks off lost hosts, and releases the pods of committed
// gangs.
//
// Level triggered: a pass looks at everything and does what is missing, so a pass that was cut
// anywhere, by a crash or a lost write, is finished by the next one, in this process or another.
// Nothing is kept between passes but the world cache.
//
// Order inside a pass, and why:
//   1. gangs for complete sets of pods          (a Gang without assignments holds nothing)
//   2. the View is published                    (filter knows every committed slot)
//   3. replacements, then new gangs, each: plan, verify, ONE status write, View again
//   4. release: pods of committed gangs are pinned and ungated, after the View that lets them in
// A write that conflicts drops its gang until the next pass, which sees the newer version.
//
// Thread safety: one thread calls Pass. Lifetimes: everything passed in outlives the planner.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/extender/gather.h"
#include "pkg/extender/view.h"
#include "pkg/kube/client.h"
#include "pkg/plan/planner.h"
#include "pkg/state/world.h"

namespace yardmaster::extender {

// What people are told: an event on an object.
struct Notice {
  api::OwnerReference regarding;
  std::string namespace_name;
  bool warning = false;
  std::string reason;  // "Placed", "NotPlaced", "HostReplaced"
  std::string note;
};

struct PassReport {
  int gangs_created = 0;
  int committed = 0;
  int replaced_ranks = 0;
  int released_pods = 0;
  int waiting = 0;                    // gangs without a place
  std::vector<std::string> errors;    // writes that failed; the next pass tries again
  std::vector<std::string> problems;  // input that cannot be used
};

class GangPlanner {
 public:
  struct Options {
    std::size_t release_threads = 8;
    plan::PlanOptions plan;
  };
  // Whether this process may write at this instant.
  using MayWrite = std::function<bool()>;
  using Publish = std::function<void(std::shared_ptr<const View>)>;
  using Notify = std::function<void(const Notice&)>;

  GangPlanner(kube::Client& client, state::WorldCache& cache, const Clock& clock,
              MayWrite may_write, Publish publish, Notify notify, Options options);

  // A follower publishes the View and writes nothing. The first pass of a leader reads the ledger
  // from the API server itself, because the watch may not have brought yet what the leader before
  // committed.
  PassReport Pass();

 private:
  struct Pass_;  // the state of one pass

  bool ReadLedger(Pass_& pass);
  void MatchGangs(Pass_& pass);
  void CreateGangs(Pass_& pass);
  void LoadSnapshot(Pass_& pass);
  void PublishView(Pass_& pass);
  void FinishGangs(Pass_& pass);
  void MarkReleased(Pass_& pass);
  void ReplaceLost(Pass_& pass);
  void PlaceWaiting(Pass_& pass);
  void ReleasePods(Pass_& pass);
  bool Commit(Pass_& pass, int job, const placement::GangPlan& plan, bool may_use_backup);
  void TellNotPlaced(Pass_& pass, int job, const placement::GangPlan& plan);
  bool WriteStatus(Pass_& pass, const api::Gang& gang, const api::GangStatus& status);

  kube::Client& client_;
  state::WorldCache& cache_;
  const Clock& clock_;
  MayWrite may_write_;
  Publish publish_;
  Notify notify_;
  Options options_;
  bool ledger_read_ = false;  // since this process began to lead
};

}  // namespace yardmaster::extender
