# cmake --install: installs the program, the libraries, the headers, and what other projects need to
# find them:
#
#   find_package(motley)            -> motley::motley (cmake/motley-config.cmake)
#   pkg-config --cflags --libs motley                  (cmake/motley.pc.in)
#
# No installed file contains the prefix, so the installation can be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/motley)

file(RELATIVE_PATH to_libraries ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(motley PROPERTIES INSTALL_RPATH $ORIGIN/${to_libraries})
set_target_properties(libmotley PROPERTIES EXPORT_NAME core)
set_target_properties(libmotley_torch PROPERTIES EXPORT_NAME compute INSTALL_RPATH $ORIGIN)
install(TARGETS motley)
install(TARGETS libmotley libmotley_torch EXPORT motley
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT motley FILE motley-targets.cmake NAMESPACE motley:: DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/motley-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/motley-config.cmake
              ${CMAKE_BINARY_DIR}/motley-config-version.cmake
        DESTINATION ${package_dir})

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/motley DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# torch has no .pc file, so motley.pc lists torch's paths. Paths that the compiler searches anyway
# are left out.
file(RELATIVE_PATH to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" to_prefix ${to_prefix})
set(torch_cflags ${TORCH_INCLUDE_DIRS})
list(REMOVE_ITEM torch_cflags ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
list(TRANSFORM torch_cflags PREPEND "-isystem ")
list(JOIN torch_cflags " " torch_cflags)
set(torch_libs "-ltorch -ltorch_cpu -lc10")
get_filename_component(torch_lib_dir ${TORCH_LIBRARY} DIRECTORY)
if(NOT torch_lib_dir IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
  string(PREPEND torch_libs "-L${torch_lib_dir} ")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/motley.pc.in ${CMAKE_BINARY_DIR}/motley.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/motley.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
