# Compiler cache, linker, warnings and sanitizers: one place for every target.
find_program(CCACHE ccache)
if(CCACHE)
  # Paths relative to the checkout, so that two checkouts share one cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1 ${CCACHE})
endif()
if(NOT CMAKE_CROSSCOMPILING)  # a cross compiler takes the linkers of its own binutils
  find_program(MOLD mold)
endif()
# g++ links its sanitizers' runtimes by its own linker.
if(MOLD AND (NOT YARDMASTER_SANITIZE OR CMAKE_CXX_COMPILER_ID MATCHES Clang))
  add_link_options(-fuse-ld=mold)
endif()

# The same plan on every architecture: g++ for arm64 would fuse multiplications with additions, which rounds differently. The amd64 that we
# compile for has no such instruction.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)")  # Linux says aarch64, macOS arm64
  add_compile_options(-ffp-contract=off)
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
  if(YARDMASTER_FUZZ)
    # libFuzzer is guided by what an input reaches in the libraries, too.
    add_compile_options(-fsanitize=fuzzer-no-link)
  endif()
endif()

# yardmaster_precompile(NAME header...): a precompiled header that targets share by
# target_precompile_headers(target REUSE_FROM NAME). It holds only headers of installed packages,
# and those in cmake/ that include them.
#
# The compiler cache takes a checksum file in place of the precompiled header, whose bytes differ
# from checkout to checkout, so that two checkouts share one cache. A header of this repository, <cmake/...>, is part
# of that checksum.
#
# NAME_FLAGS, where it is set, are flags that header and targets must have in common.
function(yardmaster_precompile name)
  set(source ${CMAKE_BINARY_DIR}/${name}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "namespace { [[maybe_unused]] int unused; }\n")
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE yardmaster_flags)
  if(ARGN MATCHES gmock)
    target_link_libraries(${name} PRIVATE GTest::gmock)
  endif()
  if(ARGN MATCHES json)
    target_link_libraries(${name} PRIVATE nlohmann_json::nlohmann_json)
  endif()
  target_compile_options(${name} PRIVATE ${${name}_FLAGS})
  target_precompile_headers(${name} PRIVATE ${ARGN})
  set(instrumented)
  if(YARDMASTER_FUZZ)
    set(instrumented " fuzz")
  endif()
  set(compiled cmake_pch.hxx.pch)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    set(compiled cmake_pch.hxx.gch)
    target_compile_options(yardmaster_flags INTERFACE -fpch-preprocess)
  else()
    # The time of each header would be part of the precompiled one, and keep the compiler cache from being used.
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  if(CCACHE)
    set(own_headers ${ARGN})
    list(FILTER own_headers INCLUDE REGEX "^<cmake/")
    if(ARGN MATCHES json)
      list(APPEND own_headers <cmake/json/nlohmann/json.hpp>)  # which the header above includes
    endif()
    set(own_checksums)
    foreach(header ${own_headers})
      string(REGEX REPLACE "^<(.*)>$" "${CMAKE_SOURCE_DIR}/\\1" header ${header})
      file(SHA256 ${header} header_checksum)
      list(APPEND own_checksums ${header_checksum})
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    endforeach()
    string(SHA256 checksum "${ARGN} ${own_checksums} ${${name}_FLAGS} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_BUILD_TYPE} ${CMAKE_CXX_FLAGS} ${YARDMASTER_SANITIZE}${instrumented}")
    file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/${name}.dir/${compiled}.sum "${checksum}\n")
  endif()
endfunction()
