// The pure part of maintaining the standbys of one TrainingJob. Each call decides from the existing
// pods, so it does not matter after which write a process ended or what another process wrote.
//
// Hosts may change for moments: pods move to other hosts only once these have been wanted for
// kSettleMs. A pod that is refused, does not get its images, or requests something of its host
// because another client changed it, is removed and tried again after a minute, then at intervals
// that double, up to an hour. The failures are forgotten once the pod has been Ready for an hour.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pkg/api/pod.h"
#include "pkg/api/standby.h"

namespace yardmaster::op {

inline constexpr std::int64_t kSettleMs = 30'000;

struct StandbyRefusal {
  int times = 0;
  std::int64_t until_ms = 0;
  std::int64_t ready_ms = 0;  // since when a pod of this name is Ready; 0: it is not
  std::string message;
};

// The state of a job between two calls. A process without it tries at once.
struct StandbyMemory {
  std::vector<std::string> wanted;                 // names of pods, by rank of the standby
  std::int64_t since_ms = 0;                       // since when they are wanted
  std::map<std::string, StandbyRefusal> refusals;  // by name of the pod
};

struct WantedStandby {
  std::string host;
  std::string pod;
};

struct StandbyView {
  std::vector<WantedStandby> wanted;
  // The pods of the job, by name.
  std::vector<std::shared_ptr<const api::Pod>> pods;
  std::string short_of;  // why fewer are wanted than the job requests; empty: they are not
  bool ends = false;     // the job must have none: no settling time applies
  std::int64_t now_ms = 0;
};

struct StandbyStep {
  std::vector<std::size_t> create;  // of StandbyView::wanted
  std::vector<std::shared_ptr<const api::Pod>> remove;
  std::vector<api::Standby> status;
  bool stays = false;  // no action and no change of the status until the hosts have settled
};

// Updates `memory`.
StandbyStep NextStandbyStep(const StandbyView& view, StandbyMemory& memory);

// Records that the pod was refused, and computes the time of the next try.
void NoteRefusal(const std::string& pod, std::string message, std::int64_t now_ms,
                 StandbyMemory& memory);

}  // namespace yardmaster::op
