// SPDX-License-Identifier: Apache-2.0
// In which order are modules loaded and unloaded? A module is loaded after those whose symbols it
// uses and unloaded before them. NVIDIA's order of loading is fixed; /proc/modules shows the
// modules on top of it (GPUDirect Storage, GDRCopy).
#include "operands/driver/modules.h"

#include <algorithm>
#include <functional>
#include <set>

#include "base/text.h"

namespace gantry::driver {
namespace {

// name -> its users, from /proc/modules: "nvidia 56000 3 nvidia_uvm,nvidia_modeset, Live 0x0".
std::map<std::string, std::vector<std::string>> UsersOf(std::string_view proc_modules) {
  std::map<std::string, std::vector<std::string>> users;
  for (const std::string& line : Split(proc_modules, '\n')) {
    const std::vector<std::string> words = Split(line, ' ');
    if (words.size() < 4) {
      continue;
    }
    auto& list = users[words[0]];
    for (const std::string& user : Split(words[3], ',')) {
      if (!user.empty() && user != "-" && !user.starts_with('[')) {
        list.push_back(user);
      }
    }
  }
  return users;
}

}  // namespace

std::string KernelName(std::string_view module) {
  std::string name(module);
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string ModuleOfFile(std::string_view file_name) {
  for (const std::string_view ending : {".ko", ".ko.xz", ".ko.zst", ".ko.gz"}) {
    if (file_name.size() > ending.size() && file_name.ends_with(ending)) {
      return KernelName(file_name.substr(0, file_name.size() - ending.size()));
    }
  }
  return "";
}

Result<std::string> ModuleParameters(std::string_view file_name, std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  bool comment = false;
  const auto end_word = [&] {
    if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  };
  int line = 1;
  for (const char c : text) {
    if (c == '\n') {
      if (quoted) {
        return Fail(ErrorKind::kInvalid,
                    format("{}: line {}: quotes that do not end", file_name, line));
      }
      end_word();
      comment = false;
      ++line;
    } else if (comment) {
      continue;
    } else if (c == '#' && !quoted && word.empty()) {
      comment = true;
    } else if (!quoted && (c == ' ' || c == '\t' || c == '\r')) {
      end_word();
    } else if (static_cast<unsigned char>(c) < ' ') {
      return Fail(ErrorKind::kInvalid, format("{}: line {}: a control character", file_name, line));
    } else {
      quoted = quoted != (c == '"');
      word += c;
    }
  }
  if (quoted) {
    return Fail(ErrorKind::kInvalid,
                format("{}: line {}: quotes that do not end", file_name, line));
  }
  end_word();
  return Join(words, " ");
}

Result<std::vector<ModuleLoad>> LoadOrder(const std::vector<std::string>& names,
                                          const std::map<std::string, std::string>& files,
                                          const std::map<std::string, std::string>& parameters) {
  std::vector<ModuleLoad> order;
  for (const std::string& each : names) {
    const std::string name = KernelName(each);
    const auto file = files.find(name);
    if (file != files.end()) {
      const auto given = parameters.find(name);
      order.push_back({name, file->second, given == parameters.end() ? "" : given->second});
    } else if (order.empty()) {
      return Fail(ErrorKind::kNotFound,
                  format("there is no {}.ko among the driver's modules", each));
    }
  }
  return order;
}

std::vector<std::string> UnloadOrder(const std::vector<std::string>& names,
                                     std::string_view proc_modules) {
  const auto users = UsersOf(proc_modules);
  std::vector<std::string> order;
  std::set<std::string> seen;
  const std::function<void(const std::string&)> add = [&](const std::string& name) {
    const auto found = users.find(name);
    if (found == users.end() || !seen.insert(name).second) {
      return;
    }
    for (const std::string& user : found->second) {
      add(user);
    }
    order.push_back(name);
  };
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    add(KernelName(*name));
  }
  return order;
}

bool WantsFirmware(std::string_view parameters) {
  const std::vector<std::string> words = Split(parameters, ' ');
  return std::ranges::find(words, "NVreg_EnableGpuFirmware=0") == words.end();
}

}  // namespace gantry::driver
