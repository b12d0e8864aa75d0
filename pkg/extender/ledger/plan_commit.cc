#include "pkg/extender/ledger/plan_commit.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "pkg/api/names.h"
#include "pkg/api/network_generation.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/placement/worker_need.h"
#include "pkg/plan/verifier.h"

namespace yardmaster::extender {

namespace {

// What a former Gang of that name left on the pods is not taken for the network plan of this one.
std::int64_t FirstGeneration(const GatheredGang* gathered) {
  std::int64_t first = 1;
  for (std::size_t m = 0; gathered != nullptr && m < gathered->members.size(); ++m) {
    const auto text = api::Find(gathered->members[m].pod->metadata.annotations,
                                api::kNetworkGenerationAnnotation);
    const auto said = text ? ParseNumber<std::int64_t>(*text) : std::nullopt;
    if (said && *said < INT32_MAX) first = std::max(first, *said + 1);
  }
  return first;
}

}  // namespace

bool CommitPlan(PassState& pass, Ledger& ledger, const Clock& clock, plan::JobId job,
                const placement::GangPlan& plan, bool may_use_backup) {
  plan::JobState& state = pass.snapshot->jobs[job.index()];
  const api::Gang gang = pass.GangOf(job);
  absl::Status sound =
      plan::VerifyPlacement(*pass.snapshot, job, plan.host_of_rank, may_use_backup);
  if (!sound.ok()) {
    pass.report.errors.push_back(
        StrCat("Gang ", state.job.key.text(),
               ": a plan did not pass the verifier and was dropped: ", MessageOf(sound)));
    return false;
  }
  api::GangStatus status = Committed(gang, plan, state, *pass.snapshot, clock.WallMs());
  if (gang.status.plan_generation == 0) {
    status.plan_generation = FirstGeneration(pass.GatheredOf(state.job.key));
  }
  if (!ledger.Write(pass, gang, status)) return false;
  static const std::vector<fabric::HostId> kNone;
  placement::MoveOccupation(pass.snapshot->cluster, state.job,
                            state.assignment ? state.assignment->host_of_rank : kNone,
                            plan.host_of_rank);
  state.assignment = plan::Assignment{plan.host_of_rank};
  state.lost_ranks.clear();
  pass.notes[state.job.key].waiting.clear();
  ++pass.report.committed;
  return true;
}

std::vector<std::int64_t> PromisedGpus(const plan::Snapshot& snapshot) {
  std::vector<std::int64_t> promised(snapshot.cluster.hosts.size(), 0);
  for (const plan::JobState& job : snapshot.jobs) {
    if (!job.assignment) continue;
    int rank = 0;
    for (fabric::HostId host : job.assignment->host_of_rank) {
      const int gpus = job.job.HostGpusOf(rank++);
      if (host.valid()) promised[host.index()] += gpus;
    }
  }
  return promised;
}

}  // namespace yardmaster::extender
