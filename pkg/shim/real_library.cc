#include "pkg/shim/real_library.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <initializer_list>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pkg/shim/glibc_versions.h"

namespace yardmaster::shim {

namespace {

// glibc's cache: a header, entries of fixed size, then the strings. Offsets count from the header.
constexpr char kMagic[] = "glibc-ld.so.cache1.1";
constexpr std::size_t kHeaderBytes = 48;
constexpr std::size_t kEntryBytes = 24;

bool StatOf(const char* path, struct stat* info) {
  return syscall(SYS_newfstatat, AT_FDCWD, path, info, 0) == 0;
}

// The file this function was loaded from.
const char* OwnPath() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&kMagic), &info) == 0) return "";
  return info.dli_fname == nullptr ? "" : info.dli_fname;
}

struct Search {
  int flags;
  char* path;
  unsigned path_size;
  void* handle;
};

bool IsThisLibrary(const char* path) {
  struct stat own {};
  struct stat other {};
  return StatOf(OwnPath(), &own) && StatOf(path, &other) && own.st_dev == other.st_dev &&
         own.st_ino == other.st_ino;
}

bool Try(const char* path, void* argument) {
  Search& search = *static_cast<Search*>(argument);
  if (path[0] != '/' || IsThisLibrary(path)) return false;
  search.handle = dlopen(path, search.flags);
  if (search.handle == nullptr) return false;
  std::snprintf(search.path, search.path_size, "%s", path);
  return true;
}

void TryCache(const char* name, Search& search) {
  const int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
  struct stat info {};
  if (fd >= 0 && syscall(SYS_newfstatat, fd, "", &info, AT_EMPTY_PATH) == 0 && info.st_size > 0) {
    const auto size = static_cast<std::size_t>(info.st_size);
    void* cache = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (cache != MAP_FAILED) {
      ForEachCached(static_cast<const char*>(cache), size, name, Try, &search);
      munmap(cache, size);
    }
  }
  if (fd >= 0) close(fd);
}

void TryFolders(const char* name, Search& search) {
  for (const char* folder :
       {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"}) {
    char path[256];
    std::snprintf(path, sizeof path, "%s/%s", folder, name);
    if (Try(path, &search)) return;
  }
}

}  // namespace

void ForEachCached(const char* cache, unsigned long size, const char* name,
                   bool (*visit)(const char* path, void* argument), void* argument) {
  if (size < kHeaderBytes || std::memcmp(cache, kMagic, sizeof kMagic - 1) != 0) return;
  std::uint32_t entries = 0;
  std::memcpy(&entries, cache + sizeof kMagic - 1, sizeof entries);
  // A string of the cache; "" when it is not in it or does not end.
  const auto text = [&](const char* at) -> const char* {
    std::uint32_t offset = 0;
    std::memcpy(&offset, at, sizeof offset);
    if (offset >= size || std::memchr(cache + offset, '\0', size - offset) == nullptr) return "";
    return cache + offset;
  };
  for (std::uint32_t i = 0; i < entries && kHeaderBytes + (i + 1UL) * kEntryBytes <= size; ++i) {
    const char* entry = cache + kHeaderBytes + i * kEntryBytes;
    if (std::strcmp(text(entry + 4), name) != 0) continue;
    if (visit(text(entry + 8), argument)) return;
  }
}

void* OpenReal(const char* name, const char* variable, int flags, char* path, unsigned path_size) {
  Search search{flags, path, path_size, nullptr};
  path[0] = '\0';
  const char* given = std::getenv(variable);
  if (given != nullptr) Try(given, &search);
  if (search.handle == nullptr) TryCache(name, search);
  if (search.handle == nullptr) TryFolders(name, search);
  return search.handle;
}

bool LoadedAs(const char* name) {
  const char* path = OwnPath();
  const char* slash = std::strrchr(path, '/');
  const char* file = slash == nullptr ? path : slash + 1;
  return std::strncmp(file, name, std::strlen(name)) == 0;
}

}  // namespace yardmaster::shim
