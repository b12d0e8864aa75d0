// Reads and writes values whose types describe their fields (field_visitor.h). Thread safety: pure
// functions.
#pragma once

#include "nlohmann/json.hpp"

#include "pkg/api/field_reader.h"
#include "pkg/api/field_visitor.h"

namespace yardmaster::api {

// Reads the fields that `describe` visits out of the object; others stay to be read, and Close is
// left to the caller.
void DecodeFields(FieldReader& object, absl::FunctionRef<void(FieldVisitor&)> describe);
nlohmann::json EncodeFields(absl::FunctionRef<void(FieldVisitor&)> describe);

// A whole object; fields that are not described are errors where reading is strict.
template <typename T>
T DecodeObject(FieldReader object) {
  T value;
  DecodeFields(object, [&](FieldVisitor& fields) { DescribeValue(fields, value); });
  object.Close();
  return value;
}
template <typename T>
nlohmann::json EncodeObject(const T& value) {
  // A visitor that writes does not change the value.
  return EncodeFields([&](FieldVisitor& fields) { DescribeValue(fields, const_cast<T&>(value)); });
}

template <typename T>
nlohmann::json EncodeObjects(const std::vector<T>& values) {
  nlohmann::json out = nlohmann::json::array();
  for (const T& value : values) out.push_back(EncodeObject(value));
  return out;
}

}  // namespace yardmaster::api
