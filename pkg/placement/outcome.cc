#include "pkg/placement/outcome.h"

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
    case ReasonCode::kHostsExcluded:
      return "HostsExcluded";
    case ReasonCode::kGroupTooLarge:
      return "GroupTooLarge";
    case ReasonCode::kReserved:
      return "Reserved";
    case ReasonCode::kWaitsForTurn:
      return "WaitsForTurn";
    case ReasonCode::kSearchCut:
      return "SearchCut";
    case ReasonCode::kInvalid:
      return "Invalid";
  }
  return "Invalid";
}

}  // namespace yardmaster::placement
