# yardmaster_library(NAME folder [PURE] [SUBFOLDERS ...] SRCS ... DEPS ... TESTS ... TEST_DEPS ...)
#
# One target ym_<folder> for pkg/<folder>, plus one test program ym_<folder>_test out of TESTS. A NAME with a
# slash is a folder outside pkg/: simulation/policies is ym_simulation_policies.
# SUBFOLDERS are subfolders in the order in which they may include each other: none includes a later one.
# DEPS are folders that come earlier in the list of layers, or third-party targets.
# PURE folders may link absl, base and each other and nothing else; a PURE folder that includes or links anything
# else does not configure or does not build.
#
# The laboratory, simulation/, comes after everything that a cluster runs and before the command line: nothing else includes it.
set(YARDMASTER_LAYERS
    base fabric workload placement crux repac plan netplan capacity
    json api devices kube tls http rpc config metrics
    state trace gather extender operator page agent
    simulation/policies simulation/simulator simulation/formats
    cli app)
set(YARDMASTER_PURE fabric workload placement crux repac plan netplan capacity simulation/policies simulation/simulator)

# The pure core and what decodes outside input: `core` builds their tests, which have the label core in
# a build with sanitizers, and their fuzz targets. Small, so that continuous integration has the time.
set(YARDMASTER_CORE base ${YARDMASTER_PURE} json api devices config kube http simulation/formats)
add_custom_target(core)

# Optimising the tests' own sources doubles their compile time; what they test is optimised.
set(ym_test_precompiled_FLAGS $<$<CONFIG:Release>:-O0>)
# With sanitizers nothing else is optimised than the pure core, where the tests' time goes.
if(YARDMASTER_SANITIZE)
  set(ym_precompiled_FLAGS -O2)
endif()

# yardmaster_pure_testing(target): what tests of the pure core compare with, such as an exhaustive search, is optimised as the core is.
function(yardmaster_pure_testing target)
  target_compile_options(${target} PRIVATE ${ym_precompiled_FLAGS})
endfunction()

if(YARDMASTER_PRECOMPILE)
  yardmaster_precompile(ym_precompiled
    <algorithm> <cstdint> <functional> <map> <memory> <optional> <set> <string> <string_view> <utility> <vector>
    <absl/status/status.h> <absl/status/statusor.h>)
  yardmaster_precompile(ym_json_precompiled
    <algorithm> <cstdint> <functional> <map> <memory> <optional> <set> <string> <string_view> <utility> <vector>
    <absl/status/status.h> <absl/status/statusor.h> <cmake/json_without_literal.h>)
  yardmaster_precompile(ym_test_precompiled
    <algorithm> <cstdint> <functional> <map> <memory> <optional> <set> <string> <string_view> <utility> <vector>
    <absl/status/status.h> <absl/status/statusor.h> <cmake/json_without_literal.h> <gmock/gmock.h> <gtest/gtest.h>)
endif()

# How many tests' sources are compiled as one, where YARDMASTER_UNITY is on.
set(YARDMASTER_TEST_BATCH 8)

# yardmaster_unity(target): several sources are compiled as one, where YARDMASTER_UNITY is on. Most of what a source
# of the layers with I/O costs are headers that its neighbours include as well: half of the time, and for the verbs of
# pkg/cli, whose command line library is all headers, two thirds.
function(yardmaster_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${YARDMASTER_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  if(YARDMASTER_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # What a source keeps to itself looks to g++ as if a header had it.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

function(yardmaster_library)
  cmake_parse_arguments(A "PURE" "NAME" "SUBFOLDERS;SRCS;DEPS;TESTS;TEST_DEPS" ${ARGN})
  list(FIND YARDMASTER_LAYERS ${A_NAME} own_rank)
  if(own_rank EQUAL -1)
    message(FATAL_ERROR "${A_NAME} is not in YARDMASTER_LAYERS (cmake/yardmaster_targets.cmake)")
  endif()
  if(A_NAME IN_LIST YARDMASTER_PURE AND NOT A_PURE)
    message(FATAL_ERROR "${A_NAME} is pure: say PURE")
  endif()
  string(REPLACE "/" "_" target ym_${A_NAME})

  set(links)
  foreach(dep ${A_DEPS})
    list(FIND YARDMASTER_LAYERS ${dep} rank)
    if(rank GREATER_EQUAL own_rank)
      message(FATAL_ERROR "${A_NAME} may not use ${dep}: it comes later in YARDMASTER_LAYERS")
    elseif(A_PURE AND NOT dep MATCHES "^(absl::.*|base)$" AND NOT dep IN_LIST YARDMASTER_PURE)
      message(FATAL_ERROR "${A_NAME} is pure and may not link ${dep}")
    elseif(rank GREATER_EQUAL 0)
      string(REPLACE "/" "_" link ym_${dep})
      list(APPEND links ${link})
    else()
      list(APPEND links ${dep})
    endif()
  endforeach()

  add_library(${target} STATIC ${A_SRCS})
  target_link_libraries(${target} PUBLIC yardmaster_flags ${links})
  if(A_PURE)
    target_compile_options(${target} PRIVATE ${ym_precompiled_FLAGS})
  endif()
  if(TARGET ym_precompiled AND A_PURE)
    target_precompile_headers(${target} REUSE_FROM ym_precompiled)
  elseif(TARGET ym_json_precompiled)
    target_precompile_headers(${target} REUSE_FROM ym_json_precompiled)
  endif()
  if(NOT A_PURE)
    yardmaster_unity(${target})
  endif()
  # cpprestsdk's macro U breaks Boost and fmt headers: off everywhere, since layers share a program.
  target_compile_definitions(${target} PUBLIC _TURN_OFF_PLATFORM_STRING)

  # Includes are checked at build time, so that a wrong one fails the build and not a review.
  add_custom_command(
    OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/layers.ok
    COMMAND ${CMAKE_COMMAND} -DNAME=${A_NAME} -DROOT=${CMAKE_SOURCE_DIR}
            "-DLAYERS=${YARDMASTER_LAYERS}" "-DPURE=${YARDMASTER_PURE}" "-DSUBFOLDERS=${A_SUBFOLDERS}"
            -DSTAMP=${CMAKE_CURRENT_BINARY_DIR}/layers.ok -P ${CMAKE_SOURCE_DIR}/cmake/check_layers.cmake
    DEPENDS ${A_SRCS} ${CMAKE_SOURCE_DIR}/cmake/check_layers.cmake
    COMMENT "Checking the layers of ${A_NAME}" VERBATIM)
  add_custom_target(${target}_layers DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/layers.ok)
  add_dependencies(${target} ${target}_layers)

  file(GLOB on_disk CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *_test.cc */*_test.cc)
  foreach(test ${on_disk})
    if(NOT test IN_LIST A_TESTS AND YARDMASTER_CHECK_TESTS)
      message(FATAL_ERROR "${A_NAME}: ${test} is on disk but in no TESTS list")
    endif()
  endforeach()
  if(A_TESTS)
    set(core)
    if(A_NAME IN_LIST YARDMASTER_CORE)
      set(core CORE)
    endif()
    yardmaster_test(NAME ${target}_test ${core} SRCS ${A_TESTS} DEPS ${target} ${A_TEST_DEPS})
  endif()
endfunction()

# yardmaster_batch_tests(target source...): adds the tests' sources to the target, several as one (cmake/batch_tests.cmake).
function(yardmaster_batch_tests target)
  set(script ${CMAKE_SOURCE_DIR}/cmake/batch_tests.cmake)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE folder)
  set(number 0)
  while(ARGN)
    set(batch)
    while(ARGN)
      list(LENGTH batch size)
      if(size EQUAL YARDMASTER_TEST_BATCH)
        break()
      endif()
      list(POP_FRONT ARGN source)
      list(APPEND batch ${folder}/${source})
    endwhile()
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${target}_${number}.cc)
    list(TRANSFORM batch PREPEND ${CMAKE_SOURCE_DIR}/ OUTPUT_VARIABLE inputs)
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR} -DOUTPUT=${output} "-DSOURCES=${batch}" -P ${script}
      DEPENDS ${inputs} ${script} VERBATIM)
    target_sources(${target} PRIVATE ${output})
    math(EXPR number "${number} + 1")
  endwhile()
endfunction()

# yardmaster_test(NAME target SRCS ... DEPS ... [LABEL label] [CORE] [ONE_PROCESS] [OPTIMISED])
#
# LABEL: unit (left out), beside its source; story, of several processes in memory; integration or e2e, with a control plane.
#
# OPTIMISED is for tests that run for long: the linker takes inline functions, such as those of JSON, from the
# first object that has them, which is the test's own.
# Tests in memory may run side by side; those with a control plane run alone.
# ONE_PROCESS runs the whole program as one test, so that its test cases can share a control plane. With sanitizers, where
# to start a program takes longer than most test cases, the test cases of any other program are shared out evenly
# over one test for every twelve sources; the tests run side by side.
function(yardmaster_test)
  cmake_parse_arguments(A "CORE;ONE_PROCESS;OPTIMISED" "NAME;LABEL" "SRCS;DEPS" ${ARGN})
  if(NOT A_LABEL)
    set(A_LABEL unit)
  endif()
  set(alone FALSE)
  if(A_LABEL MATCHES "^(integration|e2e)$")
    set(alone TRUE)
  endif()
  add_executable(${A_NAME})
  target_link_libraries(${A_NAME} PRIVATE ${A_DEPS} yardmaster_flags GTest::gmock_main)
  if(NOT A_OPTIMISED)
    target_compile_options(${A_NAME} PRIVATE ${ym_test_precompiled_FLAGS})
  endif()
  set(batched)
  foreach(source ${A_SRCS})
    # Only where it is used: the folder's name keeps a source out of the shared compiler cache.
    file(STRINGS ${source} uses REGEX YARDMASTER_SOURCE_DIR LIMIT_COUNT 1)
    if(uses OR alone)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS YARDMASTER_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    endif()
    if(YARDMASTER_UNITY AND NOT alone AND NOT uses AND NOT A_OPTIMISED AND source MATCHES "_test\\.cc$")
      list(APPEND batched ${source})
    else()
      target_sources(${A_NAME} PRIVATE ${source})
    endif()
  endforeach()
  yardmaster_batch_tests(${A_NAME} ${batched})
  if(A_CORE)
    add_dependencies(core ${A_NAME})
  endif()
  if(TARGET ym_test_precompiled AND NOT A_OPTIMISED)
    target_precompile_headers(${A_NAME} REUSE_FROM ym_test_precompiled)
  endif()
  if(A_ONE_PROCESS)
    add_test(NAME ${A_NAME} COMMAND ${A_NAME})
    set_tests_properties(${A_NAME} PROPERTIES LABELS ${A_LABEL} TIMEOUT 600 RUN_SERIAL ${alone})
  elseif(YARDMASTER_SANITIZE)
    if(A_CORE)
      list(APPEND A_LABEL core)
    endif()
    list(LENGTH A_SRCS sources)
    math(EXPR last "(${sources} - 1) / 12")
    math(EXPR parts "${last} + 1")
    foreach(part RANGE ${last})
      add_test(NAME ${A_NAME}_${part} COMMAND ${A_NAME})
      set_tests_properties(
        ${A_NAME}_${part} PROPERTIES LABELS "${A_LABEL}" TIMEOUT 600 RUN_SERIAL ${alone}
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${parts};GTEST_SHARD_INDEX=${part}")
    endforeach()
  else()
    gtest_discover_tests(${A_NAME} DISCOVERY_TIMEOUT 60
                         PROPERTIES LABELS ${A_LABEL} TIMEOUT 300 RUN_SERIAL ${alone})
  endif()
endfunction()

# yardmaster_binary(NAME yardmaster-x SRCS ... DEPS ...)
function(yardmaster_binary)
  cmake_parse_arguments(A "" "NAME" "SRCS;DEPS" ${ARGN})
  add_executable(${A_NAME} ${A_SRCS})
  target_link_libraries(${A_NAME} PRIVATE ${A_DEPS})
  # Mold 1.10 takes objects out of archives that nothing refers to: the agent was twice as large, with all of the
  # extender's code.
  if(MOLD AND NOT YARDMASTER_SANITIZE)
    target_link_options(${A_NAME} PRIVATE -fuse-ld=bfd)
  endif()
  set_target_properties(${A_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  install(TARGETS ${A_NAME} RUNTIME DESTINATION bin)
  # What people run: `make programs` builds this and not the tests.
  if(NOT TARGET programs)
    add_custom_target(programs)
  endif()
  add_dependencies(programs ${A_NAME})
endfunction()

# yardmaster_links_nothing_of(TARGETS ... FORBIDDEN ...)
#
# Configuration fails where one of TARGETS links one of FORBIDDEN, directly or through other targets. To be
# called once all targets are declared.
function(yardmaster_links_nothing_of)
  cmake_parse_arguments(A "" "" "TARGETS;FORBIDDEN" ${ARGN})
  foreach(target ${A_TARGETS} ${A_FORBIDDEN})
    if(NOT TARGET ${target})
      message(FATAL_ERROR "${target} is not a target, so nothing can be said of what it links")
    endif()
  endforeach()
  foreach(start ${A_TARGETS})
    set(seen ${start})
    set(open ${start})
    while(open)
      list(POP_FRONT open target)
      set(links)
      foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
        get_target_property(found ${target} ${property})
        if(found)
          list(APPEND links ${found})
        endif()
      endforeach()
      foreach(link ${links})
        # Private dependencies of a static library are written as $<LINK_ONLY:x>.
        string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" link "${link}")
        if(link IN_LIST A_FORBIDDEN)
          message(FATAL_ERROR "${start} links ${link}, through ${target}: production does not")
        endif()
        if(TARGET ${link} AND NOT link IN_LIST seen)
          list(APPEND seen ${link})
          list(APPEND open ${link})
        endif()
      endforeach()
    endwhile()
  endforeach()
endfunction()

# yardmaster_bench(NAME x SRCS ... DEPS ...): one executable per benchmark, build/<preset>/bench/x.
function(yardmaster_bench)
  cmake_parse_arguments(A "" "NAME" "SRCS;DEPS" ${ARGN})
  add_executable(${A_NAME} ${A_SRCS})
  target_link_libraries(${A_NAME} PRIVATE ${A_DEPS} yardmaster_flags)
  target_compile_definitions(${A_NAME} PRIVATE YARDMASTER_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  set_target_properties(${A_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
endfunction()
