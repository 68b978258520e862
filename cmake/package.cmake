# cpack -G DEB: a Debian package with the program, the libraries and the headers.
set(MOTLEY_MAINTAINER "The motley authors <motley@packages.invalid>" CACHE STRING
    "Maintainer of the Debian package")

# The manual page and the completions are generated from the program's --help.
set(manual_dir ${CMAKE_BINARY_DIR}/manual)
set(manual ${manual_dir}/motley.1 ${manual_dir}/motley.bash ${manual_dir}/_motley)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_custom_command(OUTPUT ${manual}
  COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/packaging/manual.py $<TARGET_FILE:motley>
          ${manual_dir}
  DEPENDS motley libmotley ${PROJECT_SOURCE_DIR}/packaging/manual.py
  COMMENT "Writing the manual page" VERBATIM)
add_custom_target(manual ALL DEPENDS ${manual})
install(FILES ${manual_dir}/motley.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${manual_dir}/motley.bash RENAME motley
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${manual_dir}/_motley DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES packaging/copyright README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_CONTACT ${MOTLEY_MAINTAINER})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian.cmake)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "train one libtorch model on machines that differ in speed")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"A job file describes the model, the data, the workers with their speeds, and
the method that synchronizes them: all-reduce, partial reduce, Hop, AD-PSGD,
parameter servers and others, with shares of the batch that follow the speeds.
motley runs the job with processes or on a virtual clock, compares methods,
and writes HTML reports.

The package contains the program, and the libraries and headers for programs
with their own model or method.")
# Dependencies of the libraries are detected. Programs that include the headers need torch's
# headers.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/triggers)
set(CPACK_DEBIAN_PACKAGE_DEPENDS libtorch-dev)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libopenblas0-pthread)
include(CPack)
