#include "pkg/api/money_field.h"

#include <string>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/capacity/sum.h"

namespace yardmaster::api {

namespace {

using Parse = absl::StatusOr<capacity::Money> (*)(std::string_view text);

std::optional<capacity::Money> Read(FieldReader& object, std::string_view key, const TextRule& rule,
                                    Parse parse) {
  if (!object.has(key)) return std::nullopt;
  const std::string text = object.String(key, rule);
  auto money = parse(text);
  if (money.ok()) return *std::move(money);
  const std::string problem = MessageOf(money.status());
  const std::size_t fix = problem.find("; ");
  object.errors().Add(object.PathOf(key), StrCat("\"", text, "\" ", problem.substr(0, fix)),
                      problem.substr(fix + 2));
  return std::nullopt;
}

}  // namespace

bool IsShortAmount(std::string_view text) { return text.find_first_not_of("0123456789") <= 10; }

std::optional<capacity::Money> ReadMoney(FieldReader& object, std::string_view key,
                                         const TextRule& rule) {
  return Read(object, key, rule, capacity::ParseMoney);
}

std::optional<capacity::Money> ReadSum(FieldReader& object, std::string_view key) {
  return Read(object, key, kSumText, capacity::ParseSum);
}

void MoneyField(FieldVisitor& fields, const char* key, std::optional<capacity::Money>& value,
                const About& about) {
  fields.Parsed(
      key, kMoneyText, about, [&](FieldReader& in) { value = ReadMoney(in, key); },
      [&] { return value ? capacity::FormatMoney(*value) : ""; });
}

void MoneyField(FieldVisitor& fields, const char* key, capacity::Money& value, const About& about) {
  const auto read = [&](FieldReader& in) {
    if (auto money = ReadMoney(in, key)) {
      value = *std::move(money);
    } else if (!in.has(key)) {
      in.errors().Add(in.PathOf(key), "is missing", about.fix);
    }
  };
  fields.Parsed(key, kMoneyText, about, read, [&] { return capacity::FormatMoney(value); });
}

}  // namespace yardmaster::api
