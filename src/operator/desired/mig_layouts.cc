// SPDX-License-Identifier: Apache-2.0

// Which layouts can a node's label name? One for each profile of every MIG capable GPU, with as
// many instances as fit, and all-balanced. A name whose layout differs between GPUs lists the PCI
// devices of each.

#include "operator/desired/mig_layouts.h"

#include <array>
#include <string_view>

#include "base/text.h"

namespace gantry::gpu_operator {
namespace {

struct Layout {
  std::string_view name;
  std::string_view devices;    // PCI ids separated by spaces; empty: any
  std::string_view instances;  // "profile*count" separated by spaces
};

constexpr std::string_view k80Gb =
    "0x233010DE 0x233110DE 0x232210DE 0x20B210DE 0x20B510DE 0x20F310DE 0x20F510DE 0x232410DE";
constexpr std::string_view k40Gb = "0x20B010DE 0x20B110DE 0x20F110DE 0x20F610DE";
constexpr std::string_view k96Gb = "0x234210DE 0x233D10DE 0x20B610DE 0x232910DE";

// Layouts of one name are adjacent.
constexpr std::array kLayouts = std::to_array<Layout>({
    {"all-1g.10gb", k80Gb, "1g.10gb*7"},
    {"all-1g.10gb", k40Gb, "1g.10gb*4"},
    {"all-1g.10gb.me", "", "1g.10gb+me*1"},
    {"all-1g.12gb", "", "1g.12gb*7"},
    {"all-1g.12gb.me", "", "1g.12gb+me*1"},
    {"all-1g.18gb", "", "1g.18gb*7"},
    {"all-1g.18gb.me", "", "1g.18gb+me*1"},
    {"all-1g.20gb", "", "1g.20gb*4"},
    {"all-1g.23gb", "", "1g.23gb*7"},
    {"all-1g.23gb.me", "", "1g.23gb+me*1"},
    {"all-1g.24gb", "", "1g.24gb*4"},
    {"all-1g.24gb-me", "", "1g.24gb-me*4"},
    {"all-1g.24gb.gfx", "", "1g.24gb+gfx*4"},
    {"all-1g.24gb.me", "", "1g.24gb+me*1"},
    {"all-1g.24gb.me.all", "", "1g.24gb+me.all*1"},
    {"all-1g.34gb", "", "1g.34gb*7"},
    {"all-1g.34gb.me", "", "1g.34gb+me*1"},
    {"all-1g.35gb", "0x233510DE 0x233B10DE", "1g.35gb*4"},
    {"all-1g.35gb", "0x31C210DE", "1g.35gb*7"},
    {"all-1g.35gb.me", "", "1g.35gb+me*1"},
    {"all-1g.36gb", "", "1g.36gb*4"},
    {"all-1g.45gb", "", "1g.45gb*4"},
    {"all-1g.47gb", "", "1g.47gb*4"},
    {"all-1g.5gb", "", "1g.5gb*7"},
    {"all-1g.5gb.me", "", "1g.5gb+me*1"},
    {"all-1g.67gb", "", "1g.67gb*4"},
    {"all-1g.6gb", "", "1g.6gb*4"},
    {"all-1g.6gb.me", "", "1g.6gb+me*1"},
    {"all-1g.70gb", "", "1g.70gb*4"},
    {"all-2g.10gb", "", "2g.10gb*3"},
    {"all-2g.12gb", "", "2g.12gb*2"},
    {"all-2g.12gb.me", "", "2g.12gb+me*1"},
    {"all-2g.20gb", "", "2g.20gb*3"},
    {"all-2g.24gb", "", "2g.24gb*3"},
    {"all-2g.35gb", "", "2g.35gb*3"},
    {"all-2g.36gb", "", "2g.36gb*3"},
    {"all-2g.45gb", "", "2g.45gb*3"},
    {"all-2g.47gb", "", "2g.47gb*3"},
    {"all-2g.48gb", "", "2g.48gb*2"},
    {"all-2g.48gb-me", "", "2g.48gb-me*2"},
    {"all-2g.48gb.gfx", "", "2g.48gb+gfx*2"},
    {"all-2g.48gb.me.all", "", "2g.48gb+me.all*1"},
    {"all-2g.67gb", "", "2g.67gb*3"},
    {"all-2g.70gb", "", "2g.70gb*3"},
    {"all-3g.135gb", "", "3g.135gb*2"},
    {"all-3g.139gb", "", "3g.139gb*2"},
    {"all-3g.20gb", "", "3g.20gb*2"},
    {"all-3g.40gb", "", "3g.40gb*2"},
    {"all-3g.47gb", "", "3g.47gb*2"},
    {"all-3g.48gb", "", "3g.48gb*2"},
    {"all-3g.71gb", "", "3g.71gb*2"},
    {"all-3g.72gb", "", "3g.72gb*2"},
    {"all-3g.90gb", "", "3g.90gb*2"},
    {"all-3g.93gb", "", "3g.93gb*2"},
    {"all-3g.95gb", "", "3g.95gb*2"},
    {"all-4g.135gb", "", "4g.135gb*1"},
    {"all-4g.139gb", "", "4g.139gb*1"},
    {"all-4g.20gb", "", "4g.20gb*1"},
    {"all-4g.24gb", "", "4g.24gb*1"},
    {"all-4g.40gb", "", "4g.40gb*1"},
    {"all-4g.47gb", "", "4g.47gb*1"},
    {"all-4g.48gb", "", "4g.48gb*1"},
    {"all-4g.71gb", "", "4g.71gb*1"},
    {"all-4g.72gb", "", "4g.72gb*1"},
    {"all-4g.90gb", "", "4g.90gb*1"},
    {"all-4g.93gb", "", "4g.93gb*1"},
    {"all-4g.95gb", "", "4g.95gb*1"},
    {"all-4g.96gb", "", "4g.96gb*1"},
    {"all-4g.96gb.gfx", "", "4g.96gb+gfx*1"},
    {"all-7g.141gb", "", "7g.141gb*1"},
    {"all-7g.144gb", "", "7g.144gb*1"},
    {"all-7g.180gb", "", "7g.180gb*1"},
    {"all-7g.186gb", "", "7g.186gb*1"},
    {"all-7g.189gb", "", "7g.189gb*1"},
    {"all-7g.269gb", "", "7g.269gb*1"},
    {"all-7g.278gb", "", "7g.278gb*1"},
    {"all-7g.40gb", "", "7g.40gb*1"},
    {"all-7g.80gb", "", "7g.80gb*1"},
    {"all-7g.94gb", "", "7g.94gb*1"},
    {"all-7g.96gb", "", "7g.96gb*1"},
    {"all-balanced", "0x294110DE", "1g.23gb*2 2g.47gb*1 3g.93gb*1"},
    {"all-balanced", "0x2BB510DE", "1g.24gb*2 2g.48gb*1"},
    {"all-balanced", "0x290110DE", "1g.23gb*2 2g.45gb*1 3g.90gb*1"},
    {"all-balanced", "0x234810DE", "1g.18gb*2 2g.36gb*1 3g.72gb*1"},
    {"all-balanced", "0x233510DE 0x233B10DE", "1g.18gb*2 2g.35gb*1 3g.71gb*1"},
    {"all-balanced", "0x232110DE 0x233A10DE", "1g.12gb*2 2g.24gb*1 3g.47gb*1"},
    {"all-balanced", k80Gb, "1g.10gb*2 2g.20gb*1 3g.40gb*1"},
    {"all-balanced", k40Gb, "1g.5gb*2 2g.10gb*1 3g.20gb*1"},
    {"all-balanced", "0x20B710DE", "1g.6gb*2 2g.12gb*1"},
    {"all-balanced", k96Gb, "1g.12gb*2 2g.24gb*1 3g.48gb*1"},
    {"all-balanced", "0x318210DE", "1g.34gb*2 2g.67gb*1 3g.135gb*1"},
    {"all-balanced", "0x31C210DE", "1g.35gb*2 2g.70gb*1 3g.139gb*1"},
});

std::string Filter(std::string_view devices) {
  std::string text;
  for (const std::string& device : Split(devices, ' ')) {
    text += format("{}\"{}\"", text.empty() ? "" : ", ", device);
  }
  return text;
}

}  // namespace

std::string MigLayouts() {
  std::string text =
      "version: v1\n"
      "mig-configs:\n"
      "  all-disabled:\n"
      "  - devices: all\n"
      "    mig-enabled: false\n"
      "  all-enabled:\n"
      "  - devices: all\n"
      "    mig-enabled: true\n"
      "    mig-devices: {}\n";
  std::string_view before;
  for (const Layout& layout : kLayouts) {
    if (layout.name != before) {
      text += format("  {}:\n", layout.name);
      before = layout.name;
    }
    text += "  - ";
    if (!layout.devices.empty()) {
      text += format("device-filter: [{}]\n    ", Filter(layout.devices));
    }
    text += "devices: all\n    mig-enabled: true\n    mig-devices:\n";
    for (const std::string& instance : Split(layout.instances, ' ')) {
      const size_t star = instance.find('*');
      text += format("      \"{}\": {}\n", instance.substr(0, star), instance.substr(star + 1));
    }
  }
  return text;
}

}  // namespace gantry::gpu_operator
