# libtorch, for the few targets that include it:
#
#   motley_uses_torch(target [REUSE other])
#
# torch's headers take 10 to 20 s to read, so such a target gets a precompiled header of what all
# need, with REUSE that of another target. It holds <torch/types.h> (tensors) and no more: a file
# pays again for the templates of every header that it sees, used or not.
# Whoever only calls the target links torch but never reads its headers.
find_package(Torch REQUIRED)

add_library(motley_torch INTERFACE)
target_include_directories(motley_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
target_link_libraries(motley_torch INTERFACE ${TORCH_LIBRARIES})
separate_arguments(torch_flags UNIX_COMMAND "${TORCH_CXX_FLAGS}")
target_compile_options(motley_torch INTERFACE ${torch_flags})

function(motley_uses_torch target)
  cmake_parse_arguments(ARG "" "REUSE" "" ${ARGN})
  target_link_libraries(${target} PRIVATE motley_torch ${CMAKE_DL_LIBS})
  if(ARG_REUSE)
    target_precompile_headers(${target} REUSE_FROM ${ARG_REUSE})
    target_compile_options(${target} PRIVATE -fPIC)  # as they were precompiled
  else()
    target_precompile_headers(${target} PRIVATE <torch/types.h>)
  endif()
  # Half the time goes into optimising torch's templates; the arithmetic is inside libtorch.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
  motley_precompiled_with_ccache(${target})
endfunction()
