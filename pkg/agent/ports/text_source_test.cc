#include "pkg/agent/ports/text_source.h"

#include <atomic>
#include <chrono>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "gmock/gmock.h"

#include "pkg/agent/testing/fake_sink.h"
#include "pkg/base/strings.h"
#include "pkg/base/unique_fd.h"

namespace yardmaster::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Answers one connection on loopback with `pieces`, `pause_ms` before each, then closes.
class OneAnswer {
 public:
  explicit OneAnswer(std::vector<std::string> pieces, int pause_ms = 0)
      : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(listener_.get(), 1), 0);
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    thread_ =
        std::jthread([this, pieces = std::move(pieces), pause_ms](const std::stop_token& stop) {
          const UniqueFd fd(accept(listener_.get(), nullptr, nullptr));
          char buffer[4096];
          const ssize_t n = recv(fd.get(), buffer, sizeof buffer, 0);
          if (n > 0) request_.assign(buffer, static_cast<std::size_t>(n));
          for (const std::string& piece : pieces) {
            if (stop.stop_requested()) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
            if (send(fd.get(), piece.data(), piece.size(), MSG_NOSIGNAL) < 0) return;
          }
        });
  }
  std::string url() const { return StrCat("http://127.0.0.1:", port_, "/metrics"); }
  std::string request() {
    thread_.join();
    return request_;
  }

 private:
  UniqueFd listener_;
  int port_ = 0;
  std::string request_;
  std::jthread thread_;
};

constexpr TextLimits kSmall{2'000, 100};

TEST(GetText, GivesTheBodyOfA200) {
  OneAnswer server({"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n", "\r\na 1\n", "b 2\n"});
  const auto text = GetText(server.url(), kSmall);
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_EQ(*text, "a 1\nb 2\n");
  EXPECT_THAT(server.request(), StartsWith("GET /metrics HTTP/1.0\r\nHost: 127.0.0.1:"));
}

TEST(GetText, AnotherStatusAndWhatIsNoHttpAreErrors) {
  OneAnswer missing({"HTTP/1.0 404 Not Found\r\n\r\nno"});
  EXPECT_THAT(std::string(GetText(missing.url(), kSmall).status().message()), HasSubstr("404"));
  OneAnswer other({"SSH-2.0-x\r\n\r\n"});
  EXPECT_TRUE(absl::IsInvalidArgument(GetText(other.url(), kSmall).status()));
  OneAnswer nothing({});
  EXPECT_FALSE(GetText(nothing.url(), kSmall).ok());
}

TEST(GetText, AnAnswerThatIsTooLongEnds) {
  OneAnswer body({"HTTP/1.0 200 OK\r\n\r\n" + std::string(101, 'x')});
  EXPECT_TRUE(absl::IsInvalidArgument(GetText(body.url(), kSmall).status()));
  OneAnswer flood({"HTTP/1.0 200 OK\r\n", std::string(1 << 20, 'h'), std::string(1 << 20, 'h')});
  EXPECT_TRUE(absl::IsInvalidArgument(GetText(flood.url(), kSmall).status()));
}

TEST(GetText, TheDeadlineHoldsForTheWholeAnswer) {
  // A byte every 20 ms: each alone is in time.
  OneAnswer slow(std::vector<std::string>(100, "H"), 20);
  const auto begin = std::chrono::steady_clock::now();
  const auto text = GetText(slow.url(), {200, 1000});
  EXPECT_TRUE(absl::IsDeadlineExceeded(text.status())) << text.status().message();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(1'500));
}

TEST(GetText, RefusesWhatIsNotSuchAUrl) {
  for (const char* url :
       {"", "https://127.0.0.1/", "ftp://x/", "http://", "http://:80/", "http://h:0/",
        "http://h:99999/", "http://h:x/", "http://user@h/", "http://h/a b", "http://h/\r\nX: y"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(GetText(url, kSmall).status())) << url;
  }
}

TEST(GetText, APortWithoutAListenerIsUnavailable) {
  EXPECT_TRUE(absl::IsUnavailable(GetText("http://127.0.0.1:1/", kSmall).status()));
  EXPECT_FALSE(GetText("http://[::1]:1/", kSmall).ok());
}

TEST(ReadTextFile, ReadsRegularFilesWithinTheLimit) {
  TempFolder folder;
  folder.Put("a", std::string(100, 'x'));
  folder.Put("b", std::string(101, 'x'));
  EXPECT_EQ(ReadTextFile(folder.path() + "/a", kSmall)->size(), 100u);
  EXPECT_TRUE(absl::IsInvalidArgument(ReadTextFile(folder.path() + "/b", kSmall).status()));
  EXPECT_TRUE(absl::IsNotFound(ReadTextFile(folder.path() + "/c", kSmall).status()));
  EXPECT_FALSE(ReadTextFile(folder.path(), kSmall).ok());
  const std::string pipe = folder.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(absl::IsInvalidArgument(ReadTextFile(pipe, kSmall).status()));
}

TEST(RunForText, GivesOutputAndBoundsTimeLengthAndFailure) {
  EXPECT_EQ(*RunForText("echo  a b", kSmall), "a b\n");
  EXPECT_TRUE(absl::IsDeadlineExceeded(RunForText("sleep 20", {100, 100}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(RunForText("seq 1000", kSmall).status()));
  EXPECT_THAT(std::string(RunForText("ls /nowhere", kSmall).status().message()),
              HasSubstr("ended with"));
  EXPECT_FALSE(RunForText(" ", kSmall).ok());
  EXPECT_TRUE(absl::IsNotFound(RunForText("no-such-program", kSmall).status()));
}

}  // namespace
}  // namespace yardmaster::agent
