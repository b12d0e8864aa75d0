#include "pkg/operator/network/network_starvation.h"

#include <cmath>
#include <utility>

namespace yardmaster::op {

StarvationVerdict StarvationWatch::Look(const std::vector<StarvationView>& jobs,
                                        const std::vector<int>& usable, std::int64_t now_ms) {
  StarvationVerdict out;
  std::map<NamespacedName, crux::StarvationState> states;
  for (const StarvationView& job : jobs) {
    crux::StarvationSample sample;
    sample.now_seconds = static_cast<double>(now_ms) / 1000;
    sample.planned_level = job.planned_level;
    sample.share = job.share;
    const crux::StarvationStep step =
        crux::StepStarvation(states_[job.job], sample, usable, options_);
    if (step.level != job.planned_level) out.lifted[job.job] = step.level;
    if (step.event == crux::StarvationEvent::kLifted) out.begun.push_back(job.job);
    if (step.event == crux::StarvationEvent::kReleased) out.ended.push_back(job.job);
    out.starving += step.state.starving ? 1 : 0;
    if (step.look_again_seconds) {
      const auto at_ms = static_cast<std::int64_t>(std::ceil(*step.look_again_seconds * 1000));
      if (out.next_change_ms < 0 || at_ms < out.next_change_ms) out.next_change_ms = at_ms;
    }
    states[job.job] = step.state;
  }
  states_ = std::move(states);
  return out;
}

}  // namespace yardmaster::op
