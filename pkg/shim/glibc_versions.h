// Binds the dl* functions below to their first glibc version. The shims run in containers with
// other C libraries than the one they were built with. These functions moved into libc.so.6 with
// glibc 2.34 and got a new version there; their first version works with every glibc. Include this
// header in each source that calls one of them.
#pragma once

#if defined(__x86_64__)
#define YM_FIRST_GLIBC "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define YM_FIRST_GLIBC "GLIBC_2.17"
#endif
// Sanitizers replace these functions without versions, so builds with a sanitizer leave them alone;
// they only run where they are built.
#if defined(YARDMASTER_SHIM_LIBRARY) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
asm(".symver dlopen, dlopen@" YM_FIRST_GLIBC);
asm(".symver dlsym, dlsym@" YM_FIRST_GLIBC);
asm(".symver dlvsym, dlvsym@" YM_FIRST_GLIBC);
asm(".symver dladdr, dladdr@" YM_FIRST_GLIBC);
#endif
