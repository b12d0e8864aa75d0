#include "pkg/base/status.h"

#include <memory>
#include <utility>

#include "gtest/gtest.h"

namespace yardmaster {
namespace {

TEST(StatusTest, AFieldErrorSaysFieldProblemAndFix) {
  const absl::Status error = FieldError("spec.size", "is 0", "use at least 1");
  EXPECT_TRUE(absl::IsInvalidArgument(error));
  EXPECT_EQ(MessageOf(error), "spec.size: is 0; use at least 1");
  EXPECT_EQ(MessageOf(FieldError("spec.size", "is 0", "")), "spec.size: is 0");
}

TEST(StatusTest, AnAnnotationKeepsTheCodeAndLeavesSuccessAlone) {
  const absl::Status error = Annotate(absl::NotFoundError("no such host"), "n1");
  EXPECT_TRUE(absl::IsNotFound(error));
  EXPECT_EQ(MessageOf(error), "n1: no such host");
  EXPECT_TRUE(Annotate(absl::OkStatus(), "n1").ok());
}

absl::Status First(const absl::Status& status, bool& went_on) {
  YM_RETURN_IF_ERROR(status);
  went_on = true;
  return absl::OkStatus();
}

TEST(StatusTest, AnErrorEndsTheFunctionAndSuccessDoesNot) {
  bool went_on = false;
  EXPECT_TRUE(absl::IsAborted(First(absl::AbortedError("x"), went_on)));
  EXPECT_FALSE(went_on);
  EXPECT_TRUE(First(absl::OkStatus(), went_on).ok());
  EXPECT_TRUE(went_on);
}

absl::StatusOr<int> SumOf(absl::StatusOr<std::unique_ptr<int>> a, absl::StatusOr<int> b) {
  YM_ASSIGN_OR_RETURN(const std::unique_ptr<int> pointer, std::move(a));
  YM_ASSIGN_OR_RETURN(const int number, b);
  return *pointer + number;
}

TEST(StatusTest, AValueIsMovedOutAndTheFirstErrorIsReturned) {
  EXPECT_EQ(SumOf(std::make_unique<int>(2), 3).value(), 5);
  EXPECT_TRUE(absl::IsAborted(SumOf(absl::AbortedError("a"), absl::NotFoundError("b")).status()));
  EXPECT_TRUE(absl::IsNotFound(SumOf(std::make_unique<int>(2), absl::NotFoundError("b")).status()));
}

}  // namespace
}  // namespace yardmaster
