// What is to be done for the standbys of one TrainingJob, from what is seen of it. Every look
// decides from the pods that are there, so that it does not matter after which write a process
// ended, or what another one wrote.
//
// Hosts come and go for moments: pods move to other hosts once these have been wanted for
// kSettleMs. A pod that is refused, does not get its images, or asks for something of its host
// because another changed it, is removed and tried again after a minute, then twice as long each
// time, at most an hour. Such a pod is forgotten once it has been Ready for an hour.
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

// What a process remembers of a job between two looks. A process that knows nothing tries at once.
struct StandbyMemory {
  std::vector<std::string> wanted;                 // names of pods, by rank of the standby
  std::int64_t since_ms = 0;                       // that they are
  std::map<std::string, StandbyRefusal> refusals;  // by name of the pod
};

struct WantedStandby {
  std::string host;
  std::string pod;
};

struct StandbyView {
  std::vector<WantedStandby> wanted;
  // Of the job, by name.
  std::vector<std::shared_ptr<const api::Pod>> pods;
  std::string short_of;  // why fewer are wanted than the job asks for; empty: they are not
  bool ends = false;     // the job is to have none: nothing has to settle
  std::int64_t now_ms = 0;
};

struct StandbyStep {
  std::vector<std::size_t> create;  // of StandbyView::wanted
  std::vector<std::shared_ptr<const api::Pod>> remove;
  std::vector<api::Standby> status;
  bool stays =
      false;  // nothing is done and the status is what it was, until the hosts have settled
};

// Updates what is remembered.
StandbyStep NextStandbyStep(const StandbyView& view, StandbyMemory& memory);

// The pod was not accepted. The time of the next try follows.
void NoteRefusal(const std::string& pod, std::string message, std::int64_t now_ms,
                 StandbyMemory& memory);

}  // namespace yardmaster::op
