// The OpenAPI schema of a type that describes its fields (field_visitor.h), as
// CustomResourceDefinitions have it. Defaults are those of a value that was just made. Thread
// safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/field_visitor.h"

namespace yardmaster::api {

// Of a text.
nlohmann::json TextSchema(const TextRule& rule);

// Of an object with the fields that `describe` visits.
nlohmann::json SchemaOfFields(const char* meaning, absl::FunctionRef<void(FieldVisitor&)> describe);

// Of a whole resource: apiVersion, kind and metadata besides what `describe` visits.
nlohmann::json SchemaOfResource(const char* meaning,
                                absl::FunctionRef<void(FieldVisitor&)> describe);

// Names of the fields, sorted.
std::vector<std::string> NamesOfFields(absl::FunctionRef<void(FieldVisitor&)> describe);

}  // namespace yardmaster::api
