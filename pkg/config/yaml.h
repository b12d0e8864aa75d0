// YAML text to JSON values and back. The one reader of everything a person writes for this program:
// kubeconfigs, component configurations, manifests, offline inputs.
//
// Reading. A text holds any number of documents; each becomes one JSON value. Scalars are typed as
// the YAML 1.2 core schema says: quoted ones and block texts are strings; plain ones are null
// (`~`, `null`, empty), booleans (`true`, `false` and their capitalised forms), integers (decimal,
// 0x, 0o), numbers, else strings. `yes` and `on` are strings. One departure, taken from Kubernetes'
// own reader: a plain integer with a leading zero is octal (`defaultMode: 0644` is 420).
// Anchors, aliases and merge keys (`<<`) work. JSON text is read too, with its own escapes.
//
// Refused, with the line and column except for oversized texts and JSON: broken syntax, a key given
// twice in one mapping, a key that is not a scalar, a merge key whose value is neither a mapping
// nor a list of mappings (null is not), a tag of its own (`!foo`), numbers JSON cannot hold (.inf,
// .nan), an alias to an anchor that is not complete, invalid UTF-8, more bytes, nesting or values
// than `YamlLimits` allows (aliases are counted as what they stand for, so a short text cannot blow
// up).
//
// Writing. Two-space block style, keys in order, multi-line texts of printable ASCII as block
// scalars where that keeps them exact, else quoted; a text that a
// YAML reader could read as another type is quoted. ParseYaml(EmitYaml(x)) == x for every x
// that is JSON (valid UTF-8, finite numbers).
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

#include "pkg/base/status.h"

namespace yardmaster::config {

struct YamlLimits {
  std::size_t max_bytes = 64u << 20;
  int max_depth = 100;
  // Values of all documents together, containers included.
  std::size_t max_values = 4'000'000;
};

struct YamlDocument {
  nlohmann::json value;
  // Where it begins, from 1.
  int line = 1;
};

// All documents, in order; documents that are empty or null are left out. `name` says in errors
// where the text is from ("fabric.yaml"). Errors: InvalidArgument, "fabric.yaml:12:3: ...".
absl::StatusOr<std::vector<YamlDocument>> ParseYamlDocuments(std::string_view text,
                                                             std::string_view name,
                                                             const YamlLimits& limits = {});

// The one document of a text. Errors: as above, and InvalidArgument when there are none or several.
absl::StatusOr<nlohmann::json> ParseYaml(std::string_view text, std::string_view name,
                                         const YamlLimits& limits = {});

// One document, ending with a newline.
std::string EmitYaml(const nlohmann::json& value);

}  // namespace yardmaster::config
