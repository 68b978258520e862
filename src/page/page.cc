#include "page/page.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "page/parts.h"

namespace motley {
namespace {

// The hash of a script or style, as a Content-Security-Policy names it: 'sha256-...'.
std::string source_hash(std::string_view text) {
  std::array<unsigned char, 32> hash{};
  MOTLEY_CHECK(EVP_Digest(text.data(), text.size(), hash.data(), nullptr, EVP_sha256(), nullptr),
               "no SHA-256");
  std::array<unsigned char, 45> base64{};  // 44 characters and a 0
  EVP_EncodeBlock(base64.data(), hash.data(), static_cast<int>(hash.size()));
  return fmt::format("'sha256-{}'", reinterpret_cast<const char*>(base64.data()));
}

// Images are allowed for the icon, which is part of the page.
std::string policy(bool live) {
  return fmt::format(
      "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
      "style-src {}; script-src {} {}{}",
      source_hash(kStyle), source_hash(kChartScript), source_hash(kPageScript),
      live ? "; connect-src 'self'" : "");
}

// Replaces every character of `special` by what `write` returns for it.
template <class Write>
std::string escaped(std::string_view text, std::string_view special, Write write) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    if (special.find(c) == std::string_view::npos) {
      result += c;
    } else {
      result += write(c);
    }
  }
  return result;
}

std::string html_text(std::string_view text) {
  return escaped(text, "<>&\"'", [](char c) { return fmt::format("&#{};", int{c}); });
}

// JSON that is safe inside a script element. < > & occur only in strings, where \u003c means the
// same. nlohmann escapes everything that is not ASCII.
std::string script_json(const nlohmann::ordered_json& value) {
  const std::string text =
      value.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  return escaped(text, "<>&", [](char c) { return fmt::format("\\u{:04x}", int{c}); });
}

using Parts = std::map<std::string_view, std::string_view>;

// Replaces each {{name}} of the template by its part. Parts are not expanded again.
std::string fill(std::string_view form, const Parts& parts) {
  std::string page;
  while (true) {
    const std::size_t open = form.find("{{");
    page += form.substr(0, open);
    if (open == std::string_view::npos) {
      return page;
    }
    const std::size_t close = form.find("}}", open);
    MOTLEY_CHECK(close != std::string_view::npos, "the template has {{{{ without }}}}");
    page += parts.at(form.substr(open + 2, close - open - 2));
    form.remove_prefix(close + 2);
  }
}

std::string page(std::string_view title, std::string_view runs, bool live) {
  const std::string heading = html_text(title);
  const std::string rules = policy(live);
  return fill(kTemplate, {{"title", heading},
                          {"policy", rules},
                          {"feed", live ? "events" : ""},
                          {"style", kStyle},
                          {"runs", runs},
                          {"chart_script", kChartScript},
                          {"page_script", kPageScript}});
}

}  // namespace

std::string report_page(const std::vector<nlohmann::ordered_json>& runs, std::string_view title) {
  std::string list = "[";
  for (const nlohmann::ordered_json& run : runs) {
    list += list.size() > 1 ? ",\n" : "";
    list += script_json(run);
  }
  return page(title, list + "]", false);
}

std::string live_page(std::string_view title) { return page(title, "[]", true); }

}  // namespace motley
