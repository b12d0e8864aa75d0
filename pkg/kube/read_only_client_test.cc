#include "pkg/kube/read_only_client.h"

#include <memory>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/clock.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::kube {
namespace {

using nlohmann::json;

TEST(ReadOnlyClientTest, ReadsPassAndNoWriteReachesTheServer) {
  const FakeClock clock;
  auto owned = std::make_unique<FakeClient>(clock);
  FakeClient& server = *owned;
  server.Seed(Pods(), {{"apiVersion", "v1"},
                       {"kind", "Pod"},
                       {"metadata", {{"name", "p"}, {"namespace", "team"}}}});
  ReadOnlyClient client(std::move(owned));
  const Target pod{Pods(), "team", "p", ""};
  EXPECT_TRUE(client.Get(pod).ok());
  EXPECT_EQ(ListAll(client, {Pods(), "", "", ""})->size(), 1u);
  server.ClearCalls();
  const json object = *client.Get(pod);
  const absl::Status refused[] = {
      client.Create({Pods(), "team", "p", "eviction"}, object, {}).status(),
      client.Create({Pods(), "team", "", ""}, object, {.dry_run = true}).status(),
      client.Replace(pod, object, {}).status(),
      client.Patch(pod, MergePatch({{"metadata", {{"labels", {{"a", "b"}}}}}}), {}).status(),
      client.Delete(pod, {})};
  for (const absl::Status& status : refused) {
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    EXPECT_NE(status.message().find("--mode=Observe"), std::string::npos) << status;
  }
  EXPECT_EQ(server.calls().size(), 1u) << "the Get";
}

}  // namespace
}  // namespace yardmaster::kube
