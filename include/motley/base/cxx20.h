// Says what is missing if motley's headers are compiled as an older C++. Each header that a program
// includes has it first: the others would only cause errors far from the cause.
#pragma once

#if __cplusplus < 202002L
#error "motley needs C++20: compile with -std=c++20, or set(CMAKE_CXX_STANDARD 20)"
#endif
