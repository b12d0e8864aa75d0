// The Fabric manifests of crds/presets, built into the binary so that the plugin is one file.
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

// By name.
const std::vector<Preset>& Presets();

// The preset of that name, or the Fabric in the file of that path. Case, dots, dashes and
// underscores of a name do not matter ("HPN7.0"). Errors: NotFound that lists what there is,
// InvalidArgument from the file.
absl::StatusOr<api::Fabric> LoadPreset(const std::string& name_or_path);

}  // namespace yardmaster::cli
