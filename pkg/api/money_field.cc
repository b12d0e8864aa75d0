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

}  // namespace yardmaster::api
