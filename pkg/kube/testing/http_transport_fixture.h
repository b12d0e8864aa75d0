// The HTTP client over real sockets, against a RawServer. For tests only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/kube/http_transport.h"
#include "pkg/kube/testing/raw_server.h"

namespace yardmaster::kube {

inline constexpr std::int64_t kLongMs = 20'000;
inline constexpr StreamDeadlines kLong{kLongMs, kLongMs};
inline constexpr std::string_view kChunked =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

inline std::string Answer(int code, std::string_view body, std::string_view headers = "") {
  return StrCat("HTTP/1.1 ", code, " Whatever\r\nContent-Length: ", body.size(), "\r\n", headers,
                "\r\n", body);
}
inline std::string Chunk(std::string_view data) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string size;
  for (std::size_t n = data.size(); n > 0; n /= 16) size.insert(size.begin(), kHex[n % 16]);
  return StrCat(size, "\r\n", data, "\r\n");
}

class HttpTransportTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { PrepareProcessForHttp(); }

  std::unique_ptr<Transport> Connect(ClientConfig config) {
    auto credentials = std::make_shared<Credentials>(config, clock_);
    auto transport = MakeHttpTransport(config, credentials);
    EXPECT_TRUE(transport.ok()) << transport.status();
    return *std::move(transport);
  }
  std::unique_ptr<Transport> Connect(const RawServer& server) {
    ClientConfig config;
    config.server = StrCat("http://127.0.0.1:", server.port());
    return Connect(config);
  }
  static HttpRequest Get(const std::string& target = "/") { return {"GET", target, {}, ""}; }
  // A server that answers every request with `answer`.
  static RawServer::Handler Always(std::string answer) {
    return [answer](RawConnection& connection) {
      while (!connection.ReadRequest().empty()) connection.Write(answer);
    };
  }
  // A server that reads a request, says `text`, and keeps the connection open.
  static RawServer::Handler SaysThenHangs(std::string text) {
    return [text](RawConnection& connection) {
      connection.ReadRequest();
      connection.Write(text);
      connection.Read();
    };
  }
  Transport::OnLine Collect() {
    return [this](std::string_view line) {
      lines_.emplace_back(line);
      return true;
    };
  }

  FakeClock clock_;
  std::vector<std::string> lines_;
};

}  // namespace yardmaster::kube
