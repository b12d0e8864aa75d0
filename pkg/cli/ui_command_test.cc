#include "pkg/cli/ui_command.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/cli/commands.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

class UiCommandTest : public testing::Test {
 protected:
  UiCommandTest() : client_(clock_) {}

  void Operator(const std::string& name, const std::string& phase, json args) {
    client_.Seed(kube::Pods(),
                 {{"apiVersion", "v1"},
                  {"kind", "Pod"},
                  {"metadata",
                   {{"name", name},
                    {"namespace", "yardmaster-system"},
                    {"labels", {{"app.kubernetes.io/component", "operator"}}}}},
                  {"spec", {{"containers", json::array({{{"name", "operator"}, {"args", args}}})}}},
                  {"status", {{"phase", phase}}}});
  }
  void Leads(const std::string& identity) {
    client_.Seed(
        kube::Leases(),
        {{"apiVersion", "coordination.k8s.io/v1"},
         {"kind", "Lease"},
         {"metadata", {{"name", "ym-yardmaster-operator"}, {"namespace", "yardmaster-system"}}},
         {"spec", {{"holderIdentity", identity}}}});
  }

  FakeClock clock_;
  kube::FakeClient client_;
  const json kWithPage = json::array({"--page-bind-address=:8082"});
};

TEST_F(UiCommandTest, OpensThePageOfTheLeaderAndNothingElse) {
  Operator("ym-yardmaster-operator-5f9c-a", "Running", kWithPage);
  Operator("ym-yardmaster-operator-5f9c-b", "Running", kWithPage);
  Leads("ym-yardmaster-operator-5f9c-b_1");
  // The Role of those who look at the page lets them get this lease and list none.
  client_.SetHook([](const kube::Call& call) {
    const bool refused = call.verb == kube::Verb::kList && kube::WhereOf(call.target) == "leases";
    return refused ? absl::PermissionDeniedError("leases") : absl::OkStatus();
  });
  const auto page = FindPage(client_, {"/k", "ctx"}, "yardmaster-system", 4711);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->url,
            "http://127.0.0.1:4711/api/v1/namespaces/yardmaster-system/pods/"
            "http:ym-yardmaster-operator-5f9c-b:8082/proxy/");
  EXPECT_THAT(page->argv, Contains("--accept-paths=^/api/v1/namespaces/yardmaster-system/pods/"
                                   "http:ym-yardmaster-operator-5f9c-b:8082/proxy/"));
  EXPECT_THAT(page->argv, Contains("--kubeconfig=/k"));
  EXPECT_THAT(page->argv, Contains("--context=ctx"));
}

TEST_F(UiCommandTest, WithoutALeaderAnyThatRunsWillDo) {
  Operator("ym-yardmaster-operator-5f9c-a", "Pending", kWithPage);
  Operator("ym-yardmaster-operator-5f9c-b", "Running", kWithPage);
  Leads("gone_1");
  const auto page = FindPage(client_, {}, "yardmaster-system", 1);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(page->url, HasSubstr("http:ym-yardmaster-operator-5f9c-b:8082"));
}

TEST_F(UiCommandTest, SaysWhatToCheckWhenThereIsNone) {
  EXPECT_THAT(MessageOf(FindPage(client_, {}, "yardmaster-system", 1).status()),
              HasSubstr("-n names the namespace"));
  Operator("ym-yardmaster-operator-5f9c-a", "Running", json::array());
  EXPECT_THAT(MessageOf(FindPage(client_, {}, "yardmaster-system", 1).status()),
              HasSubstr("operator.page.enabled=true"));
}

}  // namespace
}  // namespace yardmaster::cli
