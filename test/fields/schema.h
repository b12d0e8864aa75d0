// The schemas of the project's custom resources, read from crds/, and values of them. TESTONLY.
// Thread safety: pure functions, but for the files that SchemaOf reads.
#pragma once

#include <string>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/base/random.h"

namespace yardmaster::fields {

// The openAPIV3Schema of `plural`, for example "gangs". A file that cannot be read fails the test.
nlohmann::json SchemaOf(const std::string& plural);

// Whether the API server keeps fields below that the schema does not name.
bool IsOpen(const nlohmann::json& schema);
// Whether the value is an integer or a string, as quantities are.
bool IsQuantity(const nlohmann::json& schema);

// A value that the schema takes, with every property, and one entry in every list and map. The same
// value each time; values of different numbers differ where the schema allows it.
nlohmann::json Example(const nlohmann::json& schema, int number = 0);

// A random value that the schema takes, but that each required property may be left out, one time
// in 20. Other properties are there half of the time; numbers and lengths of strings are at a bound
// or between. A pattern of strings that this function has no example of fails the test.
nlohmann::json Draw(const nlohmann::json& schema, Random& random);

// Whether the API server refuses the value itself, regardless of what is below it.
bool Refuses(const nlohmann::json& schema, const nlohmann::json& value);

// A value that Refuses for one keyword of the schema.
struct Violation {
  nlohmann::json value;
  std::string says;  // what an error about it has to contain; may be empty
};
// One for each keyword that limits values. A keyword that is not known fails the test.
std::vector<Violation> Violations(const nlohmann::json& schema);

// What the API server would refuse or drop, here or below, each with its path, for example
// "spec.tiers[0].downPorts: is dropped". Null takes a field away, as in a merge patch. What has to
// be there and is missing is not a complaint, and validation rules (CEL) are not evaluated.
std::vector<std::string> Complaints(const nlohmann::json& schema, const nlohmann::json& value,
                                    const std::string& path);

}  // namespace yardmaster::fields
