# Debian's cross compiler for ppc64le, and qemu-user for the tests. The tests are only functional: qemu on x86
# shows none of the reordering of the real machine.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ppc64le)
set(CMAKE_C_COMPILER powerpc64le-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER powerpc64le-linux-gnu-g++)
# G_SLICE: if a program forks while another thread of qemu holds the lock of GLib's slices, the child would
# wait for it for ever.
set(CMAKE_CROSSCOMPILING_EMULATOR env;G_SLICE=always-malloc;qemu-ppc64le;-L;/usr/powerpc64le-linux-gnu)
set(CMAKE_FIND_ROOT_PATH /usr/powerpc64le-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
