#include "pkg/http/message.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/status.h"
#include "pkg/http/options.h"
#include "pkg/http/response_writer.h"
#include "pkg/http/router.h"

namespace yardmaster::http {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Written(const Response& response, const ResponseOptions& options) {
  const WireResponse wire = WriteResponse(response, options);
  return wire.head + wire.body;
}

TEST(ResponseWriter, WritesStatusHeadersAndBody) {
  Response response = JsonResponse(200, "{}");
  response.headers.Add("X-A", "b");
  EXPECT_EQ(Written(response, {.now_s = 1'704'164'645}),
            "HTTP/1.1 200 OK\r\nDate: Tue, 02 Jan 2024 03:04:05 GMT\r\n"
            "Content-Type: application/json\r\nContent-Length: 2\r\nX-A: b\r\n\r\n{}");
}

TEST(ResponseWriter, TellsOldClientsOfKeepAliveAndAllOfClose) {
  const Response response = TextResponse(200, "x");
  EXPECT_THAT(Written(response, {.http10 = true}), HasSubstr("Connection: keep-alive\r\n"));
  EXPECT_THAT(Written(response, {.keep_alive = false}), HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(Written(response, {}), Not(HasSubstr("Connection")));
}

TEST(ResponseWriter, AHandlerCannotSplitOrReframeTheResponse) {
  for (const char* value : {"a\r\nX-Evil: 1", "a\nb", "a\rb"}) {
    Response response = TextResponse(200, "x");
    response.headers.Add("X-A", value);
    const std::string written = Written(response, {});
    EXPECT_THAT(written, HasSubstr("HTTP/1.1 500 "));
    EXPECT_THAT(written, Not(HasSubstr("Evil")));
  }
  Response response = TextResponse(200, "x");
  response.headers.Add("content-length", "999");
  response.headers.Add("Transfer-Encoding", "chunked");
  const std::string written = Written(response, {});
  EXPECT_THAT(written, HasSubstr("Content-Length: 1\r\n"));
  EXPECT_THAT(written, Not(HasSubstr("999")));
  EXPECT_THAT(written, Not(HasSubstr("chunked")));
}

TEST(ResponseWriter, ResponsesWithoutBodyHaveNoLength) {
  const std::string written = Written(TextResponse(204, "ignored"), {});
  EXPECT_THAT(written, Not(HasSubstr("Content-Length")));
  EXPECT_THAT(written, testing::EndsWith("\r\n\r\n"));
}

TEST(ResponseWriter, AStatusNoHandlerMaySendBecomesA500) {
  for (const int status : {0, 100, 101, 199, 600, -1}) {
    EXPECT_THAT(Written(TextResponse(status, ""), {}), HasSubstr("HTTP/1.1 500 "));
  }
}

TEST(Headers, NamesCompareWithoutCase) {
  Headers headers;
  headers.Add("X-Request-Id", "1");
  headers.Add("x-request-ID", "2");
  EXPECT_EQ(headers.Find("X-REQUEST-ID"), "1");
  EXPECT_FALSE(headers.Find("X-Request-I"));
}

// What `router` answers to one request.
Response Ask(const Router& router, const std::string& method, const std::string& target) {
  Request request;
  request.method = method;
  request.target = target;
  Response answer;
  router.Handle(std::move(request), [&](Response response) { answer = std::move(response); });
  return answer;
}

TEST(Router, GoesByExactPathAndMethod) {
  Router router;
  router.Add("GET", "/a", [](const Request&, const Done& done) { done(TextResponse(200, "get")); });
  router.Add("POST", "/a", [](const Request& request, const Done& done) {
    done(TextResponse(201, request.query()));
  });
  EXPECT_EQ(Ask(router, "GET", "/a?x").body, "get");
  EXPECT_EQ(Ask(router, "POST", "/a?x=1").body, "x=1");
  EXPECT_EQ(Ask(router, "HEAD", "/a").body, "get");
  EXPECT_EQ(Ask(router, "GET", "/a/").status, 404);
  EXPECT_EQ(Ask(router, "GET", "/A").status, 404);
  const Response refused = Ask(router, "PUT", "/a");
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(refused.headers.Find("Allow"), "GET, POST");
}

TEST(ServerOptions, ImpossibleValuesAreRefusedByName) {
  EXPECT_TRUE(Validate(ServerOptions()).ok());
  const auto message = [](auto change) {
    ServerOptions options;
    change(options);
    return MessageOf(Validate(options));
  };
  EXPECT_THAT(message([](auto& o) { o.port = 70000; }), HasSubstr("port: "));
  EXPECT_THAT(message([](auto& o) { o.io_threads = 0; }), HasSubstr("io_threads: "));
  EXPECT_THAT(message([](auto& o) { o.limits.header_bytes = 10; }), HasSubstr("header_bytes: "));
  EXPECT_THAT(message([](auto& o) { o.limits.total_body_bytes = 1; }),
              HasSubstr("total_body_bytes: "));
  EXPECT_THAT(message([](auto& o) { o.limits.methods = {"TRACE"}; }), HasSubstr("TRACE"));
  EXPECT_THAT(message([](auto& o) { o.deadlines.idle_ms = 0; }), HasSubstr("deadlines.idle_ms: "));
}

}  // namespace
}  // namespace yardmaster::http
