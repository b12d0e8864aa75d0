// How many random cases a test draws. A test with sanitizers takes ten times as long for each case
// and finds what it looks for, wrong memory accesses and undefined behaviour, in the first of them:
// it draws a tenth.
#pragma once

namespace yardmaster {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

// `all`, or with sanitizers a tenth of it, at least one.
template <typename Integer>
constexpr Integer Rounds(Integer all) {
  return kSanitized ? (all + 9) / 10 : all;
}

// How many of the cases have to show something: more than `all`, or with sanitizers, where few are
// drawn, one.
constexpr int MoreThan(int all) { return kSanitized ? 0 : all; }

}  // namespace yardmaster
