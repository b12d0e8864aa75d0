#include "pkg/kube/rest_client.h"

#include <mutex>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/api_error.h"
#include "pkg/kube/informer.h"
#include "pkg/kube/testing/fake_sleeper.h"
#include "pkg/kube/testing/fake_transport.h"
#include "pkg/kube/testing/list_page.h"

namespace yardmaster::kube {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

const char* kPod = R"({"kind":"Pod","metadata":{"name":"a","namespace":"default"},"spec":{"x":1}})";

std::string PodLine(const std::string& type, const std::string& name, int version) {
  return json({{"type", type},
               {"object",
                {{"metadata",
                  {{"name", name},
                   {"namespace", "default"},
                   {"uid", name},
                   {"resourceVersion", StrCat(version)}}}}}})
      .dump();
}
std::string PodList(int version, const std::vector<std::string>& names,
                    const std::string& next = "") {
  json list = {{"metadata", {{"resourceVersion", StrCat(version)}, {"continue", next}}},
               {"items", json::array()}};
  for (const std::string& name : names) {
    list["items"].push_back({{"metadata",
                              {{"name", name},
                               {"namespace", "default"},
                               {"uid", name},
                               {"resourceVersion", StrCat(version)}}}});
  }
  return list.dump();
}
absl::Status Cut() { return absl::UnavailableError("connection reset"); }
absl::Status Refused() { return MarkNeverSent(absl::UnavailableError("Failed to connect")); }

class RestClientTest : public testing::Test {
 protected:
  RestClientTest() { Make(Config()); }
  static ClientConfig Config() {
    ClientConfig config;
    config.server = "https://127.0.0.1:6443";
    config.token = "secret";
    config.user_agent = "yardmaster-test/1";
    return config;
  }
  void Make(ClientConfig config) {
    auto transport = std::make_unique<FakeTransport>();
    transport_ = transport.get();
    auto credentials = std::make_shared<Credentials>(config, clock_);
    client_ = std::make_unique<RestClient>(
        std::move(config), std::move(transport), std::move(credentials),
        Timing{clock_, sleeper_, 1},
        [this](const RequestObservation& seen) {
          observed_.push_back(StrCat(seen.verb, " ", seen.code));
        },
        Ending{begun_.get_token(), over_.get_token()});
  }
  absl::Status GetPod() { return client_->Get({Pods(), "default", "a"}).status(); }
  absl::Status CreatePod(json pod = json::parse(kPod)) {
    return client_->Create({Pods(), "default"}, pod, {}).status();
  }
  HttpRequest Request(std::size_t i = 0) { return transport_->requests().at(i); }

  FakeClock clock_;
  FakeSleeper sleeper_{clock_, FakeSleeper::Mode::kAdvance};
  std::stop_source begun_;
  std::stop_source over_;
  FakeTransport* transport_ = nullptr;
  std::vector<std::string> observed_;
  std::unique_ptr<RestClient> client_;
};

TEST_F(RestClientTest, ARequestCarriesPathQueryAndHeaders) {
  ClientConfig config = Config();
  config.as = "jane";
  config.as_groups = {"dev"};
  config.as_user_extra = {{"scope/x", {"y"}}};
  Make(config);
  transport_->Answer(200, PodList(5, {"a"}));
  const auto page =
      ReadListPage(*client_, {Pods(), "default"}, {.label_selector = "a in (b)", .limit = 7});
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->resource_version, "5");
  EXPECT_EQ(Request().method, "GET");
  EXPECT_EQ(Request().target,
            "/api/v1/namespaces/default/pods?labelSelector=a%20in%20%28b%29&limit=7");
  EXPECT_THAT(Request().headers, Contains(Pair("Authorization", "Bearer secret")));
  EXPECT_THAT(Request().headers, Contains(Pair("User-Agent", "yardmaster-test/1")));
  EXPECT_THAT(Request().headers, Contains(Pair("Impersonate-User", "jane")));
  EXPECT_THAT(Request().headers, Contains(Pair("Impersonate-Group", "dev")));
  EXPECT_THAT(Request().headers, Contains(Pair("Impersonate-Extra-scope%2Fx", "y")));
}

TEST_F(RestClientTest, EveryKindOfWriteSaysWhatItIs) {
  for (int i = 0; i < 7; ++i) transport_->Answer(200, kPod);
  const Target pod{Pods(), "default", "a"};
  ASSERT_TRUE(client_->Patch(pod, JsonPatch(json::array()), {}).ok());
  ASSERT_TRUE(client_
                  ->Patch({Pods(), "default", "a", "status"}, MergePatch({{"a", 1}}),
                          {.field_manager = "me"})
                  .ok());
  PatchBody by_us = MergePatch({{"a", 1}});
  by_us.field_manager = "ym";
  ASSERT_TRUE(client_->Patch(pod, by_us, {.field_manager = "me"}).ok());
  ASSERT_TRUE(client_->Replace(pod, {{"a", 1}}, {.field_manager = "me"}).ok());
  ASSERT_TRUE(client_->Create({Pods(), "default", "a", "binding"}, {{"a", 1}}, {}).ok());
  ASSERT_TRUE(client_->Delete(pod, {.uid = "u", .propagation = "Background"}).ok());
  ASSERT_TRUE(
      client_->Create({Pods(), "default", "", ""}, {}, {.field_manager = "me", .dry_run = true})
          .ok());
  const std::string path = "/api/v1/namespaces/default/pods/a";
  EXPECT_THAT(Request(0).headers, Contains(Pair("Content-Type", "application/json-patch+json")));
  EXPECT_EQ(Request(1).target, path + "/status?fieldManager=me");
  EXPECT_THAT(Request(1).headers, Contains(Pair("Content-Type", "application/merge-patch+json")));
  EXPECT_EQ(Request(2).target, path + "?fieldManager=ym");
  EXPECT_EQ(Request(3).target, path + "?fieldManager=me");
  EXPECT_EQ(Request(4).target, path + "/binding");
  const json body = json::parse(Request(5).body);
  EXPECT_EQ(body["preconditions"]["uid"], "u");
  EXPECT_EQ(body["propagationPolicy"], "Background");
  EXPECT_FALSE(body.contains("gracePeriodSeconds"));
  EXPECT_EQ(Request(6).target, "/api/v1/namespaces/default/pods?fieldManager=me&dryRun=All");
}

TEST_F(RestClientTest, ListAllFollowsTheContinueTokensAndFillsInTheKind) {
  transport_->Answer(200, PodList(5, {"a", "b"}, "tok/1"));
  transport_->Answer(200, PodList(5, {"c"}));
  const auto all = ListAll(*client_, {Pods(), "default"});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(*all, SizeIs(3));
  EXPECT_EQ((*all->at(0))["kind"], "Pod");
  EXPECT_THAT(Request(1).target, HasSubstr("continue=tok%2F1"));
}

TEST_F(RestClientTest, APageThatIsTooLargeIsAskedForAgainWithFewerObjects) {
  const absl::Status too_large = MarkTooLarge(absl::DataLossError("an answer of many bytes"));
  transport_->Answer(too_large);
  transport_->Answer(too_large);
  for (const char* next : {"p1", "p2", "p3", ""}) transport_->Answer(200, PodList(5, {"a"}, next));
  const auto all = ListAll(*client_, {Pods()}, {.limit = 10});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(*all, SizeIs(4));
  EXPECT_THAT(Request(1).target, HasSubstr("limit=5"));
  EXPECT_THAT(Request(2).target, HasSubstr("limit=2"));
  EXPECT_THAT(Request(3).target, HasSubstr("limit=2&continue=p1")) << "it was known to work";
  EXPECT_THAT(Request(4).target, HasSubstr("limit=4&continue=p2")) << "not all objects are large";
  EXPECT_THAT(Request(5).target, HasSubstr("limit=8&continue=p3"));
  for (int i = 0; i < 4; ++i) transport_->Answer(too_large);
  EXPECT_TRUE(absl::IsDataLoss(ListAll(*client_, {Pods()}, {.limit = 10}).status()))
      << "one object is larger than any can be";
}

TEST_F(RestClientTest, TooManyRequestsWaitsAsLongAsTheServerAsksForEveryVerb) {
  transport_->Answer(429, "", {{"retry-after", "3"}});
  transport_->Answer(429, "", {{"retry-after", "2"}});
  transport_->Answer(201, kPod);
  json nameless = {{"metadata", {{"generateName", "a-"}}}};
  ASSERT_TRUE(CreatePod(nameless).ok());
  EXPECT_THAT(sleeper_.slept(), ElementsAre(3000, 2000));
}

TEST_F(RestClientTest, TooManyRequestsWithoutAWaitIsTheCallersMatter) {
  transport_->Answer(429, R"({"message":"would violate the disruption budget"})");
  const absl::Status status =
      client_->Create({Pods(), "default", "a", "eviction"}, json::object(), {}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(sleeper_.slept(), IsEmpty());
}

TEST_F(RestClientTest, AWaitBeyondTheDeadlineEndsTheCallAtOnce) {
  transport_->Answer(429, "", {{"retry-after", "300"}});
  const absl::Status status = GetPod();
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_EQ(RetryAfterMs(status), 300'000);
  EXPECT_THAT(sleeper_.slept(), IsEmpty());
}

TEST_F(RestClientTest, IdempotentVerbsAreTriedAgainWithGrowingDelays) {
  transport_->Answer(503, "");
  transport_->Answer(Cut());
  transport_->Answer(absl::DeadlineExceededError("no answer in time"));
  transport_->Answer(200, kPod);
  ASSERT_TRUE(GetPod().ok());
  const std::vector<std::int64_t> slept = sleeper_.slept();
  ASSERT_THAT(slept, SizeIs(3));
  for (int i = 0; i < 3; ++i) {
    EXPECT_GE(slept[i], 800 << i);
    EXPECT_LT(slept[i], 1600 << i);
  }
  EXPECT_THAT(observed_, ElementsAre("GET 503", "GET 0", "GET 0", "GET 200"));
}

TEST_F(RestClientTest, TheDeadlineBoundsTheWholeCall) {
  for (int i = 0; i < 20; ++i) transport_->Answer(503, "");
  const std::int64_t started = clock_.SteadyMs();
  EXPECT_TRUE(absl::IsUnavailable(GetPod()));
  EXPECT_LT(clock_.SteadyMs() - started, 30'000);
  EXPECT_LE(transport_->deadlines().back(), 30'000 - (clock_.SteadyMs() - started));
}

TEST_F(RestClientTest, WhatMayHaveBeenDoneIsNotDoneAgain) {
  const Target pod{Pods(), "default", "a"};
  transport_->Answer(Cut());
  EXPECT_TRUE(absl::IsUnavailable(client_->Patch(pod, JsonPatch(json::array()), {}).status()));
  transport_->Answer(Cut());
  EXPECT_TRUE(absl::IsUnavailable(CreatePod({{"metadata", {{"generateName", "a-"}}}})));
  transport_->Answer(503, "");
  EXPECT_TRUE(absl::IsUnavailable(
      client_->Create({Pods(), "default", "a", "binding"}, json::object(), {}).status()));
  EXPECT_THAT(transport_->requests(), SizeIs(3));
}

TEST_F(RestClientTest, ARefusalAfterALostAnswerSaysThatAnEarlierTryMayHaveWorked) {
  const Target gang{Gangs(), "default", "g", "status"};
  const json body = {{"metadata", {{"name", "g"}}}};
  transport_->Answer(Cut());
  transport_->Answer(409, "{}");
  EXPECT_TRUE(WasReplayed(client_->Replace(gang, body, {}).status()));
  transport_->Answer(Refused());
  transport_->Answer(409, "{}");
  const absl::Status conflict = client_->Replace(gang, body, {}).status();
  EXPECT_TRUE(absl::IsAborted(conflict)) << conflict;
  EXPECT_FALSE(WasReplayed(conflict)) << "the first try was never sent";
}

TEST_F(RestClientTest, WhatWasNeverSentIsAlwaysTriedAgain) {
  transport_->Answer(Refused());
  transport_->Answer(201, kPod);
  EXPECT_TRUE(CreatePod({{"metadata", {{"generateName", "a-"}}}}).ok());
}

TEST_F(RestClientTest, ACreateWhoseAnswerWasLostMeetsItsOwnObject) {
  transport_->Answer(Cut());
  transport_->Answer(409, R"({"reason":"AlreadyExists"})");
  transport_->Answer(200, R"({"kind":"Pod","metadata":{"name":"a","namespace":"default","uid":"u"},
                              "spec":{"x":1,"defaulted":true}})");
  absl::StatusOr<json> created = client_->Create({Pods(), "default"}, json::parse(kPod), {});
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_EQ(UidOf(*created), "u");
}

TEST_F(RestClientTest, AnothersObjectIsNotTakenForOnesOwn) {
  transport_->Answer(Cut());
  transport_->Answer(409, R"({"reason":"AlreadyExists"})");
  transport_->Answer(200, R"({"kind":"Pod","metadata":{"name":"a","namespace":"default"},
                              "spec":{"x":2}})");
  EXPECT_TRUE(absl::IsAlreadyExists(CreatePod()));
  // And without a retry before it, AlreadyExists is just that.
  transport_->Answer(409, R"({"reason":"AlreadyExists"})");
  EXPECT_TRUE(absl::IsAlreadyExists(CreatePod()));
  EXPECT_THAT(transport_->requests(), SizeIs(4));
}

TEST_F(RestClientTest, ADeleteWhoseAnswerWasLostHasWorked) {
  transport_->Answer(Cut());
  transport_->Answer(404, "");
  EXPECT_TRUE(client_->Delete({Pods(), "default", "a"}, {}).ok());
  transport_->Answer(Refused());
  transport_->Answer(404, "");
  EXPECT_TRUE(absl::IsNotFound(client_->Delete({Pods(), "default", "a"}, {})));
}

TEST_F(RestClientTest, UnauthorizedIsTriedOnceMoreOnANewConnection) {
  transport_->Answer(401, "");
  transport_->Answer(200, kPod);
  EXPECT_TRUE(GetPod().ok());
  EXPECT_EQ(transport_->drops(), 1);
  transport_->Answer(401, "");
  transport_->Answer(401, R"({"message":"Unauthorized"})");
  EXPECT_TRUE(absl::IsUnauthenticated(GetPod()));
  EXPECT_THAT(transport_->requests(), SizeIs(4));
  EXPECT_THAT(sleeper_.slept(), IsEmpty());
}

TEST_F(RestClientTest, TheClientsOwnLimitHoldsCallsBack) {
  ClientConfig config = Config();
  config.qps = 10;
  config.burst = 2;
  Make(config);
  for (int i = 0; i < 4; ++i) transport_->Answer(200, kPod);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(GetPod().ok());
  EXPECT_THAT(sleeper_.slept(), ElementsAre(100, 100));
}

TEST_F(RestClientTest, AnswersThatAreNoObjectsAreDataLoss) {
  for (const char* body : {"", "[]", "{\"a\":", "<html>"}) {
    transport_->Answer(200, body);
    EXPECT_TRUE(absl::IsDataLoss(GetPod())) << body;
  }
}

TEST_F(RestClientTest, AnAnswerThatIsNoListIsDataLoss) {
  for (const char* body : {R"({"items":5})", R"({"kind":"PodList","items":{}})", R"({"items":"a"})",
                           R"({"items":null})", R"({"kind":"Pod","metadata":{}})", "{}"}) {
    transport_->Answer(200, body);
    const absl::Status status = ListAll(*client_, {Pods()}).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << body << " " << status;
  }
}

TEST_F(RestClientTest, AListWithoutItemsIsEmpty) {
  for (const char* body : {R"({"items":[]})", R"({"kind":"PodList"})", R"({"kind":"List"})",
                           R"({"kind":"PodList","items":null})"}) {
    transport_->Answer(200, body);
    const auto list = ListAll(*client_, {Pods()});
    ASSERT_TRUE(list.ok()) << body << " " << list.status();
    EXPECT_THAT(*list, IsEmpty()) << body;
  }
}

TEST_F(RestClientTest, AtTheEndCallsGoOnWhileTheServerAnswers) {
  begun_.request_stop();
  over_.request_stop();
  for (int i = 0; i < 3; ++i) transport_->Answer(200, kPod);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(GetPod().ok());
  transport_->Answer(404, "");
  EXPECT_TRUE(absl::IsNotFound(GetPod())) << "an answer, too";
  transport_->Answer(200, kPod);
  EXPECT_TRUE(GetPod().ok());
  EXPECT_THAT(transport_->deadlines(), Each(kLastCallMs));
}

TEST_F(RestClientTest, AtTheEndACallWithoutAnswerIsTheLast) {
  begun_.request_stop();
  for (int i = 0; i < 10; ++i) transport_->Answer(Refused());
  EXPECT_TRUE(absl::IsUnavailable(GetPod()));
  EXPECT_LE(clock_.SteadyMs(), kLastCallMs);
  const std::size_t tries = transport_->requests().size();
  EXPECT_TRUE(absl::IsCancelled(GetPod()));
  EXPECT_TRUE(absl::IsCancelled(CreatePod()));
  EXPECT_THAT(transport_->requests(), SizeIs(tries));
}

TEST_F(RestClientTest, AfterTheEndNoCallPausesForAnotherTry) {
  begun_.request_stop();
  transport_->Answer(503, "");
  transport_->Answer(200, kPod);
  EXPECT_TRUE(GetPod().ok()) << "until then it does";
  over_.request_stop();
  for (int i = 0; i < 3; ++i) {
    transport_->Answer(503, "");
    EXPECT_TRUE(absl::IsUnavailable(GetPod()));
  }
  EXPECT_THAT(transport_->requests(), SizeIs(5));
}

TEST_F(RestClientTest, ACallUnderWayAtTheEndHasUntilThen) {
  transport_->Hang();
  std::jthread process([this] {
    transport_->WaitForRequests(1);
    begun_.request_stop();
    over_.request_stop();
  });
  EXPECT_TRUE(absl::IsCancelled(GetPod()));
  EXPECT_TRUE(absl::IsCancelled(GetPod()));
  EXPECT_THAT(transport_->requests(), SizeIs(1));
}

class RestWatchTest : public RestClientTest {
 protected:
  absl::Status Watch(const WatchOptions& options = {}) {
    return client_->Watch({Pods(), "default"}, options, {}, [this](const WatchEvent& event) {
      seen_.push_back(StrCat(static_cast<int>(event.type), NameOf(event.object)));
    });
  }
  std::vector<std::string> seen_;
};

TEST_F(RestWatchTest, EventsComeInOrderAndAnOrdinaryEndIsOk) {
  transport_->AnswerStream({{PodLine("ADDED", "a", 6), PodLine("MODIFIED", "a", 7), "",
                             PodLine("DELETED", "a", 8), PodLine("BOOKMARK", "", 9)},
                            absl::OkStatus()});
  ASSERT_TRUE(Watch({.resource_version = "5", .timeout_seconds = 60}).ok());
  EXPECT_THAT(seen_, ElementsAre("0a", "1a", "2a", "3"));
  EXPECT_EQ(Request().target,
            "/api/v1/namespaces/default/pods?watch=1&allowWatchBookmarks=true&resourceVersion=5"
            "&timeoutSeconds=60");
  EXPECT_THAT(transport_->deadlines(), ElementsAre(75'000));
}

TEST_F(RestWatchTest, GoneIsOutOfRangeHoweverItComes) {
  transport_->AnswerStream(HttpResponse{410, {}, R"({"message":"too old"})"});
  EXPECT_TRUE(absl::IsOutOfRange(Watch()));
  transport_->AnswerStream(
      {{R"({"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}})"},
       absl::OkStatus()});
  EXPECT_TRUE(absl::IsOutOfRange(Watch()));
}

TEST_F(RestWatchTest, MalformedLinesEndTheWatchAndNothingElse) {
  for (const char* line : {"{", "[]", "{\"type\":\"ADDED\"}", "{\"type\":\"ADDED\",\"object\":3}",
                           "{\"type\":\"NEW\",\"object\":{}}", "\xff\xfe"}) {
    transport_->AnswerStream({{line, PodLine("ADDED", "never", 6)}, absl::OkStatus()});
    EXPECT_TRUE(absl::IsDataLoss(Watch())) << line;
  }
  EXPECT_THAT(seen_, IsEmpty());
}

TEST_F(RestWatchTest, ARefusedWatchCarriesRetryAfterAndIsNotRetriedHere) {
  transport_->AnswerStream(HttpResponse{429, {{"retry-after", "7"}}, ""});
  EXPECT_EQ(RetryAfterMs(Watch()), 7000);
  EXPECT_THAT(transport_->requests(), SizeIs(1));
}

TEST_F(RestWatchTest, AnUnauthorizedWatchIsTriedOnceMore) {
  transport_->AnswerStream(HttpResponse{401, {}, ""});
  transport_->AnswerStream({{PodLine("ADDED", "a", 6)}, absl::OkStatus()});
  EXPECT_TRUE(Watch().ok());
  EXPECT_THAT(seen_, ElementsAre("0a"));
}

// The whole path of an informer over a server that misbehaves in every way at once.
TEST_F(RestWatchTest, AnInformerResumesWhereItWasAndListsAgainOnlyWhenItMust) {
  std::mutex mutex;
  std::vector<std::string> log;
  auto write = [&](std::string line) {
    std::lock_guard lock(mutex);
    log.push_back(std::move(line));
  };
  transport_->Answer(200, PodList(5, {"a", "b"}));
  transport_->AnswerStream({{PodLine("MODIFIED", "a", 6)}, Cut()});                // cut
  transport_->AnswerStream(HttpResponse{429, {{"retry-after", "9"}}, ""});         // pushed back
  transport_->AnswerStream({{PodLine("BOOKMARK", "", 8), "{\"type\":\"AD"}, {}});  // malformed
  transport_->AnswerStream({{}, absl::OkStatus()});                                // ends at once
  transport_->AnswerStream({{PodLine("ADDED", "c", 9)}, absl::OkStatus()});        // in order
  transport_->AnswerStream(HttpResponse{410, {}, ""});                             // too old
  transport_->Answer(503, "");
  transport_->Answer(200, PodList(20, {"c", "d"}));
  CallbackSink sink([&](JsonView pod) { write(NameOf(pod)); },
                    [&](const ObjectIdentity& pod) { write("-" + pod.name); });
  Informer informer(*client_, Pods(), {.ns = "default"}, sink, {}, {clock_, sleeper_, 1});
  informer.Start();
  transport_->WaitForRequests(10);
  informer.Stop();
  std::vector<std::string> versions;
  for (const HttpRequest& request : transport_->requests()) {
    const std::size_t at = request.target.find("resourceVersion=");
    versions.push_back(
        at == std::string::npos
            ? "list"
            : request.target.substr(at + 16, request.target.find('&', at) - at - 16));
  }
  EXPECT_THAT(versions, ElementsAre("list", "5", "6", "6", "8", "8", "9", "list", "list", "20"));
  EXPECT_THAT(log, ElementsAre("a", "b", "a", "c", "c", "d", "-a", "-b"));
  EXPECT_THAT(sleeper_.slept(), Contains(9000));
}

// The delays before the lists that follow `watches`, of which each brings one event and is then too
// old. "long" watches last a minute.
class RelistTest : public RestWatchTest {
 protected:
  std::vector<std::int64_t> DelaysAfter(const std::vector<std::string>& watches) {
    int version = 0;
    transport_->Answer(200, PodList(++version, {}));
    for (const std::string& watch : watches) {
      transport_->AnswerStream(
          {{PodLine("ADDED", watch, ++version),
            R"({"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}})"},
           absl::OkStatus()});
      transport_->Answer(200, PodList(++version, {}));
    }
    CallbackSink sink(
        [this](JsonView pod) {
          if (NameOf(pod) == "long") clock_.Advance(60'000);
        },
        {});
    Informer informer(*client_, Pods(), {}, sink, {}, {clock_, sleeper_, 1});
    informer.Start();
    transport_->WaitForRequests(2 * watches.size() + 2);
    informer.Stop();
    return sleeper_.slept();
  }
};

TEST_F(RelistTest, ListsAfterShortWatchesComeLessAndLessOften) {
  const std::vector<std::int64_t> delays = DelaysAfter({"short", "short", "short", "short"});
  ASSERT_THAT(delays, SizeIs(4));
  EXPECT_LT(delays[0], 1'600);
  EXPECT_GE(delays[3], 6'400);
}

TEST_F(RelistTest, AfterALongWatchAListIsReadAtOnceAndDelaysBeginAgain) {
  const std::vector<std::int64_t> delays =
      DelaysAfter({"short", "short", "short", "long", "short"});
  ASSERT_THAT(delays, SizeIs(4));
  EXPECT_GE(delays[2], 3'200);
  EXPECT_LT(delays[3], 1'600);
}

}  // namespace
}  // namespace yardmaster::kube
