#include "pkg/placement/outcome.h"

#include "pkg/base/strings.h"

namespace yardmaster::placement {

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
