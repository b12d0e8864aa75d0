#include "pkg/shim/plan_cache.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace yardmaster::shim {

namespace {

// By the system call: the function is a symbol of glibc 2.33, and containers may have older ones.
bool Stat(int fd, struct stat* info) {
  return syscall(SYS_newfstatat, fd, "", info, AT_EMPTY_PATH) == 0;
}

}  // namespace

void PlanCache::SetPath(const char* path) {
  if (path == nullptr || std::strlen(path) >= sizeof path_) return;
  std::memcpy(path_, path, std::strlen(path) + 1);
}

int PlanCache::Load(int fd) {
  int free = -1;
  for (int i = 0; i < kPlans && free < 0; ++i) {
    if (i + 1 != current_.load() && users_[i].load() == 0) free = i;
  }
  if (free < 0) return -1;
  std::size_t size = 0;
  while (fd >= 0 && size < sizeof text_) {
    const ssize_t n = read(fd, text_ + size, sizeof text_ - size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    size += static_cast<std::size_t>(n);
  }
  ReadPlan(text_, size, &plans_[free]);
  generations_[free] = ++loads_;
  return free;
}

void PlanCache::Refresh() {
  Stamp now;
  // O_NONBLOCK: a FIFO must not hold the caller.
  const int fd = path_[0] == '\0' ? -1 : open(path_, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info {};
  if (fd >= 0 && Stat(fd, &info) && S_ISREG(info.st_mode)) {
    now = {info.st_dev, info.st_ino, static_cast<std::uint64_t>(info.st_size),
           static_cast<std::uint64_t>(info.st_mtim.tv_sec),
           static_cast<std::uint64_t>(info.st_mtim.tv_nsec)};
  }
  if (current_.load() == 0 || !(now == stamp_)) {
    const int fresh = Load(now == Stamp() ? -1 : fd);
    if (fresh >= 0) {
      stamp_ = now;
      current_.store(fresh + 1);
    }
  }
  if (fd >= 0) close(fd);
}

int PlanCache::Acquire() {
  const int error = errno;
  for (int waited = 0;; ++waited) {
    if (!busy_.exchange(true)) {
      Refresh();
      busy_.store(false);
      break;
    }
    if (current_.load() != 0 || waited == kMaxWaitMs) break;
    const timespec pause = {0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  errno = error;
  for (;;) {
    const int index = current_.load() - 1;
    if (index < 0) return -1;
    users_[index].fetch_add(1);
    // It may have ceased to be the current one, and be written to, before we counted ourselves.
    if (current_.load() == index + 1) return index;
    users_[index].fetch_sub(1);
  }
}

}  // namespace yardmaster::shim
