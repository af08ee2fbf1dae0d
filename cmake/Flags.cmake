# Warnings and sanitizers for every target of this project.
add_library(fermata_flags INTERFACE)
target_compile_options(fermata_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  # g++ 12 sees overlapping copies in "literal" + std::string that do not exist (its bug 105651).
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)
# In libstdc++ 12, clang 19 sees a stable_sort that uses a function deprecated by C++17.
target_compile_options(fermata_flags INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-deprecated-declarations>)
target_include_directories(fermata_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
# g++ clears a hundred bytes, as many as a call's arguments have, by "rep stos", which takes some 10 ns to
# begin.
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag("-mmemset-strategy=vector_loop:256:noalign,libcall:-1:noalign"
  FERMATA_HAS_MEMSET_STRATEGY)
if(FERMATA_HAS_MEMSET_STRATEGY)
  add_compile_options(
    "$<$<COMPILE_LANGUAGE:CXX>:-mmemset-strategy=vector_loop:256:noalign,libcall:-1:noalign>")
endif()
# A project that takes Fermata in may have no build type, which is its own affair. Fermata is optimized even
# so.
if(NOT PROJECT_IS_TOP_LEVEL)
  add_compile_options($<$<CONFIG:>:-O2>)
endif()

if(FERMATA_SANITIZE STREQUAL "thread")
  # The asymmetric fence is a compiler barrier for ThreadSanitizer, too; membarrier makes it a fence.
  add_compile_options(-fsanitize=thread -g1 $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-tsan>)
  add_link_options(-fsanitize=thread)
elseif(FERMATA_SANITIZE STREQUAL "address+undefined")
  # AddressSanitizer finds what UBSan's checks of null pointers and of object sizes find. They take a sixth of
  # the time to compile.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=null,object-size -fno-sanitize-recover=all
    -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=address,undefined)
elseif(FERMATA_SANITIZE)
  message(FATAL_ERROR "FERMATA_SANITIZE: address+undefined or thread, not '${FERMATA_SANITIZE}'")
endif()

# Every file reader is built with coverage feedback; the fuzzer's main comes with the targets of tests/fuzz.
if(FERMATA_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "FERMATA_FUZZ needs clang (preset fuzz)")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
