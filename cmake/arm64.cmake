# Toolchain for arm64 Linux (preset arm64): Debian's cross compiler, and Debian's libraries for arm64 out of a folder
# (hack/arm64-sysroot). Programs of the build, such as protoc, are this machine's; tests run in qemu's emulation of a
# process.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++-12)
if(NOT CMAKE_SYSROOT)
  execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../hack/arm64-sysroot OUTPUT_VARIABLE sysroot
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(CMAKE_SYSROOT ${sysroot})
endif()
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${CMAKE_SYSROOT})
