// Which motley this is. CMakeLists.txt reads the number from here: it stands nowhere else.
#pragma once

namespace motley {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace motley
