// SPDX-License-Identifier: Apache-2.0
// What stories and benchmarks ask of a node from inside it. Prints lines of words:
//   list                      SPACE POD CONTAINER RESOURCE DEVICE  for each device that a pod holds
//   allocatable               RESOURCE DEVICE                      for each healthy device
//   allocatable --follow N    the time (seconds since 1970) at which N GPUs were allocatable
//   processes                 PID COMMAND VmHWM-KiB VOLUNTARY-SWITCHES API-CONNECTIONS, of our
//                             programs
//   register RUNS COMMAND...  milliseconds from posix_spawn of a plugin until its Register call, a
//                             line a run; "{}" in an argument becomes the kubelet's socket
//   allocate RUNS DEVICES SIZE COMMAND...  milliseconds of GetPreferredAllocation of SIZE of
//                             DEVICES, of Allocate of that answer, and of GetDevicePluginOptions,
//                             which asks for nothing, as a kubelet sees them, a line a run
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "gpu/pod_list.h"
#include "kubelet/folders.h"
#include "kubelet/pod_resources.h"
#include "kubelet/testing/fake_kubelet.h"
#include "policy/names.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

int Complain(std::string_view text) {
  fmt::print(stderr, "node_probe: {}\n", text);
  return 1;
}

int List() {
  const auto pods =
      gpu::ListPods(kubelet::PodResourcesSocket(names::kKubeletRoot), std::chrono::seconds(5));
  if (!pods) {
    return Complain(pods.error().message);
  }
  for (const auto& pod : *pods) {
    for (const auto& container : pod.containers) {
      for (const auto& devices : container.devices) {
        for (const std::string& id : devices.ids) {
          fmt::print("{} {} {} {} {}\n", pod.ns, pod.name, container.name, devices.resource, id);
        }
      }
    }
  }
  return 0;
}

// The distinct GPUs that the kubelet could give.
Result<std::set<std::pair<std::string, std::string>>> Gpus() {
  TRY_ASSIGN(const auto listed, kubelet::PodResourcesClient().Allocatable());
  std::set<std::pair<std::string, std::string>> gpus;
  for (const auto& devices : listed) {
    for (const std::string& id : devices.ids) {
      gpus.emplace(devices.resource, id);
    }
  }
  return gpus;
}

int Allocatable() {
  const auto gpus = Gpus();
  if (!gpus) {
    return Complain(gpus.error().message);
  }
  for (const auto& [resource, id] : *gpus) {
    fmt::print("{} {}\n", resource, id);
  }
  return 0;
}

int Follow(size_t count) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < deadline) {
    const auto gpus = Gpus();
    if (gpus && gpus->size() == count) {
      const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
      fmt::print("{:.4f}\n", now.count());
      return 0;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return Complain(format("not {} GPUs after 60 s", count));
}

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

long Field(const std::string& status, std::string_view key) {
  const size_t at = status.find(key);
  return at == std::string::npos ? 0 : std::strtol(status.c_str() + at + key.size(), nullptr, 10);
}

// Sockets in state ESTABLISHED (01) to port 443 or 6443 that this process has open.
size_t ApiConnections(const fs::path& process) {
  std::set<std::string> open;
  std::error_code ignored;
  for (const auto& fd : fs::directory_iterator(process / "fd", ignored)) {
    const std::string target = fs::read_symlink(fd, ignored).string();
    if (target.starts_with("socket:[")) {
      open.insert(target.substr(8, target.size() - 9));
    }
  }
  size_t connections = 0;
  for (const char* table : {"tcp", "tcp6"}) {
    for (const std::string& line : Split(ReadAll(process / "net" / table), '\n')) {
      Words words;
      for (std::string& word : Split(line, ' ')) {
        if (!word.empty()) {
          words.push_back(std::move(word));
        }
      }
      if (words.size() > 9 && words[3] == "01" && open.contains(words[9])) {
        const long port =
            std::strtol(words[2].substr(words[2].rfind(':') + 1).c_str(), nullptr, 16);
        connections += port == 443 || port == 6443 ? 1 : 0;
      }
    }
  }
  return connections;
}

int Processes() {
  std::error_code ignored;
  for (const auto& process : fs::directory_iterator("/proc", ignored)) {
    const std::string pid = process.path().filename();
    if (!ParseInt(pid) ||
        fs::read_symlink(process.path() / "exe", ignored).filename() != "gantry") {
      continue;
    }
    long switches = 0;
    for (const auto& task : fs::directory_iterator(process.path() / "task", ignored)) {
      switches += Field(ReadAll(task.path() / "status"), "\nvoluntary_ctxt_switches:");
    }
    const std::string command_line = ReadAll(process.path() / "cmdline");
    const std::string command = command_line.substr(0, command_line.find('\0'));
    fmt::print("{} {} {} {} {}\n", pid, fs::path(command).filename().string(),
               Field(ReadAll(process.path() / "status"), "VmHWM:"), switches,
               ApiConnections(process.path()));
  }
  return 0;
}

int Register(long long runs, Words command) {
  const fs::path folder = fs::temp_directory_path() / format("node_probe-{}", getpid());
  fs::create_directories(folder);
  kubelet::FakeKubelet kubelet(folder);
  kubelet.Start();
  std::vector<char*> arguments;
  for (std::string& word : command) {
    if (const size_t at = word.find("{}"); at != std::string::npos) {
      word.replace(at, 2, (folder / "kubelet.sock").string());
    }
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  int failed = 0;
  for (; runs > 0 && failed == 0; --runs) {
    const int before = kubelet.registrations();
    const auto start = std::chrono::steady_clock::now();
    pid_t child = 0;
    if (posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0) {
      failed = Complain(format("cannot start {}", command[0]));
      break;
    }
    while (kubelet.registrations() == before) {
      if (std::chrono::steady_clock::now() > start + std::chrono::seconds(10)) {
        failed = Complain(format("{} did not register within 10 s", command[0]));
        break;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    fmt::print("{:.3f}\n", took.count());
    kill(child, SIGTERM);
    waitpid(child, nullptr, 0);
  }
  kubelet.Stop();
  fs::remove_all(folder);
  return failed;
}

// Starts the command beside a kubelet; "{}" in an argument becomes the kubelet's socket.
class Beside {
 public:
  explicit Beside(Words command)
      : folder_(fs::temp_directory_path() / format("node_probe-{}", getpid())) {
    fs::create_directories(folder_);
    kubelet_ = std::make_unique<kubelet::FakeKubelet>(folder_);
    kubelet_->Start();
    std::vector<char*> arguments;
    for (std::string& word : command) {
      if (const size_t at = word.find("{}"); at != std::string::npos) {
        word.replace(at, 2, (folder_ / "kubelet.sock").string());
      }
      arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    posix_spawn(&child_, arguments[0], nullptr, nullptr, arguments.data(), environ);
  }
  ~Beside() {
    if (child_ > 0) {
      kill(child_, SIGTERM);
      waitpid(child_, nullptr, 0);
    }
    kubelet_.reset();
    fs::remove_all(folder_);
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
  kubelet::FakeKubelet& kubelet() { return *kubelet_; }

 private:
  const fs::path folder_;
  std::unique_ptr<kubelet::FakeKubelet> kubelet_;
  pid_t child_ = 0;
};

int Allocate(long long runs, size_t devices, int size, Words command) {
  constexpr char kResource[] = "nvidia.com/gpu";
  Beside plugin(std::move(command));
  if (!plugin.kubelet().WaitFor(kResource,
                                [devices](const auto& seen) { return seen.size() == devices; })) {
    return Complain(format("no {} devices within 10 s", devices));
  }
  kubelet::PreferredRequest request{.available = {}, .required = {}, .size = size};
  for (const auto& device : plugin.kubelet().Devices(kResource)) {
    request.available.push_back(device.id);
  }
  const auto timed = [](const auto& call) {
    const auto start = std::chrono::steady_clock::now();
    const bool answered = call();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    return answered ? took.count() : -1;
  };
  for (; runs > 0; --runs) {
    std::vector<std::string> chosen;
    const double preferred = timed([&] {
      chosen = plugin.kubelet().Prefer(kResource, request).value_or(std::vector<std::string>());
      return chosen.size() == static_cast<size_t>(size);
    });
    const double allocated =
        timed([&] { return plugin.kubelet().Allocate(kResource, chosen).has_value(); });
    const double nothing =
        timed([&] { return plugin.kubelet().AskNothing(kResource).has_value(); });
    if (preferred < 0 || allocated < 0 || nothing < 0) {
      return Complain("the plugin refused");
    }
    fmt::print("{:.4f} {:.4f} {:.4f}\n", preferred, allocated, nothing);
  }
  return 0;
}

int Main(const Words& words) {
  if (words == Words{"list"}) {
    return List();
  }
  if (words == Words{"allocatable"}) {
    return Allocatable();
  }
  if (words.size() == 3 && words[0] == "allocatable" && words[1] == "--follow") {
    return Follow(static_cast<size_t>(ParseInt(words[2]).value_or(0)));
  }
  if (words == Words{"processes"}) {
    return Processes();
  }
  if (words.size() >= 3 && words[0] == "register" && ParseInt(words[1]).value_or(0) > 0) {
    return Register(*ParseInt(words[1]), Words(words.begin() + 2, words.end()));
  }
  if (words.size() >= 5 && words[0] == "allocate" && ParseInt(words[1]).value_or(0) > 0) {
    return Allocate(*ParseInt(words[1]), static_cast<size_t>(ParseInt(words[2]).value_or(0)),
                    static_cast<int>(ParseInt(words[3]).value_or(0)),
                    Words(words.begin() + 4, words.end()));
  }
  fmt::print(stderr,
             "usage: node_probe list | allocatable [--follow N] | processes | "
             "register RUNS COMMAND... | allocate RUNS DEVICES SIZE COMMAND...\n");
  return 2;
}

}  // namespace
}  // namespace gantry

int main(int argc, char** argv) { return gantry::Main({argv + 1, argv + argc}); }
