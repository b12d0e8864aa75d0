// The `ecmpHash` block of a Fabric as JSON: how the switches of one role choose among equal paths.
//
//   {"model": "rtag7", "fields": ["sip", "dip", "protocol", "sport", "dport"],
//    "rtag7": {"function": "crc32c-lo", "preMix": false}, "seed": 305419896, "rotateRight": 0,
//    "keepBits": 16}
//
// `model` is required and decides which of the blocks crc, rtag7, sai, toeplitz, bmv2,
// unpredictable may stand beside it. Numbers too wide for JSON readers may be strings
// ("0x42F0E1EBA9EA3693"). docs/paths.md explains every field. Thread safety: pure functions.
#pragma once

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/field_reader.h"
#include "pkg/fabric/ecmp_hash.h"

namespace yardmaster::api {

// Reads and closes `in`. Errors, those of fabric::Problems among them, go to in.errors().
fabric::HashSpec ReadHashSpec(FieldReader in);
// A block on its own. Errors: InvalidArgument, one line per wrong field.
absl::StatusOr<fabric::HashSpec> DecodeHashSpec(const nlohmann::json& block);
// What ReadHashSpec reads back to the same.
nlohmann::json EncodeHashSpec(const fabric::HashSpec& spec);
// What the API server checks of a block: the rest depends on the model.
nlohmann::json HashSchema();

}  // namespace yardmaster::api
