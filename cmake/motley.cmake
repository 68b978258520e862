# One library per folder of src/, one test program per folder.
#
#   motley_library(sync SOURCES loop.cc LINK motley_node)   -> target motley_sync
#   motley_test(sync SOURCES loop_test.cc LINK motley_sync) -> target sync_test, run by ctest
#
# Tests of multi-threaded code have the label `threads`; ThreadSanitizer runs only those. Tests that
# measure time are SERIAL, so no other test runs at the same time; their label is `alone`.

include(GoogleTest)

# ccache caches files with precompiled headers only if it may ignore their macros and timestamps.
function(motley_precompiled_with_ccache target)
  if(CCACHE AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${CCACHE}")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endfunction()

# An empty target that precompiles headers for others.
function(motley_precompiles target)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${target}.cc CONTENT "")
  add_library(${target} OBJECT ${CMAKE_BINARY_DIR}/${target}.cc)
  target_precompile_headers(${target} PRIVATE ${ARGN})
endfunction()

# Headers that nearly every file includes, directly or not; reading them takes a third of the
# compile time. Off by default, so that a missing #include is an error.
option(MOTLEY_PRECOMPILE "Precompile the headers that most files include" OFF)
if(MOTLEY_PRECOMPILE)
  motley_precompiles(motley_headers <algorithm> <array> <functional> <map> <memory> <optional> <set>
                     <span> <string> <vector> <fmt/format.h>)
  target_link_libraries(motley_headers PRIVATE fmt::fmt)
  set_target_properties(motley_headers PROPERTIES POSITION_INDEPENDENT_CODE ON)
  motley_precompiled_with_ccache(motley_headers)
endif()

# With TORCH, the library precompiles torch's headers instead and is not part of libmotley.so. All
# other libraries are part of it: MOTLEY_OBJECTS has their objects, MOTLEY_LINKS what they link.
function(motley_library name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;LINK" ${ARGN})
  if(ARG_SOURCES)
    add_library(motley_${name} STATIC ${ARG_SOURCES})
    target_include_directories(motley_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src
                                                     ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(motley_${name} PUBLIC ${ARG_LINK})
    # The objects are also linked into shared libraries (cmake/shared.cmake).
    set_target_properties(motley_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    if(NOT ARG_TORCH)
      set_property(GLOBAL APPEND PROPERTY MOTLEY_OBJECTS $<TARGET_OBJECTS:motley_${name}>)
      list(FILTER ARG_LINK EXCLUDE REGEX "^motley_")
      set_property(GLOBAL APPEND PROPERTY MOTLEY_LINKS ${ARG_LINK})
    endif()
    if(MOTLEY_PRECOMPILE AND NOT ARG_TORCH)
      target_precompile_headers(motley_${name} REUSE_FROM motley_headers)
      motley_precompiled_with_ccache(motley_${name})
    endif()
  else()
    add_library(motley_${name} INTERFACE)
    target_include_directories(motley_${name} INTERFACE ${PROJECT_SOURCE_DIR}/src
                                                        ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(motley_${name} INTERFACE ${ARG_LINK})
  endif()
endfunction()

# Sets how tests are compiled: without optimisation, which would take longer than it saves, except
# with ThreadSanitizer, which instruments every access.
function(motley_compiles_tests target)
  target_link_libraries(${target} PRIVATE GTest::gtest rapidcheck)
  if(NOT MOTLEY_SANITIZE STREQUAL "thread")
    target_compile_options(${target} PRIVATE -O0)
  endif()
  motley_precompiled_with_ccache(${target})
endfunction()

# The headers of the test frameworks, precompiled once for all test programs.
if(MOTLEY_TESTS)
  motley_precompiles(motley_test_headers <gtest/gtest.h> <rapidcheck/gtest.h>)
  motley_compiles_tests(motley_test_headers)
endif()

# TORCH: as for a library. LONG: starts first, so that no core is idle at the end.
# TOGETHER: all tests run in one process, because starting a process takes longer than most of them.
function(motley_test name)
  cmake_parse_arguments(ARG "SERIAL;TORCH;LONG;TOGETHER" "TIMEOUT" "SOURCES;LINK;LABELS;DEFINE" ${ARGN})
  if(NOT MOTLEY_TESTS OR (MOTLEY_TEST_LABEL AND NOT MOTLEY_TEST_LABEL IN_LIST ARG_LABELS))
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(ARG_SERIAL)
    list(APPEND ARG_LABELS alone)
  endif()
  set(cost 0)
  if(ARG_LONG)
    set(cost 1)
  endif()
  add_executable(${name}_test ${ARG_SOURCES})
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR})  # "tests/..."
  target_link_libraries(${name}_test PRIVATE ${ARG_LINK} GTest::gtest_main)
  target_compile_definitions(${name}_test PRIVATE ${ARG_DEFINE})
  motley_compiles_tests(${name}_test)
  if(NOT ARG_TORCH)
    target_precompile_headers(${name}_test REUSE_FROM motley_test_headers)
  endif()
  set(properties TIMEOUT ${ARG_TIMEOUT} RUN_SERIAL ${ARG_SERIAL} COST ${cost})
  if(ARG_TOGETHER)
    add_test(NAME ${name} COMMAND ${name}_test)
    set_tests_properties(${name} PROPERTIES ${properties} LABELS "${ARG_LABELS}")
  else()
    gtest_discover_tests(${name}_test TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 60
                         PROPERTIES ${properties} LABELS "${ARG_LABELS}")
  endif()
endfunction()
