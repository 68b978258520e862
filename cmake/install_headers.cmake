# Installs the headers of include/motley and, from there on, all that they include of src/: src/X/y.h
# becomes motley/X/y.h. No list is kept: what a public header reaches is public.
#
# Run by cmake --install, with SOURCE_DIR, HEADERS_DIR (where they are put together) and INCLUDE_DIR
# (below the prefix).

cmake_policy(VERSION 3.25)

file(REMOVE_RECURSE "${HEADERS_DIR}")

# The names, as they are installed, of what is to be read; and of what has been.
file(GLOB waiting RELATIVE "${SOURCE_DIR}/include" "${SOURCE_DIR}/include/motley/*.h")
set(seen ${waiting})

while(waiting)
  list(POP_FRONT waiting header)
  set(file "${SOURCE_DIR}/include/${header}")
  if(NOT EXISTS "${file}")
    string(REGEX REPLACE "^motley/" "${SOURCE_DIR}/src/" file "${header}")
  endif()
  # Read as one text: a list would lose its semicolons and brackets.
  file(READ "${file}" text)
  string(REGEX MATCHALL "\n#include \"[^\"]+\"" includes "\n${text}")
  foreach(line IN LISTS includes)
    string(REGEX REPLACE ".*\"(.+)\"" "\\1" name "${line}")
    if(NOT name MATCHES "^motley/")
      if(NOT EXISTS "${SOURCE_DIR}/src/${name}")
        message(FATAL_ERROR "${file}: includes ${name}, which is neither in src/ nor in include/")
      endif()
      string(REPLACE "#include \"${name}\"" "#include \"motley/${name}\"" text "${text}")
      string(PREPEND name "motley/")
    endif()
    if(NOT name IN_LIST seen)
      list(APPEND seen "${name}")
      list(APPEND waiting "${name}")
    endif()
  endforeach()
  file(WRITE "${HEADERS_DIR}/${header}" "${text}")
endwhile()

file(INSTALL "${HEADERS_DIR}/" DESTINATION "${CMAKE_INSTALL_PREFIX}/${INCLUDE_DIR}")
