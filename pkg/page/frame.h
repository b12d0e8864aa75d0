// Frame is the page's data at one time, divided into blocks that frames share.
//
// A block is a JSON text under a key: "hosts/12" is the state of the hosts of one segment,
// "job/demo/gpt" is one job. Successive frames share the texts that did not change. So an hour of
// frames needs memory only for changes, and frames are compared by pointers.
//
// A browser receives a change:
//
//   {"frame": 12, "from": 11, "timeMs": 1700000000000, "set": {KEY: VALUE, ...},
//    "drop": [KEY, ...]}
//
// `from` null: the browser discards its data first. The changes from a to b and from b to c give
// the same as the change from a to c.
//
// Thread safety: values; texts are immutable.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "nlohmann/json_fwd.hpp"

namespace yardmaster::page {

using Text = std::shared_ptr<const std::string>;
// Encodes the value. Bytes that are not UTF-8 are replaced.
Text TextOf(const nlohmann::json& value);

// By key.
using Blocks = std::map<std::string, Text, std::less<>>;

struct Frame {
  std::int64_t id = 0;
  std::int64_t time_ms = 0;  // wall time
  Blocks blocks;
};

// Replaces every text that equals the one of the same key in `before` by that one, so that both
// share it.
void ShareTexts(const Blocks& before, Blocks& blocks);

// Whether both have the same keys and share every text. REQUIRES: ShareTexts was called on one of
// them with the other.
bool SameTexts(const Blocks& a, const Blocks& b);

// Encodes the change as JSON. `from` null: all of `to`. Complexity for frames that share texts:
// O(what differs).
std::string EncodeChange(const Frame* from, const Frame& to);

}  // namespace yardmaster::page
