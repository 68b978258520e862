// The version of motley. CMakeLists.txt reads it from here; it is written nowhere else.
#pragma once

namespace motley {

inline constexpr const char* kVersion = "0.2.0";

}  // namespace motley
