# libtorch, for the few targets that include its headers:
#
#   motley_uses_torch(target [REUSE other])
#
# torch's headers take 10 to 20 s to compile, so such a target gets a precompiled header, with REUSE
# that of another target. It contains only <torch/types.h> (tensors), because every file pays again
# for the templates of each header in it, used or not.
# A target that only calls such a target links torch but does not include its headers.
find_package(Torch REQUIRED)

add_library(motley_torch INTERFACE)
target_include_directories(motley_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
target_link_libraries(motley_torch INTERFACE ${TORCH_LIBRARIES})
separate_arguments(torch_flags UNIX_COMMAND "${TORCH_CXX_FLAGS}")
target_compile_options(motley_torch INTERFACE ${torch_flags})

function(motley_uses_torch target)
  cmake_parse_arguments(ARG "" "REUSE" "" ${ARGN})
  if(NOT TARGET ${target})  # a test, in a build without tests
    return()
  endif()
  target_link_libraries(${target} PRIVATE motley_torch ${CMAKE_DL_LIBS})
  if(ARG_REUSE)
    target_precompile_headers(${target} REUSE_FROM ${ARG_REUSE})
    target_compile_options(${target} PRIVATE -fPIC)  # must match the precompiled header
  else()
    target_precompile_headers(${target} PRIVATE <torch/types.h>)
  endif()
  # -O1: optimising torch's templates takes half the compile time, but the arithmetic is in
  # libtorch.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
  motley_precompiled_with_ccache(${target})
endfunction()
