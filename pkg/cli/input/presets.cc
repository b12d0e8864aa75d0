#include "pkg/cli/input/presets.h"

#include <filesystem>

#include "pkg/base/strings.h"
#include "pkg/cli/input/read_input.h"
#include "pkg/config/yaml.h"

namespace yardmaster::cli {

namespace {

std::string Folded(std::string_view name) {
  std::string out;
  for (unsigned char c : name) {
    if (std::isalnum(c) != 0) out += static_cast<char>(std::tolower(c));
  }
  return out;
}

absl::StatusOr<api::Fabric> Decode(std::string_view yaml, const std::string& name) {
  YM_ASSIGN_OR_RETURN(const nlohmann::json object, config::ParseYaml(yaml, name));
  absl::StatusOr<api::Fabric> fabric = api::DecodeFabric(object);
  if (!fabric.ok()) return InFile(fabric.status(), name);
  return fabric;
}

bool IsFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

}  // namespace

absl::StatusOr<api::Fabric> LoadPreset(const std::string& name_or_path) {
  std::vector<std::string> names;
  for (const Preset& preset : Presets()) {
    if (Folded(preset.name) == Folded(name_or_path)) {
      return Decode(preset.yaml, std::string(preset.name));
    }
    names.emplace_back(preset.name);
  }
  if (IsFile(name_or_path)) {
    YM_ASSIGN_OR_RETURN(const std::string text, ReadFile(name_or_path));
    return Decode(text, name_or_path);
  }
  return absl::NotFoundError(StrCat("--preset: \"", name_or_path,
                                    "\" is neither a preset nor a file; use one of ",
                                    Join(names, ", ")));
}

}  // namespace yardmaster::cli
