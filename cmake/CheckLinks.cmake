# Sets `result` (cached) to whether `compiler` compiles and links `source` with `flags`; if not, prints what
# is missing. try_compile knows only the project's own compiler.
function(check_links result compiler source missing)
  if(DEFINED CACHE{${result}})
    return()
  endif()
  set(works OFF)
  if(compiler)
    set(probe ${CMAKE_CURRENT_BINARY_DIR}/${result})
    file(WRITE ${probe}.cpp "${source}")
    execute_process(COMMAND ${compiler} ${ARGN} ${probe}.cpp -o ${probe}
                    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(failed EQUAL 0)
      set(works ON)
    endif()
  endif()
  if(NOT works)
    message(STATUS "${result}: no (${missing})")
  endif()
  set(${result} ${works} CACHE BOOL "${compiler} ${ARGN} works")
endfunction()

function(check_openmp result compiler)
  check_links(${result} "${compiler}" "#include <omp.h>\nint main() { return omp_get_max_threads() < 1; }\n"
    "the rivals of that OpenMP run-time will be reported as not available" -fopenmp)
endfunction()

function(check_libcxx result compiler)
  check_links(${result} "${compiler}"
    "#include <barrier>\nint main() { std::barrier<> b(1); b.arrive_and_wait(); }\n"
    "libc++'s barrier will be reported as not available" -std=c++20 -stdlib=libc++ -pthread)
endfunction()
