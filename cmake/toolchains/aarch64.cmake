# Debian's cross compiler for aarch64, and qemu-user for the tests: functional only, since qemu on x86 shows none of the
# reordering that the real machine may.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# G_SLICE: another of qemu's threads may hold the lock of GLib's slices when a program forks, and its child then waits for it for ever.
set(CMAKE_CROSSCOMPILING_EMULATOR env;G_SLICE=always-malloc;qemu-aarch64;-L;/usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
