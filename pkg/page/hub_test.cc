#include "pkg/page/hub.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "pkg/page/assets.h"

namespace yardmaster::page {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Text T(const std::string& text) { return std::make_shared<const std::string>(text); }

class HubTest : public testing::Test {
 protected:
  HubTest() : clock_(1), hub_(clock_) { hub_.AddRoutes(router_); }

  // The answer, or nothing while the request waits.
  std::shared_ptr<std::optional<http::Response>> Ask(const std::string& target,
                                                     const std::string& last_id = "",
                                                     const std::string& remote = "10.0.0.1:4") {
    http::Request request;
    request.remote = remote;
    request.method = "GET";
    request.target = target;
    if (!last_id.empty()) request.headers.Add("Last-Event-ID", last_id);
    auto answer = std::make_shared<std::optional<http::Response>>();
    router_.Handle(std::move(request), [answer](http::Response r) { *answer = std::move(r); });
    return answer;
  }

  static json DataOf(const http::Response& response) {
    const std::size_t at = response.body.find("data: ");
    return at == std::string::npos ? json() : json::parse(response.body.substr(at + 6));
  }

  FakeClock clock_;
  http::Router router_;
  Hub hub_;
};

TEST_F(HubTest, ABrowserGetsTheNewestFrameAndThenWaits) {
  hub_.Publish({{"a", T("1")}}, nullptr);
  const auto first = Ask("/api/events");
  ASSERT_TRUE(first->has_value());
  EXPECT_THAT((*first)->content_type, StartsWith("text/event-stream"));
  EXPECT_EQ(DataOf(**first)["set"]["a"], 1);
  EXPECT_THAT((*first)->body, HasSubstr("\nid: 1\n"));

  const auto second = Ask("/api/events", "1");
  EXPECT_FALSE(second->has_value());
  hub_.Publish({{"a", T("1")}}, nullptr);  // nothing new
  EXPECT_FALSE(second->has_value());
  hub_.Publish({{"a", T("2")}, {"b", T("3")}}, nullptr);
  ASSERT_TRUE(second->has_value());
  EXPECT_EQ(DataOf(**second)["from"], 1);
  EXPECT_EQ(DataOf(**second)["set"], json::parse(R"({"a": 2, "b": 3})"));
}

TEST_F(HubTest, RequestsThatAreHeldAreBoundedAndOneClientsManyEndFirst) {
  hub_.Publish({{"a", T("1")}}, nullptr);
  const auto reader = Ask("/api/events", "1", "10.0.0.2:1");
  std::vector<std::shared_ptr<std::optional<http::Response>>> idle;
  for (int i = 0; i < 200; ++i) idle.push_back(Ask("/api/events", "1", StrCat("[fd00::1]:", i)));
  const auto late = Ask("/api/events", "1", "10.0.0.3:1");
  EXPECT_FALSE(reader->has_value());
  EXPECT_FALSE(late->has_value());
  int held = 0;
  for (const auto& one : idle) held += one->has_value() ? 0 : 1;
  EXPECT_EQ(held, 62);
  EXPECT_TRUE(idle.front()->has_value()) << "the oldest";
  EXPECT_THAT((*idle.front())->body, HasSubstr("nothing new"));
  hub_.Publish({{"a", T("2")}}, nullptr);
  EXPECT_EQ(DataOf(**reader)["set"]["a"], 2);
}

TEST_F(HubTest, AnIdThatIsNotKnownGetsEverything) {
  hub_.Publish({{"a", T("1")}}, nullptr);
  for (const char* id : {"99", "-1", "x", "0"}) {
    const auto answer = Ask("/api/events", id);
    ASSERT_TRUE(answer->has_value()) << id;
    EXPECT_TRUE(DataOf(**answer)["from"].is_null()) << id;
  }
}

TEST_F(HubTest, AFrameOfAnotherReplicaIsNotKnown) {
  FakeClock later(5'000);
  Hub other(later);
  http::Router router;
  other.AddRoutes(router);
  hub_.Publish({{"a", T("1")}}, nullptr);
  other.Publish({{"a", T("2")}}, nullptr);
  http::Request request;
  request.method = "GET";
  request.target = "/api/events";
  request.headers.Add("Last-Event-ID", "1");  // of hub_
  json data;
  router.Handle(std::move(request), [&](const http::Response& r) { data = DataOf(r); });
  EXPECT_TRUE(data["from"].is_null());
  EXPECT_EQ(data["set"]["a"], 2);
}

TEST_F(HubTest, ARequestThatWaitsTooLongEndsWithoutAnEvent) {
  hub_.Publish({{"a", T("1")}}, nullptr);
  const auto answer = Ask("/api/events", "1");
  clock_.Advance(14'999);
  hub_.Tick();
  EXPECT_FALSE(answer->has_value());
  clock_.Advance(1);
  hub_.Tick();
  ASSERT_TRUE(answer->has_value());
  EXPECT_THAT((*answer)->body, Not(HasSubstr("data:")));
  EXPECT_THAT((*answer)->body, Not(HasSubstr("id:")));
}

TEST_F(HubTest, ItKnowsWhetherABrowserLooks) {
  EXPECT_FALSE(hub_.watched());
  Ask("/api/events");
  EXPECT_TRUE(hub_.watched());
  clock_.Advance(40'001);
  EXPECT_FALSE(hub_.watched());
}

TEST_F(HubTest, FramesOfThePastCanBeLookedAt) {
  hub_.Publish({{"a", T("1")}}, nullptr);
  clock_.Advance(20'000);
  hub_.Publish({{"a", T("2")}}, nullptr);
  const json frames = json::parse((*Ask("/api/frames"))->body);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[1][1].get<std::int64_t>() - frames[0][1].get<std::int64_t>(), 20'000);
  EXPECT_EQ(json::parse((*Ask("/api/frame?id=1"))->body)["set"]["a"], 1);
  EXPECT_EQ(json::parse((*Ask("/api/frame?id=1&from=2"))->body)["from"], 2);
  EXPECT_EQ((*Ask("/api/frame?id=7"))->status, 404);
  EXPECT_EQ((*Ask("/api/frame"))->status, 400);
  EXPECT_EQ((*Ask("/api/frame?id=%zz"))->status, 400);
}

TEST_F(HubTest, PathsOfAJobAreGivenOnRequest) {
  EXPECT_EQ((*Ask("/api/paths?job=a/b"))->status, 404);
  auto picture = std::make_shared<NetworkPicture>();
  picture->jobs[{"demo", "bert"}].flows = 3;
  picture->jobs[{"demo", "bert"}].sample = {{0, 1, 2, 50'000, {"x.up"}, ""}};
  hub_.Publish({{"a", T("1")}}, picture);
  const json paths = json::parse((*Ask("/api/paths?job=demo%2Fbert"))->body);
  EXPECT_EQ(paths["flows"], 3);
  EXPECT_EQ(paths["paths"][0]["sourcePort"], 50'000);
  EXPECT_EQ(json::parse((*Ask("/api/paths?job=demo/none"))->body)["flows"], 0);
  EXPECT_EQ((*Ask("/api/paths?job=x"))->status, 400);
}

TEST_F(HubTest, EveryAnswerForbidsWhatComesFromElsewhere) {
  hub_.Publish({{"a", T("1")}}, nullptr);
  for (const char* target :
       {"/", "/app.js", "/app.css", "/api/events", "/api/frames", "/api/frame?id=1"}) {
    const auto answer = Ask(target);
    ASSERT_TRUE(answer->has_value()) << target;
    EXPECT_EQ((*answer)->status, 200) << target;
    const auto policy = (*answer)->headers.Find("Content-Security-Policy");
    ASSERT_TRUE(policy) << target;
    EXPECT_THAT(std::string(*policy), StartsWith("default-src 'none'"));
    EXPECT_THAT(std::string(*policy), Not(HasSubstr("unsafe")));
  }
}

// Links of the page are relative, so that it works behind the API server's proxy, and nothing is
// loaded from elsewhere.
TEST(AssetsTest, ThePageNamesNoOtherPlace) {
  bool has_index = false;
  for (const Asset& asset : Assets()) {
    if (asset.name != "index.html") continue;
    has_index = true;
    const std::string text(asset.text);
    EXPECT_THAT(text, Not(HasSubstr("http:")));
    EXPECT_THAT(text, Not(HasSubstr("https:")));
    EXPECT_THAT(text, Not(HasSubstr("=\"/")));
    EXPECT_THAT(text, Not(HasSubstr("<style")));
    EXPECT_THAT(text, HasSubstr("src=\"app.js\""));
  }
  EXPECT_TRUE(has_index);
}

}  // namespace
}  // namespace yardmaster::page
