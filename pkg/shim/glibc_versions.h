// Binds the dl* functions below to their first glibc version, because the shims run in containers
// with other C libraries than the one with which they were built. These functions moved into
// libc.so.6 with glibc 2.34 and got a new version there; their first version works with every
// glibc. Every source that calls one of them includes this header.
#pragma once

#if defined(__x86_64__)
#define YM_FIRST_GLIBC "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define YM_FIRST_GLIBC "GLIBC_2.17"
#endif
// Sanitizers replace these functions without versions. Builds with a sanitizer run only where they
// are built and use them unchanged.
#if defined(YARDMASTER_SHIM_LIBRARY) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
asm(".symver dlopen, dlopen@" YM_FIRST_GLIBC);
asm(".symver dlsym, dlsym@" YM_FIRST_GLIBC);
asm(".symver dlvsym, dlvsym@" YM_FIRST_GLIBC);
asm(".symver dladdr, dladdr@" YM_FIRST_GLIBC);
#endif
