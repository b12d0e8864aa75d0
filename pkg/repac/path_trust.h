// Compares predicted paths with the paths that packets were observed to take.
//
// Every hop is checked separately: what should the switch have done with the packet as it arrived?
// So one wrong switch does not make later ones doubtful. Hops without a choice, and hops that
// cannot be predicted, do not count. A role with a wrong hop must not be used for planning: pass
// Mistrusted() to SwitchHashes::Compile.
//
// Thread safety: that of ForwardingModel.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pkg/repac/forwarding_model.h"

namespace yardmaster::repac {

// The links of one packet after the source NIC's, in order. Unknown ones (a hop that did not
// answer) are invalid ids; the list may end early. Hops from the first unknown link on are not
// checked, nor is any hop between NICs for which ForwardingModel::WhyUnknown gives a reason.
struct ObservedPath {
  NicPort src;
  NicPort dst;
  std::uint16_t source_port = 0;
  std::vector<LinkId> links;
};

enum class TrustVerdict {
  kUnknown,     // too few observations
  kTrusted,     // all observations agree
  kMistrusted,  // an observation disagrees
};

struct RoleTrust {
  std::string role;
  TrustVerdict verdict = TrustVerdict::kUnknown;
  int checked = 0;  // predicted choices (by hash or preset) that were observed
  int wrong = 0;    // of these: another member of the group
  int foreign = 0;  // of these: not a member, so routing or wiring differs
  // The first wrong hop: switch, source port, predicted and observed link.
  std::string example;
};

struct TrustOptions {
  // Minimum number of hops to trust a role. By chance 8 hops of 60 members agree once in 10^14.
  int min_checked = 8;
};

// Returns one entry per tier, lowest first.
std::vector<RoleTrust> CheckPredictions(const ForwardingModel& forwarding,
                                        const std::vector<ObservedPath>& observed,
                                        const TrustOptions& options = {});

// Returns role -> reason, for SwitchHashes::Compile.
std::map<std::string, std::string> Mistrusted(const std::vector<RoleTrust>& verdicts);

}  // namespace yardmaster::repac
