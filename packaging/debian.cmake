# Run by cpack over what it installed, before it is packed: what Debian wants compressed, without dates
# or names in it, and its own changelog.
set(share "${CPACK_TEMPORARY_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}/share")
set(changelog "${share}/doc/${CPACK_PACKAGE_NAME}/changelog.Debian")
set(ENV{LC_ALL} C)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE "${changelog}"
"${CPACK_PACKAGE_NAME} (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Version ${CPACK_PACKAGE_VERSION}; what is new stands in CHANGELOG.md of the source.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
execute_process(COMMAND gzip -9nf "${changelog}" "${share}/man/man1/motley.1"
                COMMAND_ERROR_IS_FATAL ANY)
