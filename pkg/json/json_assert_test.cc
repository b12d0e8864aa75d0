// What the library asserts of a document is an exception in every build
// (cmake/json/nlohmann/json.hpp).
#include <stdexcept>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/run_once.h"

namespace yardmaster {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(JsonAssertTest, AKeyThatAConstantObjectDoesNotHaveIsAnException) {
  const json object = {{"a", 1}};
  EXPECT_EQ(object["a"], 1);
  EXPECT_THROW(static_cast<void>(object["b"]), std::logic_error);
  EXPECT_THROW(static_cast<void>(object[std::string("b")]), std::logic_error);
  EXPECT_THROW(static_cast<void>(json(1)["b"]), std::exception) << "as of what is no object";
}

TEST(JsonAssertTest, ItIsADefectOfTheObjectThatIsHandledAndNotTheEndOfTheProcess) {
  const json object = json::object();
  const absl::Status status = Contain([&] { static_cast<void>(object["metadata"]["name"]); });
  EXPECT_TRUE(IsDefect(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("nlohmann::json asserts that"));
}

}  // namespace
}  // namespace yardmaster
