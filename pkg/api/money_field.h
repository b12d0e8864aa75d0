// A field of an object that is an amount of money, such as "9.80 USD". Thread safety: pure function.
#pragma once

#include <optional>
#include <string_view>

#include "pkg/api/field_reader.h"
#include "pkg/capacity/money.h"

namespace yardmaster::api {

// An amount of money; without a value when left out or wrong, which is an error then.
std::optional<capacity::Money> ReadMoney(FieldReader& object, std::string_view key);
// The same of what adds up (sum.h).
std::optional<capacity::Money> ReadSum(FieldReader& object, std::string_view key);

}  // namespace yardmaster::api
