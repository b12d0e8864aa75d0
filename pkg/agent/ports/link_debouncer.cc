#include "pkg/agent/ports/link_debouncer.h"

namespace yardmaster::agent {

std::vector<PortKey> LinkDebouncer::Observe(std::int64_t steady_ms,
                                            const std::vector<PortState>& states) {
  for (const PortState& state : states) {
    const auto [at, first] = ports_.try_emplace(state.key);
    Port& port = at->second;
    if (first) port.reported_up = state.up;
    if (state.up == port.reported_up) {
      port.other_since_ms = -1;
      continue;
    }
    if (port.other_since_ms < 0) port.other_since_ms = steady_ms;
    const std::int64_t patience = state.up ? times_.up_after_ms : times_.down_after_ms;
    if (steady_ms - port.other_since_ms < patience) continue;
    port.reported_up = state.up;
    port.other_since_ms = -1;
  }
  std::vector<PortKey> down;
  for (const auto& [key, port] : ports_) {
    if (!port.reported_up) down.push_back(key);
  }
  return down;
}

}  // namespace yardmaster::agent
