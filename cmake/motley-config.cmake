# After find_package(motley REQUIRED), target_link_libraries(program PRIVATE motley::motley) adds
# the headers and libraries of motley and torch, and C++20.
#
# motley::core is motley without torch: for a program that registers its own method and calls
# command_line(), which loads torch when a job needs it.
include(CMakeFindDependencyMacro)
find_dependency(Torch)
include(${CMAKE_CURRENT_LIST_DIR}/motley-targets.cmake)

if(NOT TARGET motley::motley)
  add_library(motley::motley INTERFACE IMPORTED)
  target_link_libraries(motley::motley INTERFACE motley::compute motley::core ${TORCH_LIBRARIES})
  target_include_directories(motley::motley SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
  separate_arguments(motley_torch_flags UNIX_COMMAND "${TORCH_CXX_FLAGS}")
  target_compile_options(motley::motley INTERFACE ${motley_torch_flags})
  unset(motley_torch_flags)
endif()
