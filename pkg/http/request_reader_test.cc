#include "pkg/http/request_reader.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/base/random.h"
#include "pkg/base/strings.h"

namespace yardmaster::http {
namespace {

using State = RequestReader::State;

const Limits kLimits = [] {
  Limits limits;
  limits.header_bytes = 512;
  limits.body_bytes = 1000;
  return limits;
}();

// Status of the refusal of `bytes`; 200 for a complete request; 0 when it waits for more.
int StatusOf(const std::string& bytes, const Limits& limits = kLimits) {
  RequestReader reader(limits);
  reader.Feed(bytes);
  if (reader.state() == State::kComplete) return 200;
  return reader.state() == State::kFailed ? reader.error().status : 0;
}

std::string Get(const std::string& headers) { return "GET / HTTP/1.1\r\n" + headers + "\r\n"; }

std::string Post(const std::string& headers, const std::string& body) {
  return "POST / HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n" + body;
}

TEST(RequestReader, ReadsARequestWithABody) {
  RequestReader reader(kLimits);
  const std::string bytes =
      "POST /filter?x=1 HTTP/1.1\r\nHost: a\r\nX-Y:  z \r\nContent-Length: 3\r\n\r\nabcGET";
  EXPECT_EQ(reader.Feed(bytes), bytes.size() - 3);
  ASSERT_EQ(reader.state(), State::kComplete);
  EXPECT_TRUE(reader.keep_alive());
  const Request request = reader.Take();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/filter?x=1");
  EXPECT_EQ(request.path(), "/filter");
  EXPECT_EQ(request.query(), "x=1");
  EXPECT_EQ(request.headers.Find("x-y"), "z");
  EXPECT_EQ(request.body, "abc");
}

TEST(RequestReader, ReadsChunksAndThrowsTrailersAway) {
  RequestReader reader(kLimits);
  reader.Feed(Post("Transfer-Encoding: Chunked\r\n",
                   "3;ext\r\nabc\r\n2;a=\"b\"\r\nde\r\n0\r\nHost: evil\r\nX-User: root\r\n\r\n"));
  ASSERT_EQ(reader.state(), State::kComplete);
  const Request request = reader.Take();
  EXPECT_EQ(request.body, "abcde");
  EXPECT_FALSE(request.headers.Find("X-User"));
  EXPECT_EQ(request.headers.Find("Host"), "a");
}

TEST(RequestReader, RefusesEverythingThatTwoPartiesCouldReadDifferently) {
  struct Case {
    std::string bytes;
    int status;
  };
  const std::vector<Case> cases = {
      {Get(""), 400},
      {Get("Host: a\r\nHost: a\r\n"), 400},
      {Get("Host: a\r\nBad Name: x\r\n"), 400},
      {Get("Host : a\r\n"), 400},
      {Get(std::string("Host: a\r\nX: a\0b\r\n", 18)), 400},
      {Get("Host: a\r\nX: a\rb\r\n"), 400},
      {"GET / HTTP/1.1\nHost: a\n\n", 400},
      {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET / HTTP/9.9\r\nHost: a\r\n\r\n", 505},
      {"GET / HTTP/2.0\r\n\r\n", 505},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"GET / XXXX/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /\r\n\r\n", 400},
      {"\x16\x03\x01\x02junk of a TLS hello\r\n\r\n", 400},
      {Post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "abc"), 400},
      {Post("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "abc"), 400},
      {Post("Transfer-Encoding: xchunked\r\nContent-Length: 3\r\n", "abc"), 400},
      {Post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), 501},
      {Post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 501},
      {Post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
      {Post("Transfer-Encoding: identity\r\n", ""), 501},
      {Post("Transfer-Encoding :chunked\r\n", "0\r\n\r\n"), 400},
      {Post("Transfer-Encoding:\x0b"
            "chunked\r\n",
            "0\r\n\r\n"),
       400},
      {Post("Content-Length: 3\r\nContent-Length: 3\r\n", "abc"), 400},
      {Post("Content-Length: 3\r\nContent-Length: 4\r\n", "abc"), 400},
      {Post("Content-Length: 3, 3\r\n", "abc"), 400},
      {Post("Content-Length: 3abc\r\n", "abc"), 400},
      {Post("Content-Length: +3\r\n", "abc"), 400},
      {Post("Content-Length: -1\r\n", "abc"), 400},
      {Post("Content-Length: 0x3\r\n", "abc"), 400},
      {Post("Content-Length:\r\n", "abc"), 400},
      {Post("Content-Length: 9223372036854775808\r\n", "abc"), 413},
      {Post("Content-Length: 99999999999999999999\r\n", "abc"), 400},
      {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {Post("Expect: something\r\n", ""), 417},
      {"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", 405},
      {"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 405},
      {"DELETE / HTTP/1.1\r\nHost: a\r\n\r\n", 405},
      {"FLY / HTTP/1.1\r\nHost: a\r\n\r\n", 501},
      {"get / HTTP/1.1\r\nHost: a\r\n\r\n", 501},
      {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
  };
  for (const Case& test : cases) EXPECT_EQ(StatusOf(test.bytes), test.status) << test.bytes;
}

TEST(RequestReader, RefusesBadChunkSizes) {
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  for (const char* size :
       {"-1", "-2", "-3", "+3", "0x3", " 3", "g", "", "3 ", "ffffffffffffffffff", "3\n", ";"}) {
    EXPECT_EQ(StatusOf(Post(chunked, std::string(size) + "\r\nabc\r\n0\r\n\r\n")), 400) << size;
  }
  EXPECT_EQ(StatusOf(Post(chunked, "7fffffff\r\nabc")), 413);
  EXPECT_EQ(StatusOf(Post(chunked, "ffffffffffffffff\r\nabc")), 413);
  EXPECT_EQ(StatusOf(Post(chunked, "3\r\nabcde\r\n")), 400) << "data longer than its size";
}

TEST(RequestReader, TakesTheLargestHeaderAndRefusesOneByteMore) {
  const std::string frame = Get("Host: a\r\nX: \r\n");
  const std::string fits = Get("Host: a\r\nX: " + std::string(512 - frame.size(), 'x') + "\r\n");
  ASSERT_EQ(fits.size(), 512U);
  EXPECT_EQ(StatusOf(fits), 200);
  EXPECT_EQ(StatusOf(Get("Host: a\r\nX: " + std::string(513 - frame.size(), 'x') + "\r\n")), 431);
  EXPECT_EQ(StatusOf("GET /" + std::string(2000, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n"), 431);
  EXPECT_EQ(StatusOf(Get("Host: a\r\nX: " + std::string(100'000, 'x'))), 431);
}

TEST(RequestReader, TakesTheLargestBodyAndRefusesOneByteMore) {
  EXPECT_EQ(StatusOf(Post("Content-Length: 1000\r\n", std::string(1000, 'b'))), 200);
  EXPECT_EQ(StatusOf(Post("Content-Length: 1001\r\n", "")), 413);
  std::string chunks;
  for (int i = 0; i < 10; ++i) chunks += "64\r\n" + std::string(100, 'b') + "\r\n";
  EXPECT_EQ(StatusOf(Post("Transfer-Encoding: chunked\r\n", chunks + "0\r\n\r\n")), 200);
  EXPECT_EQ(StatusOf(Post("Transfer-Encoding: chunked\r\n", chunks + "1\r\nb\r\n0\r\n\r\n")), 413);
}

TEST(RequestReader, ReadsAnEmptyChunkedBodyHoweverItArrives) {
  const std::string bytes = Post("Transfer-Encoding: chunked\r\n", "0\r\n\r\n");
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    for (std::size_t second = cut + 1; second < bytes.size(); ++second) {
      RequestReader reader(kLimits);
      std::string held;
      for (const std::string& piece :
           {bytes.substr(0, cut), bytes.substr(cut, second - cut), bytes.substr(second)}) {
        held += piece;
        held.erase(0, reader.Feed(held));
      }
      EXPECT_EQ(reader.state(), State::kComplete) << cut << " " << second;
    }
  }
}

TEST(RequestReader, BoundsChunkHeadersAndTrailers) {
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  EXPECT_EQ(StatusOf(Post(chunked, "1;" + std::string(100'000, 'e') + "\r\nb\r\n0\r\n\r\n")), 431);
  EXPECT_EQ(StatusOf(Post(chunked, std::string(100'000, '0') + "1\r\nb\r\n0\r\n\r\n")), 431);
  std::string trailers;
  for (int i = 0; i < 100; ++i) trailers += "Trailer-Field: value\r\n";
  EXPECT_EQ(StatusOf(Post(chunked, "0\r\n" + trailers + "\r\n")), 431);
}

TEST(RequestReader, ReadsOlderAndAbsoluteForms) {
  EXPECT_EQ(StatusOf("GET / HTTP/1.0\r\n\r\n"), 200);
  EXPECT_EQ(StatusOf("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"), 200);
  for (const auto& [target, path] : std::vector<std::pair<std::string, std::string>>{
           {"http://a/b?c", "/b?c"}, {"HTTPS://a:1", "/"}, {"http://a?c", "/?c"}}) {
    RequestReader reader(kLimits);
    reader.Feed("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_EQ(reader.state(), State::kComplete) << target;
    EXPECT_EQ(reader.Take().target, path);
  }
}

TEST(RequestReader, KnowsWhetherTheClientKeepsTheConnection) {
  const auto keeps = [](const std::string& bytes) {
    RequestReader reader(kLimits);
    reader.Feed(bytes);
    return reader.keep_alive();
  };
  EXPECT_TRUE(keeps(Get("Host: a\r\n")));
  EXPECT_FALSE(keeps(Get("Host: a\r\nConnection: close\r\n")));
  EXPECT_FALSE(keeps("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(keeps("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

// Feeds `bytes` in pieces of the given sizes, as a connection would, and tells which requests came
// out before the end or a refusal.
std::string Outcome(const std::string& bytes, const std::vector<std::size_t>& pieces) {
  std::string out;
  auto reader = std::make_unique<RequestReader>(kLimits);
  std::string held;
  std::size_t at = 0;
  for (std::size_t i = 0; at < bytes.size(); ++i) {
    const std::size_t size = pieces[i % pieces.size()];
    held += bytes.substr(at, size);
    at += size;
    for (;;) {
      held.erase(0, reader->Feed(held));
      if (reader->state() == State::kFailed) return out;
      if (reader->state() != State::kComplete) break;
      const Request request = reader->Take();
      out += StrCat(request.method, " ", request.target, " ", request.headers.fields().size(), " ",
                    request.body, "|");
      reader = std::make_unique<RequestReader>(kLimits);
    }
    EXPECT_LT(held.size(), kLimits.header_bytes);
  }
  return out;
}

TEST(RequestReader, GivesTheSameRequestsHoweverTheBytesAreCut) {
  const std::string good =
      Get("Host: a\r\n") + "\r\n" + Post("Content-Length: 5\r\n", "hello") +
      Post("Transfer-Encoding: chunked\r\n",
           "1\r\na\r\n200;x\r\n" + std::string(512, 'z') + "\r\n0\r\nT: u\r\n\r\n") +
      Get("Host: b\r\nX: " + std::string(400, 'y') + "\r\n");
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    std::string bytes = good;
    // Some rounds damage a byte or two: the outcome must not depend on the cut either.
    for (std::uint64_t i = random.Below(3); i > 0; --i) {
      bytes[random.Below(bytes.size())] = static_cast<char>(random.Below(256));
    }
    const std::string whole = Outcome(bytes, {bytes.size()});
    EXPECT_EQ(Outcome(bytes, {1}), whole) << bytes;
    EXPECT_EQ(Outcome(bytes, {1 + random.Below(20), 1 + random.Below(400)}), whole) << bytes;
  }
}

}  // namespace
}  // namespace yardmaster::http
