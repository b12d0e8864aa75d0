#include "pkg/repac/flap_damper.h"

#include <algorithm>

namespace yardmaster::repac {

void FlapDamper::Observe(fabric::CableId cable, bool up, std::int64_t now_ms) {
  const auto found = states_.find(cable);
  if (found == states_.end()) {
    if (!up) states_[cable] = {false, now_ms, 1};
    return;
  }
  State& state = found->second;
  if (state.up == up) return;
  if (!up) {
    const std::int64_t quiet =
        (now_ms - state.since_ms) / std::max<std::int64_t>(options_.memory_ms, 1);
    state.losses = static_cast<int>(std::max<std::int64_t>(0, state.losses - quiet)) + 1;
  }
  state.up = up;
  state.since_ms = now_ms;
}

std::int64_t FlapDamper::HoldMs(const State& state) const {
  std::int64_t hold = options_.hold_ms;
  for (int i = 1; i < state.losses && hold < options_.max_hold_ms; ++i) hold *= 2;
  return std::min(hold, options_.max_hold_ms);
}

bool FlapDamper::Usable(fabric::CableId cable, std::int64_t now_ms) const {
  const auto found = states_.find(cable);
  if (found == states_.end()) return true;
  return found->second.up && now_ms - found->second.since_ms >= HoldMs(found->second);
}

std::vector<fabric::CableId> FlapDamper::Avoided(std::int64_t now_ms) const {
  std::vector<fabric::CableId> cables;
  for (const auto& [cable, state] : states_) {
    if (!Usable(cable, now_ms)) cables.push_back(cable);
  }
  return cables;
}

std::int64_t FlapDamper::NextChangeMs(std::int64_t now_ms) const {
  std::int64_t next = -1;
  for (const auto& [cable, state] : states_) {
    if (!state.up || Usable(cable, now_ms)) continue;
    const std::int64_t at = state.since_ms + HoldMs(state);
    if (next < 0 || at < next) next = at;
  }
  return next;
}

}  // namespace yardmaster::repac
