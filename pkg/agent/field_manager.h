// The agent's name in metadata.managedFields.
#pragma once

namespace yardmaster::agent {

inline constexpr char kFieldManager[] = "yardmaster-agent";

}  // namespace yardmaster::agent
