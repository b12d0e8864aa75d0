// The agent's name in metadata.managedFields. Thread safety: a constant.
#pragma once

namespace yardmaster::agent {

inline constexpr char kFieldManager[] = "yardmaster-agent";

}  // namespace yardmaster::agent
