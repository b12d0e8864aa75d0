#include "pkg/shim/verbs_forward.h"

#include <cerrno>
#include <dlfcn.h>

#include "pkg/shim/glibc_versions.h"

// What a slot holds until, or unless, the real library is there.
extern "C" {
[[gnu::used]] static void* YmNoPointer() {
  errno = ENOSYS;
  return nullptr;
}
[[gnu::used]] static int YmNoError() { return ENOSYS; }
[[gnu::used]] static const char* YmNoText() { return "libibverbs not found"; }
[[gnu::used]] static void YmNoNothing() {}
}

#define YM_DEFAULT_POINTER reinterpret_cast<void*>(&YmNoPointer)
#define YM_DEFAULT_ERROR reinterpret_cast<void*>(&YmNoError)
#define YM_DEFAULT_TEXT reinterpret_cast<void*>(&YmNoText)
#define YM_DEFAULT_NOTHING reinterpret_cast<void*>(&YmNoNothing)

#if defined(__x86_64__)
#define YM_JUMP(slot) "endbr64\n jmp *" slot "(%rip)\n"
#elif defined(__aarch64__)
#define YM_JUMP(slot) "adrp x16, " slot "\n ldr x16, [x16, #:lo12:" slot "]\n br x16\n"
#else
#error "no jump for this processor"
#endif

// A slot and the jump through it. `public_name`: what the symbol is called outside, or nothing.
#define YM_SLOT(symbol, tag, kind)                                                             \
  extern "C" {                                                                                 \
  [[gnu::visibility("hidden"), gnu::used]] void* ym_slot_##symbol##_##tag = YM_DEFAULT_##kind; \
  [[gnu::visibility("hidden")]] void ym_jump_##symbol##_##tag();                               \
  }                                                                                            \
  asm(".text\n .hidden ym_jump_" #symbol "_" #tag "\n .globl ym_jump_" #symbol "_" #tag        \
      "\n .type ym_jump_" #symbol "_" #tag ", @function\n ym_jump_" #symbol "_" #tag           \
      ":\n" YM_JUMP("ym_slot_" #symbol "_" #tag) ".size ym_jump_" #symbol "_" #tag             \
                                                 ", . - ym_jump_" #symbol "_" #tag "\n");

// The same jump under a name of its own, exported as symbol@version.
#define YM_EXPORT(symbol, version, tag, at)                                            \
  asm(".text\n .globl ym_out_" #symbol "_" #tag "\n .type ym_out_" #symbol "_" #tag    \
      ", @function\n ym_out_" #symbol "_" #tag                                         \
      ":\n" YM_JUMP("ym_slot_" #symbol "_" #tag) ".size ym_out_" #symbol "_" #tag      \
                                                 ", . - ym_out_" #symbol "_" #tag      \
                                                 "\n .symver ym_out_" #symbol "_" #tag \
                                                 ", " #symbol at #version "\n");

#define YM_REQUIRED(symbol, version, tag, kind) \
  YM_SLOT(symbol, tag, kind) YM_EXPORT(symbol, version, tag, "@@")
#include "pkg/shim/verbs_symbols.inc"
#undef YM_REQUIRED

#define YM_OLD(symbol, version, tag, kind) \
  YM_SLOT(symbol, tag, kind) YM_EXPORT(symbol, version, tag, "@")
#include "pkg/shim/verbs_symbols.inc"
#undef YM_OLD

namespace {
// Before the real library was looked for, its functions are unknown.
bool bound = false;
}  // namespace

// A resolver runs inside the loader, so it is not instrumented and calls nothing. It is not a
// static function: clang finds those of extern "C" too late for gnu::ifunc.
#if defined(__clang__)
#define YM_NOT_INSTRUMENTED clang::no_sanitize("address", "thread", "undefined", "coverage")
#else
#define YM_NOT_INSTRUMENTED gnu::no_sanitize("address", "thread", "undefined")
#endif
#define YM_OPTIONAL(symbol, version, tag, kind)                                                   \
  YM_SLOT(symbol, tag, kind)                                                                      \
  extern "C" {                                                                                    \
  [[gnu::used, gnu::visibility("hidden"), YM_NOT_INSTRUMENTED]] void (*ym_resolve_##symbol())() { \
    const bool missing = ym_slot_##symbol##_##tag == YM_DEFAULT_##kind;                           \
    return bound && missing ? nullptr : &ym_jump_##symbol##_##tag;                                \
  }                                                                                               \
  [[gnu::visibility("default"),                                                                   \
    gnu::ifunc("ym_resolve_" #symbol)]] void ym_out_##symbol##_##tag();                           \
  }                                                                                               \
  asm(".symver ym_out_" #symbol "_" #tag ", " #symbol "@@" #version "\n");
#include "pkg/shim/verbs_symbols.inc"
#undef YM_OPTIONAL

namespace yardmaster::shim {

namespace {

struct Entry {
  const char* symbol;
  const char* version;
  void** slot;
};

#define YM_ROW(symbol, version, tag, kind) {#symbol, #version, &ym_slot_##symbol##_##tag},
constexpr Entry kEntries[] = {
#define YM_REQUIRED YM_ROW
#define YM_OLD YM_ROW
#define YM_OPTIONAL YM_ROW
#include "pkg/shim/verbs_symbols.inc"
#undef YM_REQUIRED
#undef YM_OLD
#undef YM_OPTIONAL
};

template <typename Function>
void Get(void* handle, const char* symbol, const char* version, Function** out) {
  *out = reinterpret_cast<Function*>(dlvsym(handle, symbol, version));
}

}  // namespace

void BindVerbs(void* handle, RealVerbs* real) {
  if (handle != nullptr) {
    for (const Entry& entry : kEntries) {
      void* address = dlvsym(handle, entry.symbol, entry.version);
      if (address != nullptr) *entry.slot = address;
    }
    Get(handle, "ibv_modify_qp", "IBVERBS_1.1", &real->modify_qp);
    Get(handle, "ibv_query_qp", "IBVERBS_1.1", &real->query_qp);
    Get(handle, "ibv_destroy_qp", "IBVERBS_1.1", &real->destroy_qp);
    Get(handle, "ibv_query_gid", "IBVERBS_1.1", &real->query_gid);
    Get(handle, "_ibv_query_gid_ex", "IBVERBS_1.11", &real->query_gid_ex);
    Get(handle, "ibv_get_device_list", "IBVERBS_1.1", &real->get_device_list);
  }
  bound = true;
}

}  // namespace yardmaster::shim
