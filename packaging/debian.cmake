# Run by cpack on the installed files before packing: writes Debian's changelog, and compresses it
# and the manual page as Debian requires (gzip -n: without name and date).
set(share "${CPACK_TEMPORARY_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}/share")
set(changelog "${share}/doc/${CPACK_PACKAGE_NAME}/changelog.Debian")
set(ENV{LC_ALL} C)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE "${changelog}"
"${CPACK_PACKAGE_NAME} (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Version ${CPACK_PACKAGE_VERSION}; see CHANGELOG.md of the source for the changes.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
execute_process(COMMAND gzip -9nf "${changelog}" "${share}/man/man1/motley.1"
                COMMAND_ERROR_IS_FATAL ANY)
