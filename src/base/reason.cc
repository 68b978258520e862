#include "base/reason.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <new>
#include <system_error>

#include "motley/base/failure.h"

namespace motley {
std::string memory_limit() {
  rlimit limit{};
  const bool is_limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_limited ? fmt::format(" (this process may use {} MB: ulimit -v)", limit.rlim_cur >> 20)
                    : "";
}

std::string plain_reason(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    return "out of memory" + memory_limit();
  } catch (const std::system_error& failure) {
    const bool is_thread = failure.code() == std::errc::resource_unavailable_try_again;
    return is_thread ? fmt::format("cannot start a thread: {}, out of memory or of threads{}",
                                   failure.what(), memory_limit())
                     : reason_of(failure);
  } catch (...) {
    return reason_of(error);
  }
}

}  // namespace motley
