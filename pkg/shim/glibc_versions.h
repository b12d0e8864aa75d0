// The library runs in containers with other C libraries than the one it was built with. These
// functions moved into libc.so.6 with glibc 2.34 and got a new version there; asking for their first
// version works with every glibc. Include it in each source that calls one of them.
#pragma once

#if defined(__x86_64__)
#define YM_FIRST_GLIBC "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define YM_FIRST_GLIBC "GLIBC_2.17"
#endif
// A sanitizer stands before these functions itself, without their versions; tests run where they are
// built.
#if defined(YARDMASTER_SHIM_LIBRARY) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
asm(".symver dlopen, dlopen@" YM_FIRST_GLIBC);
asm(".symver dlsym, dlsym@" YM_FIRST_GLIBC);
asm(".symver dlvsym, dlvsym@" YM_FIRST_GLIBC);
asm(".symver dladdr, dladdr@" YM_FIRST_GLIBC);
#endif
