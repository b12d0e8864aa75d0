#include "pkg/agent/plans/default_class.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "nlohmann/json.hpp"

#include "pkg/agent/ports/host_files.h"
#include "pkg/base/strings.h"

namespace yardmaster::agent {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// What the kernel shows of a class.
bool IsClass(std::string_view text) {
  const auto value = ParseNumber<int>(text);
  return value && *value >= 0 && *value <= 255;
}

// "mlx5_0/1"; no path leads out of the folder of devices.
bool IsPort(const std::string& name) {
  const std::vector<std::string> parts = Split(name, '/');
  return parts.size() == 2 && !parts[0].empty() && parts[0][0] != '.' &&
         ParseNumber<int>(parts[1]).has_value();
}

bool WriteLine(const std::string& path, const std::string& value) {
  std::ofstream file(path);
  file << value << "\n";
  file.flush();
  return static_cast<bool>(file);
}

}  // namespace

std::string DefaultClass::PathOf(const std::string& port) const {
  const std::vector<std::string> parts = Split(port, '/');
  return StrCat(configfs_root_, "/rdma_cm/", parts[0], "/ports/", parts[1], "/default_roce_tos");
}

absl::Status DefaultClass::Load() {
  std::ifstream file(state_file_, std::ios::binary);
  if (!file) return absl::OkStatus();
  const json state = json::parse(file, nullptr, false);
  if (!state.is_object()) {
    return absl::FailedPreconditionError(StrCat(
        state_file_, ": cannot be read; remove it once default classes are as they should be"));
  }
  for (const auto& [port, value] : state.items()) {
    if (!value.is_string() || !IsPort(port)) continue;
    const auto text = value.get<std::string>();
    if (IsClass(text)) previous_.emplace(port, text);
  }
  return absl::OkStatus();
}

absl::Status DefaultClass::Save() const {
  std::error_code error;
  if (previous_.empty()) {
    fs::remove(state_file_, error);
    return absl::OkStatus();
  }
  const std::string fresh = StrCat(state_file_, ".new");
  if (!WriteLine(fresh, json(previous_).dump())) {
    return absl::FailedPreconditionError(StrCat(fresh, ": cannot be written"));
  }
  fs::rename(fresh, state_file_, error);
  if (error) return absl::FailedPreconditionError(StrCat(state_file_, ": ", error.message()));
  return absl::OkStatus();
}

absl::Status DefaultClass::Apply(const std::vector<LocalNicPort>& ports, int traffic_class) {
  YM_RETURN_IF_ERROR(Load());
  std::vector<std::string> wanted, problems;
  for (const LocalNicPort& port : ports) {
    if (port.rdma_device.empty()) continue;
    const std::string name = port.device();
    std::error_code error;
    // The kernel makes a device's files when its folder is made.
    fs::create_directory(StrCat(configfs_root_, "/rdma_cm/", port.rdma_device), error);
    const auto now = FirstLine(PathOf(name));
    if (!now || !IsClass(*now)) {
      problems.push_back(StrCat(PathOf(name), ": cannot be read"));
      continue;
    }
    previous_.emplace(name, *now);  // an older value is the true one
    wanted.push_back(name);
  }
  YM_RETURN_IF_ERROR(Save());
  for (const std::string& name : wanted) {
    if (!WriteLine(PathOf(name), StrCat(traffic_class))) {
      problems.push_back(StrCat(PathOf(name), ": cannot be written"));
    }
  }
  if (problems.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(Join(problems, "; "));
}

absl::Status DefaultClass::Restore() {
  YM_RETURN_IF_ERROR(Load());
  std::vector<std::string> problems;
  for (auto it = previous_.begin(); it != previous_.end();) {
    // A device that is gone has nothing to restore.
    std::error_code error;
    const bool gone = !fs::exists(PathOf(it->first), error);
    if (gone || WriteLine(PathOf(it->first), it->second)) {
      it = previous_.erase(it);
    } else {
      problems.push_back(StrCat(PathOf(it->first), ": cannot be written"));
      ++it;
    }
  }
  YM_RETURN_IF_ERROR(Save());
  if (problems.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(Join(problems, "; "));
}

}  // namespace yardmaster::agent
