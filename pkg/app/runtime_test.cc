#include "pkg/app/runtime.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "pkg/base/testing/free_port.h"
#include "pkg/http/testing/raw_client.h"

namespace yardmaster::app {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

int StatusOf(int port, const char* path) {
  http::RawClient client(port);
  const auto response = client.Call("GET", path);
  return response ? response->status : 0;
}

class RuntimeTest : public testing::Test {
 protected:
  RuntimeTest() {
    options_.metrics_address = StrCat("127.0.0.1:", metrics_port_);
    options_.health_address = StrCat("127.0.0.1:", health_port_);
  }

  const int metrics_port_ = FreePort();
  const int health_port_ = FreePort();
  CommonOptions options_;
};

TEST_F(RuntimeTest, TheHealthPortServesHealthAlone) {
  Runtime runtime(options_, "test");
  ASSERT_TRUE(runtime.Serve().ok());
  EXPECT_EQ(StatusOf(health_port_, "/healthz"), 200);
  EXPECT_EQ(StatusOf(health_port_, "/readyz"), 200);
  EXPECT_EQ(StatusOf(health_port_, "/metrics"), 404) << "metricsFrom would not narrow them";
  EXPECT_EQ(StatusOf(health_port_, "/metrics/history"), 404);
  EXPECT_EQ(StatusOf(metrics_port_, "/metrics"), 200);
  EXPECT_EQ(StatusOf(metrics_port_, "/healthz"), 200);
  runtime.Stop();
}

TEST_F(RuntimeTest, NoBodyIsTaken) {
  Runtime runtime(options_, "test");
  ASSERT_TRUE(runtime.Serve().ok());
  for (const int port : {metrics_port_, health_port_}) {
    for (const char* method : {"POST", "GET"}) {
      http::RawClient client(port);
      client.Send(
          StrCat(method, " /metrics HTTP/1.1\r\nHost: h\r\nContent-Length: 8000000\r\n\r\n"));
      const auto response = client.ReadResponse();
      ASSERT_TRUE(response.has_value());
      EXPECT_EQ(response->status, 413);
    }
  }
  runtime.Stop();
}

TEST_F(RuntimeTest, TheHistoryBeginsAtTheStart) {
  Runtime runtime(options_, "test");
  ASSERT_TRUE(runtime.Serve().ok());
  // The first sample is taken by a thread that has just been started; there is one answer a second.
  std::string body;
  for (int i = 0; i < 100 && body.find("yardmaster_build_info") == std::string::npos; ++i) {
    http::RawClient client(metrics_port_);
    const auto response = client.Call("GET", "/metrics/history");
    ASSERT_TRUE(response);
    body = response->body;
    usleep(100'000);
  }
  EXPECT_THAT(body, HasSubstr("yardmaster_build_info{process=\"test\""));
  EXPECT_THAT(body, EndsWith("# EOF\n"));
  runtime.Stop();
}

}  // namespace
}  // namespace yardmaster::app
