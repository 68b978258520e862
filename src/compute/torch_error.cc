#include "compute/torch_error.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <stdexcept>
#include <string_view>

namespace motley {

std::string short_reason(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  std::string_view text = torch_error ? torch_error->what_without_backtrace() : error.what();
  const bool traceback = text.find("Traceback of TorchScript") != std::string_view::npos;
  while (text.ends_with('\n') || text.ends_with(' ')) {
    text.remove_suffix(1);
  }
  if (traceback) {
    text.remove_prefix(text.rfind('\n') + 1);
  }
  text = text.substr(0, text.find('\n'));
  constexpr std::size_t kLongest = 300;
  return std::string(text.substr(0, kLongest));
}

void throw_short(const char* what, const std::exception& error) {
  throw std::runtime_error(fmt::format("{}: {}", what, short_reason(error)));
}

}  // namespace motley
