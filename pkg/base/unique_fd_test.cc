#include "pkg/base/unique_fd.h"

#include <fcntl.h>
#include <utility>

#include "gtest/gtest.h"

namespace yardmaster {
namespace {

int Opened() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }
bool IsOpen(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(UniqueFdTest, OwnsNothingAtFirst) { EXPECT_EQ(UniqueFd().get(), -1); }

TEST(UniqueFdTest, ClosesWhatItOwnsAtItsEnd) {
  const int fd = Opened();
  ASSERT_GE(fd, 0);
  {
    const UniqueFd owner(fd);
    EXPECT_EQ(owner.get(), fd);
    EXPECT_TRUE(IsOpen(fd));
  }
  EXPECT_FALSE(IsOpen(fd));
}

TEST(UniqueFdTest, WhatIsReleasedStaysOpen) {
  const int fd = Opened();
  { EXPECT_EQ(UniqueFd(fd).release(), fd); }
  EXPECT_TRUE(IsOpen(fd));
  ::close(fd);
}

TEST(UniqueFdTest, AMoveHandsTheDescriptorOver) {
  const int fd = Opened();
  UniqueFd last;
  {
    UniqueFd first(fd);
    UniqueFd second(std::move(first));
    last = std::move(second);
  }
  EXPECT_EQ(last.get(), fd);
  EXPECT_TRUE(IsOpen(fd));
  last = UniqueFd();
  EXPECT_FALSE(IsOpen(fd)) << "what is replaced is closed";
}

}  // namespace
}  // namespace yardmaster
