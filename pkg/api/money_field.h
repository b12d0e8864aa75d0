// A field of an object that is an amount of money, such as "9.80 USD". Thread safety: pure
// function.
#pragma once

#include <optional>
#include <string_view>

#include "pkg/api/field_reader.h"
#include "pkg/api/field_visitor.h"
#include "pkg/capacity/money.h"

namespace yardmaster::api {

// Whether there are at most ten digits before the point.
bool IsShortAmount(std::string_view text);
inline constexpr TextRule kMoneyText = {24, 0, IsShortAmount, "at most 10 digits before the point",
                                        R"(^[0-9]{1,10}(\.[0-9]{1,6})? [A-Z]{3}$)"};
inline constexpr TextRule kSumText{40};

// An amount that people write (capacity/money.h). nullopt if the field is left out or wrong; a
// wrong one is reported to the reader's errors.
std::optional<capacity::Money> ReadMoney(FieldReader& object, std::string_view key,
                                         const TextRule& rule = kMoneyText);
// The same for a sum of amounts, which may be larger (capacity/sum.h).
std::optional<capacity::Money> ReadSum(FieldReader& object, std::string_view key);

// An amount that people write, as a field of a resource. `fix` of the second is what is said where
// it is missing.
void MoneyField(FieldVisitor& fields, const char* key, std::optional<capacity::Money>& value,
                const About& about);
void MoneyField(FieldVisitor& fields, const char* key, capacity::Money& value, const About& about);

}  // namespace yardmaster::api
