# Compiler cache, linker, warnings and sanitizers: one place for every target.
find_program(CCACHE ccache)
if(CCACHE)
  # Paths relative to the checkout, so that two checkouts share one cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD AND NOT YARDMASTER_SANITIZE)
  add_link_options(-fuse-ld=mold)
endif()

add_library(yardmaster_flags INTERFACE)
target_compile_options(yardmaster_flags INTERFACE -Wall -Wextra -Werror)
target_include_directories(yardmaster_flags INTERFACE ${CMAKE_SOURCE_DIR})
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(yardmaster_flags INTERFACE -Wthread-safety)
endif()
if(YARDMASTER_SANITIZE)
  add_compile_options(-fsanitize=${YARDMASTER_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${YARDMASTER_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # g++ 12 sees uninitialised optionals in instrumented code where there are none.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
  if(YARDMASTER_SANITIZE MATCHES undefined)
    # cpprestsdk's streams derive in a way that makes -fsanitize=vptr report what is not there.
    add_compile_options(-fno-sanitize=vptr -fno-sanitize-recover=undefined)
  endif()
endif()
