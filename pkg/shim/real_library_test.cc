#include "pkg/shim/real_library.h"

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/shim/testing/child.h"

namespace yardmaster::shim {
namespace {

std::string Number(std::uint32_t value) {
  std::string text(4, '\0');
  std::memcpy(text.data(), &value, 4);
  return text;
}

// A cache as glibc's ldconfig writes it, with these names and paths.
std::string Cache(const std::vector<std::pair<std::string, std::string>>& libraries) {
  std::string entries, strings;
  const auto base = static_cast<std::uint32_t>(48 + 24 * libraries.size());
  const auto add = [&](const std::string& text) {
    const auto offset = static_cast<std::uint32_t>(base + strings.size());
    strings += text + '\0';
    return Number(offset);
  };
  for (const auto& [name, path] : libraries) {
    const std::string key = add(name);
    entries += Number(0x303) + key + add(path) + std::string(12, '\0');
  }
  std::string header = "glibc-ld.so.cache1.1";
  header += Number(static_cast<std::uint32_t>(libraries.size()));
  header += Number(static_cast<std::uint32_t>(strings.size())) + std::string(20, '\0');
  return header + entries + strings;
}

std::vector<std::string> Listed(const std::string& cache, const char* name) {
  std::vector<std::string> paths;
  ForEachCached(
      cache.data(), cache.size(), name,
      [](const char* path, void* out) {
        static_cast<std::vector<std::string>*>(out)->push_back(path);
        return false;
      },
      &paths);
  return paths;
}

TEST(RealLibraryTest, TheLoadersCacheIsRead) {
  const std::string cache = Cache({{"liba.so.1", "/lib/liba.so.1"},
                                   {"libibverbs.so.1", "/opt/ofed/libibverbs.so.1"},
                                   {"libibverbs.so.1", "/lib/libibverbs.so.1"}});
  EXPECT_EQ(Listed(cache, "libibverbs.so.1"),
            (std::vector<std::string>{"/opt/ofed/libibverbs.so.1", "/lib/libibverbs.so.1"}));
  EXPECT_TRUE(Listed(cache, "libc.so.6").empty());
}

TEST(RealLibraryTest, ThisMachinesCacheListsTheCLibrary) {
  const auto paths = Listed(ReadFile("/etc/ld.so.cache"), "libc.so.6");
  ASSERT_FALSE(paths.empty());
  EXPECT_EQ(paths[0].front(), '/');
}

TEST(RealLibraryTest, ABrokenCacheIsNotReadBeyondItsEnd) {
  const std::string whole = Cache({{"a", "/a"}, {"b", "/b"}, {"c", "/c"}});
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    // A copy of exactly this size, so that a sanitizer sees what lies beyond.
    const std::vector<char> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    Listed(std::string(part.data(), part.size()), "b");
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string broken = whole;
    for (int k = 0; k < 4; ++k) broken[20 + random() % (broken.size() - 20)] ^= 1 << random() % 8;
    Listed(broken, "b");
  }
}

}  // namespace
}  // namespace yardmaster::shim
