// Compares predicted paths with the paths that packets were seen to take.
//
// Every hop is assessed on its own: what the switch should have done with the packet as it really
// arrived, so that one wrong switch does not put those behind it in doubt. Hops at which there was
// nothing to choose, or whose choice cannot be predicted, do not count. A role whose hops were
// wrong is not to be planned with: pass Mistrusted() to SwitchHashes::Compile.
// Thread safety: as ForwardingModel.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pkg/repac/forwarding_model.h"

namespace yardmaster::repac {

// Where one packet went: the links behind the source NIC's, in order. Unknown ones (a hop that did
// not answer) are invalid ids; the list may end early. Hops from the first unknown link on are not
// assessed, and neither is any hop between NICs for which ForwardingModel::WhyUnknown gives a
// reason.
struct ObservedPath {
  NicPort src;
  NicPort dst;
  std::uint16_t source_port = 0;
  std::vector<LinkId> links;
};

enum class TrustVerdict {
  kUnknown,     // too little was seen
  kTrusted,     // all that was seen agrees
  kMistrusted,  // something disagrees
};

struct RoleTrust {
  std::string role;
  TrustVerdict verdict = TrustVerdict::kUnknown;
  int checked = 0;  // predicted choices (by hash or preset) that were seen
  int wrong = 0;    // of them: another member of the group
  int foreign = 0;  // of them: no member at all, so routing or wiring differs
  // One line about the first wrong hop: switch, port, predicted and seen link.
  std::string example;
};

struct TrustOptions {
  // Hops a role must have passed to be trusted. By chance 8 hops of 60 members agree once in 10^14.
  int min_checked = 8;
};

// One entry per tier, lowest first.
std::vector<RoleTrust> CheckPredictions(const ForwardingModel& forwarding,
                                        const std::vector<ObservedPath>& observed,
                                        const TrustOptions& options = {});

// role -> why it is not used, for SwitchHashes::Compile.
std::map<std::string, std::string> Mistrusted(const std::vector<RoleTrust>& verdicts);

}  // namespace yardmaster::repac
