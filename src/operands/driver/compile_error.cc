// SPDX-License-Identifier: Apache-2.0
// Why do these sources not compile? A kernel that is newer than a driver gives thousands of lines;
// the first error names the changed kernel interface. make's own errors follow from it.
#include "operands/driver/compile_error.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace gantry::driver {
namespace {

constexpr size_t kLongest = 300;

// Error prefixes of compilers, of the linker and of the kernel's own checks.
constexpr std::array<std::string_view, 6> kOfTools = {": error: ",        ": fatal error: ",
                                                      "ERROR: modpost: ", "undefined reference",
                                                      "ld: cannot find",  "command not found"};

bool IsOfATool(std::string_view line) {
  return std::ranges::any_of(kOfTools, [line](std::string_view words) {
    return line.find(words) != std::string_view::npos;
  });
}

// "make[2]: *** [Makefile:5: all] Error 2", "Makefile:12: *** no headers.  Stop."
bool IsOfMake(std::string_view line) { return line.find("*** ") != std::string_view::npos; }

std::string OneLine(std::string_view line, std::string_view folder) {
  std::string text(Trim(line));
  if (!folder.empty()) {
    const std::string prefix = folder.ends_with('/') ? std::string(folder) : format("{}/", folder);
    for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) {
      text.erase(at, prefix.size());
    }
  }
  std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  if (text.size() > kLongest) {
    size_t end = kLongest - 3;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
      --end;  // not inside a UTF-8 character (gcc's quotes)
    }
    text.resize(end);
    text += "...";
  }
  return text;
}

}  // namespace

std::string FirstError(std::string_view log, std::string_view folder) {
  std::string_view of_make;
  std::string_view last;
  while (!log.empty()) {
    const size_t end = log.find('\n');
    const std::string_view line = Trim(log.substr(0, end));
    log.remove_prefix(end == std::string_view::npos ? log.size() : end + 1);
    if (IsOfATool(line)) {
      return OneLine(line, folder);
    }
    if (of_make.empty() && IsOfMake(line)) {
      of_make = line;
    }
    if (!line.empty()) {
      last = line;
    }
  }
  return OneLine(of_make.empty() ? last : of_make, folder);
}

}  // namespace gantry::driver
