#include "pkg/agent/ports/text_source.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <sys/stat.h>
#include <utility>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/base/unique_fd.h"
#include "pkg/kube/process.h"

namespace yardmaster::agent {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::string_view kScheme = "http://";
constexpr std::size_t kMaxHeadBytes = 16'384;

struct Url {
  std::string authority;  // as in the Host header
  std::string host;
  std::string port = "80";
  std::string path = "/";
};

absl::StatusOr<Url> ParseUrl(const std::string& text) {
  const auto wrong = [&](std::string_view why) {
    return FieldError(StrCat("\"", text, "\""), why,
                      "give a URL such as http://127.0.0.1:9400/metrics");
  };
  std::string_view left = text;
  if (left.substr(0, kScheme.size()) != kScheme) return wrong("does not begin with http://");
  left.remove_prefix(kScheme.size());
  // Nothing that would end the request line or a header.
  for (const char c : left) {
    if (c <= ' ' || c == '\x7f') return wrong("has a blank or a control character");
  }
  Url url;
  const std::size_t slash = left.find('/');
  if (slash != std::string_view::npos) url.path = std::string(left.substr(slash));
  url.authority = std::string(left.substr(0, slash));
  if (url.authority.find('@') != std::string::npos) return wrong("has a user");
  std::string_view host = url.authority;
  const std::size_t bracket = host.find(']');
  const std::size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
    url.port = std::string(host.substr(colon + 1));
    host = host.substr(0, colon);
  }
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  const auto port = ParseNumber<int>(url.port);
  if (host.empty() || !port || *port < 1 || *port > 65'535) return wrong("names no host and port");
  url.host = std::string(host);
  return url;
}

// Waits until the socket can be read or written.
absl::Status Await(int fd, short events, SteadyClock::time_point deadline) {
  pollfd polled = {fd, events, 0};
  for (;;) {
    const int ready = poll(&polled, 1, MsUntil(deadline));
    if (ready > 0) return absl::OkStatus();
    if (ready == 0) return absl::DeadlineExceededError("no answer in time");
    if (errno != EINTR) return absl::UnavailableError(std::strerror(errno));
  }
}

absl::StatusOr<UniqueFd> ConnectTo(const addrinfo& address, SteadyClock::time_point deadline) {
  UniqueFd fd(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) return absl::UnavailableError(std::strerror(errno));
  if (connect(fd.get(), address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return absl::UnavailableError(std::strerror(errno));
    YM_RETURN_IF_ERROR(Await(fd.get(), POLLOUT, deadline));
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return absl::UnavailableError(std::strerror(error));
  }
  return fd;
}

absl::StatusOr<UniqueFd> Connect(const Url& url, SteadyClock::time_point deadline) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(url.host.c_str(), url.port.c_str(), &hints, &found)) {
    return absl::UnavailableError(gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, freeaddrinfo);
  absl::Status last = absl::UnavailableError("no address");
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    auto fd = ConnectTo(*address, deadline);
    if (fd.ok()) return fd;
    last = fd.status();
  }
  return last;
}

absl::Status Send(int fd, std::string_view text, SteadyClock::time_point deadline) {
  while (!text.empty()) {
    const ssize_t n = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (n > 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
      continue;
    }
    if (n < 0 && errno == EAGAIN)
      YM_RETURN_IF_ERROR(Await(fd, POLLOUT, deadline));
    else if (n < 0 && errno != EINTR)
      return absl::UnavailableError(std::strerror(errno));
  }
  return absl::OkStatus();
}

// All that the other side sends until it closes. The deadline holds for the whole, also when each
// byte comes late.
absl::StatusOr<std::string> ReceiveAll(int fd, std::size_t max_bytes,
                                       SteadyClock::time_point deadline) {
  std::string text;
  char buffer[16'384];
  for (;;) {
    YM_RETURN_IF_ERROR(Await(fd, POLLIN, deadline));
    if (SteadyClock::now() >= deadline) return absl::DeadlineExceededError("no end in time");
    const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
    if (n == 0) return text;
    if (n < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      return absl::UnavailableError(std::strerror(errno));
    }
    text.append(buffer, static_cast<std::size_t>(n));
    if (text.size() > max_bytes) return absl::InvalidArgumentError("the answer is too long");
  }
}

// The answer to an HTTP/1.0 request ends with the connection and is not chunked.
absl::StatusOr<std::string> BodyOf(std::string answer, std::size_t max_bytes) {
  const std::size_t end = answer.find("\r\n\r\n");
  if (end == std::string::npos || end > kMaxHeadBytes || answer.rfind("HTTP/1.", 0) != 0) {
    return absl::InvalidArgumentError("the answer is not HTTP");
  }
  const std::size_t blank = answer.find(' ');
  const std::string status = answer.substr(blank + 1, 3);
  if (status != "200") return absl::UnavailableError(StrCat("answers with status ", status));
  answer.erase(0, end + 4);
  if (answer.size() > max_bytes) return absl::InvalidArgumentError("the answer is too long");
  return answer;
}

}  // namespace

absl::StatusOr<std::string> ReadTextFile(const std::string& path, const TextLimits& limits) {
  // Not blocking: a pipe in the file's place would hold the caller.
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) {
    const std::string text = StrCat(path, ": ", std::strerror(errno));
    return errno == ENOENT ? absl::NotFoundError(text) : absl::UnavailableError(text);
  }
  struct stat status = {};
  if (fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return FieldError(path, "is not a regular file", "give a file");
  }
  std::string text;
  char buffer[16'384];
  for (;;) {
    const ssize_t n = read(fd.get(), buffer, sizeof buffer);
    if (n == 0) return text;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::UnavailableError(StrCat(path, ": ", std::strerror(errno)));
    text.append(buffer, static_cast<std::size_t>(n));
    if (text.size() > limits.max_bytes) {
      return FieldError(path, StrCat("is longer than ", limits.max_bytes, " bytes"),
                        "give a shorter file");
    }
  }
}

absl::StatusOr<std::string> GetText(const std::string& url_text, const TextLimits& limits) {
  const auto deadline = SteadyClock::now() + std::chrono::milliseconds(limits.timeout_ms);
  YM_ASSIGN_OR_RETURN(const Url url, ParseUrl(url_text));
  const auto get = [&]() -> absl::StatusOr<std::string> {
    YM_ASSIGN_OR_RETURN(const UniqueFd fd, Connect(url, deadline));
    YM_RETURN_IF_ERROR(Send(fd.get(),
                            StrCat("GET ", url.path, " HTTP/1.0\r\nHost: ", url.authority,
                                   "\r\nAccept: text/plain\r\n\r\n"),
                            deadline));
    YM_ASSIGN_OR_RETURN(std::string answer,
                        ReceiveAll(fd.get(), limits.max_bytes + kMaxHeadBytes, deadline));
    return BodyOf(std::move(answer), limits.max_bytes);
  };
  auto text = get();
  if (!text.ok()) return Annotate(text.status(), url_text);
  return text;
}

absl::StatusOr<std::string> RunForText(const std::string& command, const TextLimits& limits) {
  std::vector<std::string> argv;
  for (std::string& word : Split(command, ' ')) {
    if (!word.empty()) argv.push_back(std::move(word));
  }
  if (argv.empty()) return FieldError("command", "is empty", "name a program");
  const char* path = std::getenv("PATH");
  YM_ASSIGN_OR_RETURN(
      kube::ProcessResult result,
      kube::RunProcess(argv,
                       {StrCat("PATH=", path == nullptr ? "/usr/sbin:/usr/bin:/sbin:/bin" : path)},
                       limits.timeout_ms, limits.max_bytes));
  if (result.exit_code != 0) {
    return absl::UnavailableError(StrCat(argv[0], " ended with ", result.exit_code, ": ",
                                         CutAtCharacter(result.errors, 200)));
  }
  return std::move(result.output);
}

absl::StatusOr<std::string> ReadUrlOrFile(const std::string& source, const TextLimits& limits) {
  return source.rfind(kScheme, 0) == 0 ? GetText(source, limits) : ReadTextFile(source, limits);
}

}  // namespace yardmaster::agent
