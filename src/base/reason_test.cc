#include "base/reason.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <new>
#include <system_error>

namespace motley {
namespace {

template <class Error>
std::string reason_for(const Error& error) {
  return plain_reason(std::make_exception_ptr(error));
}

TEST(Reason, OfMemoryThatIsShortNamesMemoryAndItsLimit) {
  EXPECT_EQ(reason_for(std::bad_alloc()).find("out of memory"), 0U);
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  const rlimit some{std::min<rlim_t>(std::uint64_t{1} << 45, before.rlim_max), before.rlim_max};
  setrlimit(RLIMIT_AS, &some);
  EXPECT_NE(reason_for(std::bad_alloc()).find(" MB: ulimit -v)"), std::string::npos);
  EXPECT_NE(
      reason_for(std::system_error(EAGAIN, std::generic_category()))
          .find("cannot start a thread: Resource temporarily unavailable, out of memory or of "
                "threads (this process may use "),
      std::string::npos);
  setrlimit(RLIMIT_AS, &before);
}

TEST(Reason, OfOthersIsWhatTheySay) {
  EXPECT_EQ(reason_for(std::runtime_error("no such file\nstack trace")), "no such file");
  EXPECT_EQ(reason_for(std::system_error(ENOENT, std::generic_category(), "x")),
            "x: No such file or directory");
  EXPECT_EQ(reason_for(7), "an exception that is not a std::exception");
}

}  // namespace
}  // namespace motley
