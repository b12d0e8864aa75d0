#include "pkg/kube/api_error.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/kube/client.h"

namespace yardmaster::kube {
namespace {

using absl::StatusCode;
using testing::HasSubstr;
using testing::StartsWith;

StatusCode CodeOf(int http_code, std::string_view body, bool json_patch = false) {
  return StatusFromAnswer({"PATCH", "/api/v1/x", json_patch, 0}, http_code, body).code();
}

TEST(ApiErrorTest, EveryHttpCodeHasItsStatusCode) {
  EXPECT_EQ(CodeOf(400, ""), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(401, ""), StatusCode::kUnauthenticated);
  EXPECT_EQ(CodeOf(403, ""), StatusCode::kPermissionDenied);
  EXPECT_EQ(CodeOf(404, ""), StatusCode::kNotFound);
  EXPECT_EQ(CodeOf(405, ""), StatusCode::kUnimplemented);
  EXPECT_EQ(CodeOf(409, R"({"reason":"AlreadyExists"})"), StatusCode::kAlreadyExists);
  EXPECT_EQ(CodeOf(409, R"({"reason":"Conflict"})"), StatusCode::kAborted);
  EXPECT_EQ(CodeOf(410, ""), StatusCode::kOutOfRange);
  EXPECT_EQ(CodeOf(422, ""), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(429, ""), StatusCode::kResourceExhausted);
  EXPECT_EQ(CodeOf(302, ""), StatusCode::kUnknown);
  for (int code : {500, 502, 503, 504}) EXPECT_EQ(CodeOf(code, ""), StatusCode::kUnavailable);
}

TEST(ApiErrorTest, AJsonPatchThatDoesNotFitIsToldFromAnObjectThatIsRefused) {
  const char* does_not_fit =
      R"({"reason":"Invalid","message":"the server rejected our request","details":{}})";
  const char* refused = R"({"reason":"Invalid","message":"Gang \"g\" is invalid",
      "details":{"causes":[{"field":"spec.x","message":"must be positive"}]}})";
  EXPECT_EQ(CodeOf(422, does_not_fit, true), StatusCode::kFailedPrecondition);
  EXPECT_EQ(CodeOf(422, refused, true), StatusCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(422, does_not_fit, false), StatusCode::kInvalidArgument);
}

TEST(ApiErrorTest, AnotherUidIsAFailedPrecondition) {
  EXPECT_EQ(CodeOf(422, R"({"reason":"Invalid","details":{"causes":[
      {"field":"metadata.uid","message":"field is immutable"}]}})"),
            StatusCode::kAborted);
}

TEST(ApiErrorTest, TheMessageCarriesVerbPathAndEveryCauseOnce) {
  const absl::Status status = StatusFromAnswer({"POST", "/api/v1/x", false, 0}, 422, R"(
      {"message":"x is invalid: a: must be set","details":{"causes":[
        {"field":"a","message":"must be set"},{"field":"b","message":"too long"}]}})");
  EXPECT_EQ(MessageOf(status), "POST /api/v1/x: x is invalid: a: must be set; b: too long");
}

TEST(ApiErrorTest, AnswersOfOtherServersAreShownShortened) {
  const absl::Status status =
      StatusFromAnswer({"GET", "/x", false, 0}, 502, std::string(5000, 'z') + "\n");
  EXPECT_THAT(MessageOf(status), StartsWith("GET /x: HTTP 502: zzz"));
  EXPECT_LT(MessageOf(status).size(), 400u);
  EXPECT_THAT(MessageOf(StatusFromAnswer({"GET", "/x", false, 0}, 404, "[[1")), HasSubstr("404"));
  const absl::Status accented =
      StatusFromAnswer({"GET", "/x", false, 0}, 502, std::string(299, 'z') + "\xC3\xA9");
  EXPECT_EQ(MessageOf(accented).back(), 'z') << "cut inside a character";
}

TEST(ApiErrorTest, AStatusRemembersCodeAndRetryAfter) {
  const absl::Status status = StatusFromAnswer({"GET", "/x", false, 3000}, 429, "");
  EXPECT_EQ(HttpCodeOf(status), 429);
  EXPECT_EQ(RetryAfterMs(status), 3000);
  EXPECT_EQ(HttpCodeOf(absl::UnavailableError("x")), 0);
  EXPECT_EQ(RetryAfterMs(absl::OkStatus()), 0);
}

TEST(ApiErrorTest, RetryAfterIsSecondsWithinReason) {
  EXPECT_EQ(ParseRetryAfterMs("1"), 1000);
  EXPECT_EQ(ParseRetryAfterMs("99999999999"), 3'600'000);
  EXPECT_EQ(ParseRetryAfterMs("-1"), 0);
  EXPECT_EQ(ParseRetryAfterMs("Wed, 21 Oct 2015 07:28:00 GMT"), 0);
}

TEST(ApiErrorTest, AWatchErrorObjectIsMappedByItsCode) {
  const auto object = nlohmann::json::parse(
      R"({"kind":"Status","code":410,"reason":"Expired","message":"too old resource version"})");
  const absl::Status status = StatusFromObject({"WATCH", "/x", false, 0}, object);
  EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
  EXPECT_THAT(MessageOf(status), HasSubstr("too old"));
  EXPECT_EQ(StatusFromObject({"WATCH", "/x", false, 0}, nullptr).code(), StatusCode::kUnavailable);
}

TEST(ApiErrorTest, NeverSentIsRemembered) {
  EXPECT_TRUE(WasNeverSent(MarkNeverSent(absl::UnavailableError("refused"))));
  EXPECT_FALSE(WasNeverSent(absl::UnavailableError("reset")));
}

TEST(ApiErrorTest, AnObjectIsGoneWhenItIsNotFoundOrAnotherHasItsName) {
  EXPECT_TRUE(IsGone(absl::NotFoundError("")));
  EXPECT_TRUE(IsGone(absl::AbortedError("")));
  for (const absl::Status& status :
       {absl::OkStatus(), absl::UnavailableError(""), absl::FailedPreconditionError(""),
        absl::PermissionDeniedError("")}) {
    EXPECT_FALSE(IsGone(status)) << status;
  }
}

}  // namespace
}  // namespace yardmaster::kube
