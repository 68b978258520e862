# What users link and run:
#
#   libmotley.so        the libraries of src/ that do not need torch
#   libmotley_torch.so  those that do (MOTLEY_COMPUTE); it links libmotley.so and repeats none of it
#   motley              the program: calls command_line() of libmotley.so
#
# They are linked from the objects of the static libraries, which the tests use directly. So a
# process has one copy of every function and every global, in whichever order libraries are loaded.

# Calls inside the library cannot be interposed, and symbols of third-party headers are not
# exported: a program may use its own version of asio or CLI11.
add_library(libmotley SHARED)
get_property(objects GLOBAL PROPERTY MOTLEY_OBJECTS)
get_property(links GLOBAL PROPERTY MOTLEY_LINKS)
list(REMOVE_DUPLICATES links)
target_sources(libmotley PRIVATE ${objects})
target_link_libraries(libmotley PRIVATE ${links})
target_link_options(libmotley PRIVATE -Wl,-Bsymbolic-functions -Wl,--no-undefined
                    -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/libmotley.map)
set_property(TARGET libmotley APPEND PROPERTY LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/libmotley.map)
target_compile_features(libmotley INTERFACE cxx_std_20)
target_include_directories(libmotley INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)

add_executable(motley src/cli/main.cc)
target_link_libraries(motley PRIVATE libmotley)

function(motley_shared_library library)
  set_target_properties(lib${library} PROPERTIES
    OUTPUT_NAME ${library} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
endfunction()
motley_shared_library(motley)

if(MOTLEY_COMPUTE)
  add_library(libmotley_torch SHARED src/compute/torch_library.cc)
  target_sources(libmotley_torch PRIVATE $<TARGET_OBJECTS:motley_compute>
                                         $<TARGET_OBJECTS:motley_api>)
  target_link_libraries(libmotley_torch PUBLIC libmotley PRIVATE motley_torch fmt::fmt)
  motley_shared_library(motley_torch)
  # The file that compute/torch_loader.cc loads.
  target_compile_definitions(motley_load PRIVATE
    MOTLEY_TORCH_LIBRARY="$<TARGET_SONAME_FILE_NAME:libmotley_torch>")
  add_dependencies(motley libmotley_torch)
endif()
