include(${CMAKE_CURRENT_LIST_DIR}/CheckLinks.cmake)

# The MPI libraries: Debian's, side by side; and newer ones, each with plain names in a folder of its own.
set(FERMATA_RIVALS ${PROJECT_SOURCE_DIR}/build/rivals CACHE PATH
    "The folder of newer MPI libraries from scripts/bootstrap --rivals")
set(FERMATA_MPIS openmpi mpich openmpi5 mpich5)

# For one of these libraries, sets FERMATA_HAVE_<MPI> (cached), FERMATA_MPICXX_<MPI>, the compiler wrapper,
# and FERMATA_MPIRUN_<MPI>, the launcher. FindMPI can handle only one library. The absence of a newer library
# is not cached, since scripts/bootstrap --rivals can install it at any time.
function(check_mpi mpi)
  string(TOUPPER ${mpi} upper)
  set(folder ${FERMATA_RIVALS}/${mpi}/bin)
  if(NOT mpi MATCHES "5$")
    find_program(FERMATA_MPICXX_${upper} NAMES mpicxx.${mpi})
    find_program(FERMATA_MPIRUN_${upper} NAMES mpirun.${mpi} mpiexec.${mpi})
  elseif(EXISTS ${folder}/mpicxx)
    find_program(FERMATA_MPICXX_${upper} NAMES mpicxx PATHS ${folder} NO_DEFAULT_PATH)
    find_program(FERMATA_MPIRUN_${upper} NAMES mpirun PATHS ${folder} NO_DEFAULT_PATH)
  else()
    unset(FERMATA_HAVE_${upper} CACHE)
    return()
  endif()
  set(compiler)
  if(FERMATA_MPIRUN_${upper})
    set(compiler "${FERMATA_MPICXX_${upper}}")
  endif()
  check_links(FERMATA_HAVE_${upper} "${compiler}"
    "#include <mpi.h>\nint main(int argc, char** argv) { return MPI_Init(&argc, &argv); }\n"
    "no rival ${mpi}, and no preload for it" -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX)
endfunction()

# Sets `found` to those for which libraries are made, each with a target fermata_mpi_<mpi> to link: what
# the wrapper would compile and link with, folders and the library itself, without its interface for C++.
# None where the MPI libraries, which are this
# machine's and not instrumented, are of no use.
function(mpi_libraries found)
  set(list)
  if(NOT TARGET fermata OR NOT FERMATA_MPI OR CMAKE_CROSSCOMPILING OR FERMATA_SANITIZE)
    set(${found} PARENT_SCOPE)
    return()
  endif()
  foreach(mpi IN LISTS FERMATA_MPIS)
    string(TOUPPER ${mpi} upper)
    check_mpi(${mpi})
    if(NOT FERMATA_HAVE_${upper})
      continue()
    endif()
    list(APPEND list ${mpi})
    if(TARGET fermata_mpi_${mpi})
      continue()
    endif()
    execute_process(COMMAND ${FERMATA_MPICXX_${upper}} -show
                    OUTPUT_VARIABLE command OUTPUT_STRIP_TRAILING_WHITESPACE)
    separate_arguments(command UNIX_COMMAND "${command}")
    foreach(kind I L l)
      set(${kind} ${command})
      list(FILTER ${kind} INCLUDE REGEX "^-${kind}.")
      list(TRANSFORM ${kind} REPLACE "^-${kind}" "")
    endforeach()
    list(FILTER l EXCLUDE REGEX "mpi_cxx|mpichcxx")
    list(GET l 0 name)
    find_library(FERMATA_LIBRARY_${upper} ${name} HINTS ${L} NO_DEFAULT_PATH)
    find_library(FERMATA_LIBRARY_${upper} ${name})
    add_library(fermata_mpi_${mpi} INTERFACE)
    target_include_directories(fermata_mpi_${mpi} SYSTEM INTERFACE ${I})
    target_link_libraries(fermata_mpi_${mpi} INTERFACE ${FERMATA_LIBRARY_${upper}})
  endforeach()
  set(${found} ${list} PARENT_SCOPE)
endfunction()
