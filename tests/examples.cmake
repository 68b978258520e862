# The examples, built in the tree with the headers that are precompiled here; that they build
# against an installed motley is what tests/installed is about.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/examples)
file(GLOB examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.cc)
foreach(source IN LISTS examples ITEMS ${CMAKE_CURRENT_LIST_DIR}/api/learner.cc
                                       ${CMAKE_CURRENT_LIST_DIR}/api/mistakes.cc
                                        ${CMAKE_CURRENT_LIST_DIR}/api/numbers.cc)
  get_filename_component(example ${source} NAME_WE)
  add_executable(${example} ${source})
  set_target_properties(${example} PROPERTIES UNITY_BUILD OFF)
  target_link_libraries(${example} PRIVATE libmotley fmt::fmt)  # as the precompiled headers
  file(STRINGS ${source} uses_torch REGEX "torch/torch.h")
  if(uses_torch)
    target_link_libraries(${example} PRIVATE libmotley_torch)
    motley_uses_torch(${example} REUSE motley_compute)
  endif()
endforeach()

add_test(NAME api COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/api/api_test.py
         $<TARGET_FILE:motley> $<TARGET_FILE:learner> ${CMAKE_BINARY_DIR}/examples)
set_tests_properties(api PROPERTIES TIMEOUT 300 COST 1 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)

add_test(NAME api_mistakes COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/api/mistakes_test.py
         $<TARGET_FILE:motley> $<TARGET_FILE:mistakes>)
set_tests_properties(api_mistakes PROPERTIES TIMEOUT 120 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
add_test(NAME api_numbers COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/api/numbers_test.py
         $<TARGET_FILE:motley> $<TARGET_FILE:numbers>)
set_tests_properties(api_numbers PROPERTIES TIMEOUT 300 COST 1 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
