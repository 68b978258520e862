# libtorch, as the target motley_torch. <torch/torch.h> takes about 20 s to read; the targets that
# include it share one precompiled header (motley_torch_pch).
find_package(Torch REQUIRED)

add_library(motley_torch INTERFACE)
target_include_directories(motley_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
target_link_libraries(motley_torch INTERFACE ${TORCH_LIBRARIES})
separate_arguments(torch_flags UNIX_COMMAND "${TORCH_CXX_FLAGS}")
target_compile_options(motley_torch INTERFACE ${torch_flags})
