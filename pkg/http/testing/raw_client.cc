#include "pkg/http/testing/raw_client.h"

#include <arpa/inet.h>
#include <array>
#include <filesystem>
#include <iterator>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "pkg/base/strings.h"
#include "pkg/http/message.h"

namespace yardmaster::http {

std::string RawResponse::Header(std::string_view name) const {
  for (const std::string& line : Split(head, '\n')) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos || !EqualsIgnoreCase(line.substr(0, colon), name)) continue;
    return line.substr(colon + 2, line.size() - colon - 3);
  }
  return "";
}

SocketStream::SocketStream(int port, std::string_view address, std::int64_t timeout_ms,
                           const std::string& source) {
  const bool ipv6 = address.find(':') != std::string_view::npos;
  fd_ = UniqueFd(::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval timeout{timeout_ms / 1000, timeout_ms % 1000 * 1000};
  setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  const int on = 1;
  setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_storage target{};
  socklen_t length = sizeof(sockaddr_in);
  const std::string text(address);
  if (ipv6) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(target);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<std::uint16_t>(port));
    inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr);
    length = sizeof(sockaddr_in6);
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(target);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<std::uint16_t>(port));
    inet_pton(AF_INET, text.c_str(), &v4.sin_addr);
  }
  if (!source.empty()) {
    sockaddr_in from{};
    from.sin_family = AF_INET;
    inet_pton(AF_INET, source.c_str(), &from.sin_addr);
    ::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from);
  }
  if (::connect(fd_.get(), reinterpret_cast<sockaddr*>(&target), length) != 0) fd_ = UniqueFd();
}

bool SocketStream::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool SocketStream::Receive(std::string& out) {
  std::array<char, 65536> buffer;
  const ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
  if (got == 0) clean_ = true;
  if (got <= 0) return false;
  out.append(buffer.data(), static_cast<std::size_t>(got));
  return true;
}

void SocketStream::HalfClose() { ::shutdown(fd_.get(), SHUT_WR); }

void SocketStream::ResetOnClose() {
  const linger now{1, 0};
  setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

bool RawClient::ReadUntil(std::string_view mark) {
  while (received_.find(mark) == std::string::npos) {
    if (!stream_->Receive(received_)) return false;
  }
  return true;
}

std::optional<RawResponse> RawClient::ReadResponse(bool head) {
  if (!ReadUntil("\r\n\r\n")) return std::nullopt;
  RawResponse response;
  const std::size_t end = received_.find("\r\n\r\n") + 4;
  response.head = received_.substr(0, end);
  received_.erase(0, end);
  response.status = ParseNumber<int>(response.head.substr(9, 3)).value_or(0);
  const std::size_t length =
      ParseNumber<std::size_t>(response.Header("Content-Length")).value_or(0);
  if (head) return response;
  while (received_.size() < length) {
    if (!stream_->Receive(received_)) return std::nullopt;
  }
  response.body = received_.substr(0, length);
  received_.erase(0, length);
  return response;
}

std::optional<RawResponse> RawClient::Call(std::string_view method, std::string_view target,
                                           std::string_view body, std::string_view headers) {
  std::string text = StrCat(method, " ", target, " HTTP/1.1\r\nHost: test\r\n", headers);
  if (!body.empty()) text += StrCat("Content-Length: ", body.size(), "\r\n");
  text += "\r\n";
  text += body;
  // A server may answer and close before it has read everything, so the answer counts even then.
  Send(text);
  return ReadResponse(method == "HEAD");
}

bool RawClient::AtCleanEnd() {
  while (stream_->Receive(received_)) {
  }
  return received_.empty() && stream_->ended_cleanly();
}

int CountOpenFiles() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  // The iterator itself holds one.
  return static_cast<int>(std::distance(files, std::filesystem::directory_iterator())) - 1;
}

}  // namespace yardmaster::http
