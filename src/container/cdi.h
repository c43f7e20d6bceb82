// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"

// Documents of the Container Device Interface (CDI,
// github.com/cncf-tags/container-device-interface, SPEC.md 0.7): what a runtime adds to a container
// that requests `<vendor>/<class>=<device>`.
namespace gantry::container {

struct CdiDeviceNode {
  std::string path;       // in the container
  std::string host_path;  // empty: the same as `path`
  // Optional in a document; if absent, the host's node decides.
  std::string type = {};  // "c", "b", "u", "p"
  std::optional<long long> major = {};
  std::optional<long long> minor = {};
  std::optional<unsigned> file_mode = {};
  std::string permissions = {};  // of the device cgroup; empty: "rwm"
  std::optional<unsigned> uid = {};
  std::optional<unsigned> gid = {};
  auto operator<=>(const CdiDeviceNode&) const = default;
};

struct CdiMount {
  std::string host_path;
  std::string container_path;
  std::vector<std::string> options;
  std::string type = {};  // empty: "bind"
  auto operator<=>(const CdiMount&) const = default;
};

struct CdiHook {
  std::string name;  // "createContainer", ...
  std::string path;  // on the host
  std::vector<std::string> args;
  std::vector<std::string> env;
  std::optional<long long> timeout = {};  // seconds
  auto operator<=>(const CdiHook&) const = default;
};

struct CdiEdits {
  std::vector<std::string> env;  // "NAME=value"
  std::vector<CdiDeviceNode> device_nodes;
  std::vector<CdiMount> mounts;
  std::vector<CdiHook> hooks;
  std::vector<unsigned> additional_gids = {};  // of the container's process
  // `intelRdt` and `netDevices` as their JSON text, passed on unchanged; empty: none.
  std::string intel_rdt = {};
  std::string net_devices = {};
  auto operator<=>(const CdiEdits&) const = default;
};

struct CdiDevice {
  std::string name;
  CdiEdits edits;
  std::map<std::string, std::string> annotations = {};
};

struct CdiSpec {
  std::string kind;  // "<vendor>/<class>"
  std::vector<CdiDevice> devices;
  CdiEdits edits;  // for every container that gets any of the devices
  std::map<std::string, std::string> annotations = {};
  std::string version = {};  // as read; written as the oldest version that has everything in it
};

// The document as a file: JSON (which every YAML reader accepts too), two spaces, a line feed at
// the end. The same spec always gives the same bytes.
std::string CdiText(const CdiSpec& spec);
Json CdiJson(const CdiSpec& spec);

// The same as YAML, as NVIDIA's nvidia-ctk writes it.
std::string CdiYaml(const CdiSpec& spec);

// Reads a document in JSON or YAML. kInvalid names the field; kUnsupported names one that no
// version up to 1.1.0 has: it is rejected, not dropped.
Result<CdiSpec> ParseCdi(std::string_view text);

// "vendor/class=name" -> its two parts; nullopt if it is not a qualified name: all three are
// letters and digits, with `_`, `-`, `.` (in a device's also `:`) between them, vendor and class
// begin with a letter (CDI's pkg/parser).
struct CdiName {
  std::string kind;
  std::string device;
};
std::optional<CdiName> ParseCdiName(std::string_view text);

// Adds what `from` holds to `to`.
void AppendEdits(const CdiEdits& from, CdiEdits& to);

// "<vendor>-<class>" as in the file names under /var/run/cdi ("k8s.device-plugin.nvidia.com-gpu").
std::string CdiFileStem(std::string_view kind);

}  // namespace gantry::container
