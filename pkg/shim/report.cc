#include "pkg/shim/report.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

namespace yardmaster::shim {

namespace {

void TextOf(const Address& address, char* out, std::size_t size) {
  const unsigned char* b = address.bytes;
  bool mapped = b[10] == 0xff && b[11] == 0xff;
  for (int i = 0; i < 10; ++i) mapped = mapped && b[i] == 0;
  const void* from = mapped ? b + 12 : b;
  if (inet_ntop(mapped ? AF_INET : AF_INET6, from, out, static_cast<socklen_t>(size)) == nullptr) {
    out[0] = '\0';
  }
}

// Device names come from the kernel; other characters in one must not break the line.
void Plain(const char* text, char* out, std::size_t size) {
  std::size_t at = 0;
  for (; *text != '\0' && at + 1 < size; ++text) {
    if (*text >= 0x20 && *text < 0x7f && *text != '"' && *text != '\\') out[at++] = *text;
  }
  out[at] = '\0';
}

}  // namespace

void Report::Open(const char* folder, const char* name) {
  if (folder == nullptr || folder[0] != '/') return;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  char path[320];
  const int size = std::snprintf(
      path, sizeof path, "%s/%s-%d-%llx.jsonl", folder, name, static_cast<int>(getpid()),
      static_cast<unsigned long long>(now.tv_sec) * 1'000'000'000ULL + now.tv_nsec);
  if (size <= 0 || size >= static_cast<int>(sizeof path)) return;
  const int error = errno;
  fd_ = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
  errno = error;
}

void Report::Write(const ReportEvent& event) {
  if (fd_ < 0) return;
  const int error = errno;
  char peer[64], device[72], why[128], line[512];
  TextOf(event.peer, peer, sizeof peer);
  Plain(event.device, device, sizeof device);
  Plain(event.why, why, sizeof why);
  const int size = std::snprintf(
      line, sizeof line,
      "{\"event\":\"%s\",\"pid\":%d,\"device\":\"%s\",\"port\":%d,\"qp\":%u,\"peer\":\"%s\","
      "\"ordinal\":%d,\"planned\":%d,\"actual\":%d,\"class\":%d,\"plane\":%d,\"how\":\"%s\","
      "\"why\":\"%s\"}\n",
      event.event, static_cast<int>(getpid()), device, event.device_port, event.queue_pair, peer,
      event.ordinal, event.planned, event.actual, event.traffic_class, event.plane, event.how, why);
  if (size > 0 && size < static_cast<int>(sizeof line)) {
    const auto bytes = static_cast<std::size_t>(size);
    const std::size_t before = bytes_.fetch_add(bytes);
    if (before + bytes <= kMaxBytes) {
      [[maybe_unused]] const ssize_t written = write(fd_, line, bytes);
    } else if (before <= kMaxBytes) {
      [[maybe_unused]] const ssize_t written = write(fd_, "{\"event\":\"full\"}\n", 17);
    }
  }
  errno = error;
}

}  // namespace yardmaster::shim
