// SPDX-License-Identifier: Apache-2.0
// Which commands does nvidia-ctk have? Names and flags are NVIDIA's, so that scripts and unit files
// that call it keep working.
#include "operands/container_runtime/toolkit_cli.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/environment.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/files.h"
#include "operands/container_runtime/config_place.h"
#include "operands/container_runtime/hooks.h"
#include "operands/container_runtime/inject.h"

namespace gantry::container_runtime {
namespace {

struct Entry {
  std::string_view path;  // words separated by spaces
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

void PrintUsage(std::FILE* out) {
  std::fprintf(out, "usage: nvidia-ctk [--debug] [--quiet] [--config FILE] COMMAND ...\n");
  for (const Entry& entry : kEntries) {
    std::fprintf(out, "  %-32s %s\n", std::string(entry.path).c_str(),
                 std::string(entry.help).c_str());
  }
  std::fprintf(out, "  %-32s %s\n", "hook NAME ...", "run a hook of a CDI document");
}

int WrongUsage(const std::string& name, const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", name.c_str(), what.c_str());
  PrintUsage(stderr);
  return 1;
}

bool AsksForHelp(const std::vector<std::string>& words) {
  return words.empty() || words.front() == "help" || words.front() == "h" ||
         std::ranges::any_of(words, [](const std::string& word) {
           return word == "--help" || word == "-help" || word == "-h";
         });
}

// The name of a command: the words before the first flag.
std::string CommandOf(const std::vector<std::string>& words) {
  const auto end = std::find_if(words.begin() + 1, words.end(),
                                [](const std::string& word) { return word.starts_with('-'); });
  return Join({words.begin(), end}, " ");
}

// How many of the words are the entry's path; 0 if they do not match.
size_t Matches(const Entry& entry, const std::vector<std::string>& words) {
  const std::vector<std::string> path = Split(entry.path, ' ');
  const bool same =
      words.size() >= path.size() && std::equal(path.begin(), path.end(), words.begin());
  return same ? path.size() : 0;
}

// Removes the flags before the command from `words`. kInvalid as FlagWords::Parse.
Result<FlagWords> TakeGlobalFlags(std::vector<std::string>& words) {
  size_t end = 0;
  while (end < words.size() && words[end].starts_with('-') && words[end] != "-") {
    const bool separate = words[end] == "--config" || words[end] == "-config";
    end = std::min(end + (separate ? 2 : 1), words.size());
  }
  const auto command = words.begin() + static_cast<std::ptrdiff_t>(end);
  const std::vector<std::string> before(words.begin(), command);
  words.erase(words.begin(), command);
  return FlagWords::Parse(before,
                          {{{"debug", "d"}, Flag::Takes::kNothing},
                           {{"quiet"}, Flag::Takes::kNothing, {"NVIDIA_CTK_QUIET"}},
                           {{"config"}, Flag::Takes::kValue, {"NVIDIA_CTK_CONFIG"}}},
                          EnvironmentVariable);
}

}  // namespace

void Say(const CliCall& call, const std::string& text) {
  if (!call.quiet) {
    std::fprintf(stderr, "nvidia-ctk: %s\n", text.c_str());
  }
}

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
  call.environment = EnvironmentVariable;
  const auto flags = TakeGlobalFlags(rest);
  if (!flags) {
    return WrongUsage(name, flags.error().message);
  }
  call.quiet = flags->On("quiet");
  if (const std::string config = flags->Text("config"); !config.empty()) {
    ::setenv("NVIDIA_CTK_CONFIG_FILE_PATH", config.c_str(), 1);
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
  return WrongUsage(name, rest.empty()
                              ? "a command is missing"
                              : format("read {}: there is no such command", CommandOf(rest)));
}

}  // namespace gantry::container_runtime
