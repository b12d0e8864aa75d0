#include "pkg/plan/testing/rebalance_cases.h"

#include <set>

#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::plan {

namespace {

using fabric::HostId;

std::string NameOf(const char* prefix, int i) { return StrCat(prefix, 100 + i); }

// On hosts that are drawn, of those with enough free GPUs.
void AddScattered(Random& random, bool whole_hosts, int i, MovingCase& c) {
  const int gpus = whole_hosts || random.Below(3) > 0 ? 8 : 4;
  std::vector<HostId> free;
  for (const HostId host : c.snapshot.places->hosts()) {
    const placement::HostState& state = c.snapshot.cluster.hosts[host.index()];
    if (!state.backup && state.free_gpus >= gpus) free.push_back(host);
  }
  if (random.Below(2) == 0) random.Shuffle(free);
  const std::size_t workers = 1 + random.Below(5);
  if (free.size() < workers) return;
  free.resize(workers);
  const JobId job = AddRunning(c, NameOf("run", i), free, static_cast<double>(random.Below(500)));
  JobState& state = c.snapshot.jobs[job.index()];
  if (gpus == 4) {
    state.job.gpus_per_worker = 4;
    state.job.parallelism.tensor = 4;
    state.groups = std::make_shared<const workload::WorkerGroups>(GroupsOf(state.job));
    for (const HostId host : free) c.snapshot.cluster.hosts[host.index()].free_gpus += 4;
  }
  c.terms[job.index()].movable = random.Below(5) > 0;
}

}  // namespace

JobId AddRunning(MovingCase& c, const std::string& name, const std::vector<HostId>& hosts,
                 double lost_seconds) {
  AddJob(c.snapshot, name, static_cast<int>(hosts.size()));
  Place(c.snapshot, LastJob(c.snapshot), hosts);
  c.terms.push_back({true, lost_seconds});
  return LastJob(c.snapshot);
}

JobId AddWaiting(MovingCase& c, const std::string& name, int hosts, bool may_be_cut) {
  JobState& state = AddJob(c.snapshot, name, hosts);
  if (!may_be_cut) {
    state.job.placement.data = {workload::TopologyLevel::kSegment,
                                workload::Enforcement::kRequired};
  }
  c.terms.push_back({true, 100});
  return LastJob(c.snapshot);
}

MovingCase RandomMoves(Random& random, const MovingLimits& limits) {
  MovingCase c;
  const int segments = 2 + static_cast<int>(random.Below(limits.segments - 1));
  const int hosts = 3 + static_cast<int>(random.Below(limits.hosts - 2));
  c.snapshot = MakeSnapshot(fabric::SmallHpn(1, segments, hosts));
  const int running = 1 + static_cast<int>(random.Below(limits.running));
  for (int i = 0; i < running; ++i) AddScattered(random, limits.whole_hosts, i, c);
  const int waiting = static_cast<int>(random.Below(3)) + (limits.one_segment ? 1 : 0);
  for (int i = 0; i < waiting; ++i) {
    const int size = 1 + static_cast<int>(random.Below(hosts));
    AddWaiting(c, NameOf("wait", i), size, !limits.one_segment && random.Below(2) == 0);
  }
  return c;
}

std::string FaultsOf(const MovingCase& c, const Rebalancing& answer) {
  std::string faults;
  std::vector<placement::HostState> hosts = c.snapshot.cluster.hosts;
  std::set<JobId> moved;
  std::int64_t admitted = 0, segments = 0;
  for (const Move& move : answer.moves) {
    const JobState& state = c.snapshot.jobs[move.job.index()];
    if (!c.terms[move.job.index()].movable) faults += state.job.key.text() + " may not move\n";
    if (!moved.insert(move.job).second) faults += state.job.key.text() + " moves twice\n";
    if (!state.assignment || state.assignment->host_of_rank != move.from) {
      faults += state.job.key.text() + " does not stand there\n";
    }
    const auto gpus = static_cast<std::int16_t>(state.job.gpus_per_worker);
    for (const HostId host : move.from) hosts[host.index()].free_gpus += gpus;
    for (const HostId host : move.to) {
      placement::HostState& at = hosts[host.index()];
      if (at.free_gpus < gpus) faults += c.snapshot.places->name(host) + " is not free\n";
      if (at.backup || at.unavailable != placement::Unavailability::kNo) {
        faults += c.snapshot.places->name(host) + " takes no worker\n";
      }
      at.free_gpus -= gpus;
    }
    admitted += static_cast<std::int64_t>(move.gain.admits.size());
    segments += move.gain.segments;
  }
  if (IsBetter(answer.before, answer.after)) faults += "the objective is worse\n";
  if (answer.before.waiting - answer.after.waiting != admitted) faults += "admits too many\n";
  if (answer.before.places.segments - answer.after.places.segments != segments) {
    faults += "segments do not add up\n";
  }
  return faults;
}

}  // namespace yardmaster::plan
