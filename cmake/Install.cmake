# Installed package: libraries, headers, find_package(fermata) with fermata::fermata and fermata::rt, modules
# of pkg-config, the tool and the manual pages. Paths are relative, so that the prefix can be moved.
# Components: runtime, dev, tools, and preload-NAME for each preload library (docs/packaging.md).
include(CMakePackageConfigHelpers)

set(libraries)
foreach(target fermata_rt fermata)
  if(TARGET ${target})
    list(APPEND libraries ${target})
  endif()
endforeach()
if(NOT libraries)
  return()
endif()

install(TARGETS ${libraries} EXPORT fermata
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/fermata DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fermata)
install(EXPORT fermata NAMESPACE fermata:: FILE fermata-targets.cmake
  DESTINATION ${package_dir} COMPONENT dev)
# The archives: cmake/fermata-config.cmake.in makes their targets.
foreach(target fermata_rt_archive fermata_static)
  if(TARGET ${target})
    install(TARGETS ${target} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
  endif()
endforeach()
set(fermata_requires hwloc)  # pkg-config's names of what libfermata.a needs
if(FERMATA_HIGHWAY)
  string(APPEND fermata_requires " libhwy")
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/fermata-config.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/fermata-config.cmake INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
# Before 1.0 each minor release may change the ABI.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/fermata-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/fermata-config.cmake
  ${PROJECT_BINARY_DIR}/cmake/fermata-config-version.cmake DESTINATION ${package_dir} COMPONENT dev)

# pcfiledir is <prefix>/<libdir>/pkgconfig. The way back up depends on the depth of libdir (lib, lib64,
# lib/x86_64-...).
file(RELATIVE_PATH pc_prefix /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})
foreach(target ${libraries})
  get_target_property(output ${target} OUTPUT_NAME)
  if(NOT output)
    set(output ${target})
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${output}.pc.in ${PROJECT_BINARY_DIR}/cmake/${output}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/cmake/${output}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT dev)
endforeach()

# Each page is in the component of what it describes. Those of preload libraries: preload/CMakeLists.txt.
function(install_pages component section)
  install(FILES ${ARGN} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT ${component})
endfunction()
if(TARGET fermata_tool)
  install(TARGETS fermata_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.1)
  install_pages(tools 1 ${pages})
endif()
install_pages(runtime 7 ${PROJECT_SOURCE_DIR}/docs/man/fermata.7)
file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.3)
install_pages(dev 3 ${pages})
# For man fermata_allreduce: a one-line page that refers to the page which describes the function.
foreach(page ${pages})
  get_filename_component(name ${page} NAME)
  file(STRINGS ${page} named REGEX "^fermata_.* \\\\- ")
  string(REGEX REPLACE " \\\\- .*" "" named "${named}")
  string(REGEX MATCHALL "fermata_[a-z0-9_]+" named "${named}")
  foreach(function ${named})
    if(NOT "${function}.3" STREQUAL name)
      file(WRITE ${PROJECT_BINARY_DIR}/man/${function}.3 ".so man3/${name}\n")
      install_pages(dev 3 ${PROJECT_BINARY_DIR}/man/${function}.3)
    endif()
  endforeach()
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
