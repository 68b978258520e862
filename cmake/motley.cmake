# One library per folder of src/, one test program per folder.
#
#   motley_library(sync SOURCES loop.cc LINK motley_node)   -> target motley_sync
#   motley_test(sync SOURCES loop_test.cc LINK motley_sync) -> target sync_test, run by ctest
#
# A test that is about threads has the label `threads`: those are what ThreadSanitizer runs.
# One that measures time is SERIAL: nothing else runs beside it. Its label is `alone`.

include(GoogleTest)

# ccache refuses precompiled headers unless told that macros and times in them may be ignored.
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

# What nearly every file of a library reads, directly or not: a third of the time that it takes to
# compile them. Without it every file reads what it names, and whoever forgets an include finds out.
option(MOTLEY_PRECOMPILE "Precompile the headers that most files read" OFF)
if(MOTLEY_PRECOMPILE)
  motley_precompiles(motley_headers <algorithm> <array> <functional> <map> <memory> <optional> <set>
                     <span> <string> <vector> <fmt/format.h>)
  target_link_libraries(motley_headers PRIVATE fmt::fmt)
  set_target_properties(motley_headers PROPERTIES POSITION_INDEPENDENT_CODE ON)
  motley_precompiled_with_ccache(motley_headers)
endif()

# TORCH: it precompiles torch's headers instead, and is no part of libmotley.so. All others are, and
# what they link: MOTLEY_OBJECTS and MOTLEY_LINKS.
function(motley_library name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;LINK" ${ARGN})
  if(ARG_SOURCES)
    add_library(motley_${name} STATIC ${ARG_SOURCES})
    target_include_directories(motley_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src
                                                     ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(motley_${name} PUBLIC ${ARG_LINK})
    # They go into shared libraries as well (cmake/shared.cmake).
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

# How tests are compiled. Optimising the templates of the test frameworks takes longer than it saves,
# except where ThreadSanitizer instruments every access.
function(motley_compiles_tests target)
  target_link_libraries(${target} PRIVATE GTest::gtest rapidcheck)
  if(NOT MOTLEY_SANITIZE STREQUAL "thread")
    target_compile_options(${target} PRIVATE -O0)
  endif()
  motley_precompiled_with_ccache(${target})
endfunction()

# The headers of the test frameworks, read once for all test programs.
if(MOTLEY_TESTS)
  motley_precompiles(motley_test_headers <gtest/gtest.h> <rapidcheck/gtest.h>)
  motley_compiles_tests(motley_test_headers)
endif()

# TORCH: as for a library. LONG: begins first, so that no core has nothing to do in the end.
# TOGETHER: all of its tests run in one process, since to start one takes longer than most of them.
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
