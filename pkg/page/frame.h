// One instant of the page's data, cut into blocks that can be shared.
//
// A block is a JSON text under a key: "hosts/12" is the state of the hosts of one segment,
// "job/demo/gpt" one job. Two frames that follow each other share the texts that did not change, so
// that an hour of frames costs what changed in it, and the difference of two frames is found by
// comparing pointers.
//
// What a browser gets is a change:
//   {"frame": 12, "from": 11, "timeMs": 1700000000000, "set": {KEY: VALUE, ...}, "drop": [KEY,
//   ...]}
// `from` null: forget everything first. Applying the changes from a to b and from b to c gives the
// same as the change from a to c.
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
// Bytes that are no UTF-8 are replaced.
Text TextOf(const nlohmann::json& value);

// By key.
using Blocks = std::map<std::string, Text, std::less<>>;

struct Frame {
  std::int64_t id = 0;
  std::int64_t time_ms = 0;  // wall time
  Blocks blocks;
};

// Replaces every text that equals the one of that key in `before` by that one, so that both share
// it.
void ShareTexts(const Blocks& before, Blocks& blocks);

// Whether both hold the same keys and share every text. REQUIRES: ShareTexts was called on one of
// them with the other.
bool SameTexts(const Blocks& a, const Blocks& b);

// The change as JSON. `from` null: all of `to`. Frames that share texts cost what differs.
std::string EncodeChange(const Frame* from, const Frame& to);

}  // namespace yardmaster::page
