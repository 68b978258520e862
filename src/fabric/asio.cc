// The body of asio, compiled here once instead of in every file that uses it.
#include <asio/impl/src.hpp>
