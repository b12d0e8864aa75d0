// Reading the fields of a mapping, with errors that say where: "<path>.<key>: is not
// a text; ...". A missing field and an explicit null are the same and give the empty value. All errors
// are InvalidArgument.
// Thread safety: a value; const methods from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace yardmaster::config {

class Fields {
 public:
  // A value that is not a mapping reads as an empty one.
  Fields(nlohmann::json value, std::string path);

  bool Has(const std::string& key) const;
  std::string Path(std::string_view key) const;
  const nlohmann::json& value() const { return value_; }

  absl::StatusOr<std::string> String(const std::string& key) const;
  absl::StatusOr<bool> Bool(const std::string& key) const;
  absl::StatusOr<std::vector<std::string>> Strings(const std::string& key) const;
  absl::StatusOr<Fields> Object(const std::string& key) const;
  // A list of mappings. An entry that is not a mapping reads as an empty one.
  absl::StatusOr<std::vector<Fields>> List(const std::string& key) const;

 private:
  // Null pointer for a missing field or a null.
  const nlohmann::json* At(const std::string& key) const;

  nlohmann::json value_;
  std::string path_;
};

}  // namespace yardmaster::config
