#include "pkg/agent/ports/link_debouncer.h"

#include "gmock/gmock.h"

namespace yardmaster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr DebounceTimes kTimes{.down_after_ms = 1'000, .up_after_ms = 10'000};

TEST(LinkDebouncer, ABlinkIsNotToldALastingLossIs) {
  LinkDebouncer links(kTimes);
  EXPECT_THAT(links.Observe(0, {{{0, 1}, true}}), IsEmpty());
  EXPECT_THAT(links.Observe(100, {{{0, 1}, false}}), IsEmpty());
  EXPECT_THAT(links.Observe(600, {{{0, 1}, true}}), IsEmpty());
  EXPECT_THAT(links.Observe(700, {{{0, 1}, false}}), IsEmpty());
  EXPECT_THAT(links.Observe(1'699, {{{0, 1}, false}}), IsEmpty());
  EXPECT_THAT(links.Observe(1'700, {{{0, 1}, false}}), ElementsAre(PortKey{0, 1}));
}

TEST(LinkDebouncer, AFlappingLinkStaysDownUntilItHasBeenUpForAWhile) {
  LinkDebouncer links(kTimes);
  std::int64_t now = 0;
  EXPECT_THAT(links.Observe(now, {{{0, 0}, false}}), ElementsAre(PortKey{0, 0}));
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(links.Observe(now += 3'000, {{{0, 0}, i % 2 == 0}}), ElementsAre(PortKey{0, 0}));
  }
  links.Observe(now += 1, {{{0, 0}, true}});
  EXPECT_THAT(links.Observe(now + 9'999, {{{0, 0}, true}}), ElementsAre(PortKey{0, 0}));
  EXPECT_THAT(links.Observe(now + 10'000, {{{0, 0}, true}}), IsEmpty());
}

TEST(LinkDebouncer, DownWhenFirstSeenCountsAtOnce) {
  LinkDebouncer links(kTimes);
  EXPECT_THAT(links.Observe(0, {{{3, 0}, false}, {{0, 1}, false}, {{0, 0}, true}}),
              ElementsAre(PortKey{0, 1}, PortKey{3, 0}));
}

}  // namespace
}  // namespace yardmaster::agent
