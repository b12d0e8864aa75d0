// Provides the Fabric manifests of crds/presets, which are built into the binary so that the plugin
// is one file.
//
// Thread safety: constants and pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/api/fabric.h"

namespace yardmaster::cli {

struct Preset {
  std::string_view name;  // "hpn-7.0"
  std::string_view yaml;
};

// Returns the presets, by name.
const std::vector<Preset>& Presets();

// Returns the preset of this name, or the Fabric in the file of this path. Case, dots, dashes and
// underscores of a name are ignored ("HPN7.0"). Errors: NotFound, with the existing presets;
// InvalidArgument for a wrong file.
absl::StatusOr<api::Fabric> LoadPreset(const std::string& name_or_path);

}  // namespace yardmaster::cli
