// SPDX-License-Identifier: Apache-2.0
// The table of nvidia-ctk's commands. Names and flags are NVIDIA's, so that scripts and unit files
// that call it go on working.
#include "operands/container_runtime/toolkit_cli.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/paths.h"
#include "base/text.h"
#include "host/files.h"
#include "operands/container_runtime/config_place.h"
#include "operands/container_runtime/hooks.h"
#include "operands/container_runtime/inject.h"

namespace gantry::container_runtime {
namespace {

struct Entry {
  std::string_view path;  // words between spaces
  Status (*run)(const CliCall& call);
  std::string_view help;
};

constexpr std::array kEntries = {
    Entry{"cdi generate", CdiGenerate, "write the CDI document of this node's GPUs"},
    Entry{"cdi list", CdiList, "list the devices of the CDI documents"},
    Entry{"cdi transform root", CdiTransformRoot, "put other roots into a CDI document"},
    Entry{"runtime configure", RuntimeConfigure, "give a container engine the NVIDIA runtime"},
    Entry{"config", ConfigCommand, "print or change config.toml"},
    Entry{"system create-device-nodes", CreateDeviceNodes, "make NVIDIA's control device nodes"},
    Entry{"system create-dev-char-symlinks", CreateDevCharSymlinks,
          "link /dev/char/<major>:<minor> to NVIDIA's device nodes"},
    Entry{"system print-ldcache", PrintLibraryCache, "print the libraries that ld.so.cache lists"},
    Entry{"info", PrintInfo, "print what is known of the driver and the GPUs"},
};

std::optional<std::string> FromProcess(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void PrintUsage(std::FILE* out) {
  std::fprintf(out, "usage: nvidia-ctk [--debug] [--quiet] [--config FILE] COMMAND ...\n");
  for (const Entry& entry : kEntries) {
    std::fprintf(out, "  %-32s %s\n", std::string(entry.path).c_str(),
                 std::string(entry.help).c_str());
  }
  std::fprintf(out, "  %-32s %s\n", "hook NAME ...", "run a hook of a CDI document");
}

int WrongUsage() {
  PrintUsage(stderr);
  return 1;
}

bool AsksForHelp(const std::vector<std::string>& words) {
  return words.empty() || words.front() == "help" || words.front() == "h" ||
         std::ranges::any_of(words, [](const std::string& word) {
           return word == "--help" || word == "-help" || word == "-h";
         });
}

// How many of the words are the entry's path; 0 if it is another's.
size_t Matches(const Entry& entry, const std::vector<std::string>& words) {
  const std::vector<std::string> path = Split(entry.path, ' ');
  const bool same =
      words.size() >= path.size() && std::equal(path.begin(), path.end(), words.begin());
  return same ? path.size() : 0;
}

// Takes the flags before the command off; false at one that is not known or has no such value.
bool TakeGlobalFlags(std::vector<std::string>& words, bool& quiet) {
  quiet = ParseBool(FromProcess("NVIDIA_CTK_QUIET").value_or("false")).value_or(false);
  while (!words.empty() && words.front().starts_with("-")) {
    std::string word = words.front();
    words.erase(words.begin());
    word.erase(0, word.find_first_not_of('-'));
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (name == "config" && (equals != std::string::npos || !words.empty())) {
      const std::string value =
          equals != std::string::npos ? word.substr(equals + 1) : words.front();
      words.erase(words.begin(), words.begin() + (equals == std::string::npos ? 1 : 0));
      ::setenv("NVIDIA_CTK_CONFIG_FILE_PATH", value.c_str(), 1);
    } else if (name == "quiet") {
      const auto on = ParseBool(equals == std::string::npos ? "true" : word.substr(equals + 1));
      if (!on) {
        return false;
      }
      quiet = *on;
    } else if (name != "debug" && name != "d") {
      return false;
    }
  }
  return true;
}

}  // namespace

Status PutOutput(const std::string& path, const std::string& text) {
  if (path.empty() || path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return std::fflush(stdout) == 0 ? Status{} : FailErrno("write standard output", errno);
  }
  TRY(host::MakeDirectories(ParentOf(path)));
  return host::WriteFileAtomic(path, text);
}

Status PrintInfo(const CliCall& call) {
  TRY_ASSIGN(const FlagWords flags, FlagWords::Parse(call.words, {}, call.environment));
  TRY_ASSIGN(const RuntimeConfig settings, LoadConfig());
  TRY_ASSIGN(const container::NodeInventory inventory, FindInventory(settings, {}));
  std::string text =
      format("driver root:    {}\ndriver version: {}\ncuda version:   {}\n",
             inventory.driver.host_root, inventory.files.version, inventory.driver.cuda_version);
  for (const container::CdiGpu& gpu : inventory.gpus) {
    text += format("gpu {}: {} {} /dev/nvidia{}\n", gpu.index, gpu.uuid, gpu.pci_bus_id, gpu.minor);
    for (const container::CdiMig& mig : gpu.mig) {
      text += format("  mig {}:{}: {}\n", gpu.index, mig.index, mig.uuid);
    }
  }
  return PutOutput("", text);
}

int RunToolkitCli(const std::string& name, const std::vector<std::string>& words) {
  if (AsksForHelp(words)) {
    PrintUsage(stdout);
    return 0;
  }
  std::vector<std::string> rest = words;
  CliCall call;
  call.environment = FromProcess;
  if (const auto config = FromProcess("NVIDIA_CTK_CONFIG"); config && !config->empty()) {
    ::setenv("NVIDIA_CTK_CONFIG_FILE_PATH", config->c_str(), 1);
  }
  if (!TakeGlobalFlags(rest, call.quiet)) {
    return WrongUsage();
  }
  if (!rest.empty() && rest.front() == "hook") {
    return RunCdiHook(name, {rest.begin() + 1, rest.end()});
  }
  for (const Entry& entry : kEntries) {
    const size_t used = Matches(entry, rest);
    if (used == 0) {
      continue;
    }
    call.words.assign(rest.begin() + static_cast<std::ptrdiff_t>(used), rest.end());
    if (const Status done = entry.run(call); !done) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), done.error().message.c_str());
      return 1;
    }
    return 0;
  }
  return WrongUsage();
}

}  // namespace gantry::container_runtime
