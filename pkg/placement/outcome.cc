#include "pkg/placement/outcome.h"

#include "pkg/base/strings.h"

namespace yardmaster::placement {

std::string_view Name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPlaced:
      return "Placed";
    case Outcome::kNotNow:
      return "NotNow";
    case Outcome::kNever:
      return "Never";
  }
  return "NotNow";
}

std::string_view Name(ReasonCode code) {
  switch (code) {
    case ReasonCode::kNotEnoughHosts:
      return "NotEnoughHosts";
    case ReasonCode::kHostsOccupied:
      return "HostsOccupied";
    case ReasonCode::kHostsOut:
      return "HostsOut";
    case ReasonCode::kHostsKeptAsBackup:
      return "HostsKeptAsBackup";
    case ReasonCode::kInsufficientResources:
      return "InsufficientResources";
    case ReasonCode::kHostsExcluded:
      return "HostsExcluded";
    case ReasonCode::kGpuModelsDiffer:
      return "GpuModelsDiffer";
    case ReasonCode::kGroupTooLarge:
      return "GroupTooLarge";
    case ReasonCode::kReserved:
      return "Reserved";
    case ReasonCode::kWaitsForTurn:
      return "WaitsForTurn";
    case ReasonCode::kHostsLeaving:
      return "HostsLeaving";
    case ReasonCode::kSearchCut:
      return "SearchCut";
    case ReasonCode::kInvalid:
      return "Invalid";
  }
  return "Invalid";
}

std::string Sentence(const GangPlan& plan) {
  constexpr int kMaxRelaxations = 2;
  std::vector<std::string> sentences;
  for (const Reason& reason : plan.reasons) sentences.push_back(reason.message);
  const Objective& o = plan.objective;
  if (plan.outcome == Outcome::kPlaced &&
      o.tensor_split_fabric_pods + o.data_split_fabric_pods > 0) {
    sentences.push_back(StrCat("Preferred groups cross fabric pods: ", o.data_split_fabric_pods,
                               " times data groups, ", o.tensor_split_fabric_pods,
                               " times tensor, context or expert groups"));
  }
  int shown = 0;
  for (const Relaxation& relaxation : plan.relaxations) {
    if (relaxation.outcome >= plan.outcome || shown == kMaxRelaxations) continue;
    ++shown;
    sentences.push_back(StrCat("with ", relaxation.change, ": ", Name(relaxation.outcome)));
  }
  return Join(sentences, "; ");
}

}  // namespace yardmaster::placement
