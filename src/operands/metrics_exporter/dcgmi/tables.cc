// SPDX-License-Identifier: Apache-2.0
// How is it printed? Scripts look for GPUs, for rows that begin with "GPU", and for "Healthy",
// "Warning" and "Failure".
#include "operands/metrics_exporter/dcgmi/tables.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "operands/metrics_exporter/field_ids.h"

namespace gantry::dcgmi {
namespace {

constexpr size_t kFirstColumn = 10;
constexpr size_t kColumn = 12;
constexpr unsigned kLastField = 2000;

// DCGM's short names of the fields that are asked for most, and their units.
struct Column {
  unsigned id;
  std::string_view name;
  std::string_view unit;
};
constexpr auto kColumns = std::to_array<Column>({
    {100, "SMCLK", ""},     {101, "MMCLK", ""},     {110, "SACLK", ""},   {111, "MACLK", ""},
    {140, "MMTMP", "C"},    {150, "TMPTR", "C"},    {155, "POWER", "W"},  {156, "TOTEC", "mJ"},
    {200, "TXTPT", "KB/s"}, {201, "RXTPT", "KB/s"}, {202, "RPCTR", "#"},  {203, "GPUTL", "%"},
    {204, "MCUTL", "%"},    {230, "XIDER", ""},     {250, "FBTTL", "MB"}, {251, "FBFRE", "MB"},
    {252, "FBUSD", "MB"},   {1001, "GRACT", ""},    {1002, "SMACT", ""},  {1003, "SMOCC", ""},
    {1004, "TENSO", ""},    {1005, "DRAMA", ""},    {1006, "FP64A", ""},  {1007, "FP32A", ""},
    {1008, "FP16A", ""},    {1009, "PCITX", ""},    {1010, "PCIRX", ""},  {1011, "NVLTX", ""},
    {1012, "NVLRX", ""},
});

Column ColumnOf(unsigned id) {
  const auto* const found = std::ranges::find(kColumns, id, &Column::id);
  return found == kColumns.end() ? Column{id, "", ""} : *found;
}

std::string Plural(size_t count, std::string_view one, std::string_view many) {
  return format("{} {} found.\n", count, count == 1 ? one : many);
}

// A box of one or two columns: its lines, between rules.
std::string Rule(char line, const std::vector<size_t>& widths) {
  std::string text = "+";
  for (const size_t width : widths) {
    text += std::string(width, line) + "+";
  }
  return text + "\n";
}

std::string Line(const std::vector<std::pair<std::string, size_t>>& cells) {
  std::string text = "|";
  for (const auto& [cell, width] : cells) {
    text += format(" {:<{}}|", cell, width - 1);
  }
  return text + "\n";
}

// Lists of what the exporter knows nothing of: their heads alone.
std::string EmptyList(std::string_view found, std::string_view head, size_t width) {
  const std::string rule = Rule('-', {width});
  return format("{}\n{}{}{}{}", found, rule, Line({{std::string(head), width}}), rule, rule);
}

std::string NumberOf(const Json& value, bool whole) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  if (!value.is_number()) {
    return "N/A";
  }
  const double number = value.get<double>();
  return whole ? format("{:.0f}", number) : format("{:.3f}", number);
}

// What a watch is called in a report.
std::string_view SystemOf(std::string_view watch) {
  struct Name {
    std::string_view watch;
    std::string_view system;
  };
  constexpr auto kNames = std::to_array<Name>({{"PCIE", "PCIe system"},
                                               {"NVLINK", "NVLINK system"},
                                               {"PMU", "PMU system"},
                                               {"MCU", "MCU system"},
                                               {"MEM", "Memory system"},
                                               {"SM", "SM system"},
                                               {"INFOROM", "InfoROM system"},
                                               {"THERMAL", "Thermal system"},
                                               {"POWER", "Power system"},
                                               {"DRIVER", "Driver"}});
  const auto* const found = std::ranges::find(kNames, watch, &Name::watch);
  return found == kNames.end() ? "All systems" : found->system;
}

std::string_view VerdictOf(long long verdict) {
  return verdict <= 0 ? "Healthy" : verdict <= 10 ? "Warning" : "Failure";
}

struct Incident {
  std::string system;
  long long verdict;
  std::string code;
};

struct SickGpu {
  std::string index;
  long long verdict;
  std::vector<Incident> incidents;
};

std::vector<SickGpu> SickGpus(const Json& health) {
  constexpr long long kFailure = 20;
  std::vector<SickGpu> sick;
  for (const Json& gpu : ListAt(health, "gpus")) {
    SickGpu one{.index = std::to_string(IntAt(gpu, "index", 0)), .verdict = 0, .incidents = {}};
    if (BoolAt(gpu, "lost", false)) {
      one.incidents.push_back({"Driver", kFailure, "the GPU does not answer"});
    }
    for (const Json& watch : ListAt(gpu, "watches")) {
      // Numbers come as 20.0 or 20.
      const Json* said = At(watch, "verdict");
      const auto verdict =
          said != nullptr && said->is_number() ? static_cast<long long>(said->get<double>()) : 0;
      if (verdict > 0) {
        one.incidents.push_back(
            {std::string(SystemOf(TextAt(watch, "watch"))), verdict, TextAt(watch, "code")});
      }
    }
    for (const Incident& incident : one.incidents) {
      one.verdict = std::max(one.verdict, incident.verdict);
    }
    if (one.verdict > 0) {
      sick.push_back(std::move(one));
    }
  }
  return sick;
}

long long WorstOf(const std::vector<SickGpu>& sick) {
  long long worst = 0;
  for (const SickGpu& gpu : sick) {
    worst = std::max(worst, gpu.verdict);
  }
  return worst;
}

}  // namespace

std::string DiscoveryText(const Json& devices) {
  const std::vector<size_t> widths = {8, 70};
  const Json& gpus = ListAt(devices, "gpus");
  std::string text = Plural(gpus.size(), "GPU", "GPUs");
  const auto line = [&](const std::string& id, const std::string& said) {
    text += Line({{id, widths[0]}, {said, widths[1]}});
  };
  text += Rule('-', widths);
  line("GPU ID", "Device Information");
  text += Rule('-', widths);
  for (const Json& gpu : gpus) {
    line(std::to_string(IntAt(gpu, "index", 0)), "Name: " + TextAt(gpu, "name"));
    line("", "PCI Bus ID: " + TextAt(gpu, "bus_id"));
    line("", "Device UUID: " + TextAt(gpu, "uuid"));
    text += Rule('-', widths);
  }
  text += EmptyList("0 NvSwitches found.", "Switch ID", 11);
  text += EmptyList("0 CPUs found.", "CPU ID", 11);
  return text;
}

std::string DmonHeader(const std::string& ids) {
  std::string names = format("{:<{}}", "#Entity", kFirstColumn);
  std::string units = format("{:<{}}", "ID", kFirstColumn);
  for (const std::string& id : Split(ids, ',')) {
    const auto number = static_cast<unsigned>(ParseInt(id).value_or(0));
    const Column column = ColumnOf(number);
    const auto field = metrics_exporter::FieldOfId(number);
    std::string name(column.name);
    if (name.empty() && field) {
      name =
          Cut(std::string_view(field->name).substr(std::string_view("DCGM_FI_").size()), kColumn);
    }
    names += format("{:<{}}  ", name, kColumn);
    units += format("{:<{}}  ", column.unit, kColumn);
  }
  return names + "\n" + units + "\n";
}

std::string DmonRows(const Json& values, const std::set<unsigned>& gpus) {
  std::string text;
  const Json& fields = ListAt(values, "fields");
  for (const Json& row : ListAt(values, "rows")) {
    if (!gpus.empty() && !gpus.contains(static_cast<unsigned>(IntAt(row, "gpu", 0)))) {
      continue;
    }
    text +=
        format("{:<{}}", format("{} {}", TextAt(row, "entity"), IntAt(row, "id", 0)), kFirstColumn);
    const Json& numbers = ListAt(row, "values");
    for (size_t i = 0; i < numbers.size(); ++i) {
      const bool whole = i < fields.size() && BoolAt(fields[i], "whole", false);
      text += format("{:<{}}  ", NumberOf(numbers[i], whole), kColumn);
    }
    text += '\n';
  }
  return text;
}

std::string FieldsText() {
  std::string text = format("{:<52}{:<12}{}\n", "Long Name", "Short Name", "Field ID");
  for (unsigned id = 1; id < kLastField; ++id) {
    const auto field = metrics_exporter::FieldOfId(id);
    if (field && field->level != metrics_exporter::Level::kLink) {
      text += format("{:<52}{:<12}{}\n", field->name, ColumnOf(id).name, id);
    }
  }
  return text;
}

std::string HealthText(const Json& health) {
  const std::vector<size_t> widths = {27, 58};
  const std::vector<SickGpu> sick = SickGpus(health);
  std::string text;
  const auto line = [&](const std::string& what, std::string_view said) {
    text += Line({{what, widths[0]}, {std::string(said), widths[1]}});
  };
  text += Rule('-', {widths[0] + widths[1] + 1});
  text += Line({{"Health Monitor Report", widths[0] + widths[1] + 1}});
  text += Rule('=', widths);
  line("Overall Health", VerdictOf(WorstOf(sick)));
  if (!sick.empty()) {
    line("GPU", "");
  }
  for (const SickGpu& gpu : sick) {
    line(format("-> {}", gpu.index), VerdictOf(gpu.verdict));
    line("   -> Errors", "");
    for (const Incident& incident : gpu.incidents) {
      line(format("      -> {}", incident.system), VerdictOf(incident.verdict));
      line("", incident.code);
    }
  }
  return text + Rule('-', widths);
}

std::string HealthJsonText(const Json& health) {
  const std::vector<SickGpu> sick = SickGpus(health);
  Json body = Json::object();
  body["Overall Health"]["value"] = VerdictOf(WorstOf(sick));
  for (const SickGpu& gpu : sick) {
    Json& one = body["GPU"]["children"][gpu.index];
    one["value"] = VerdictOf(gpu.verdict);
    for (const Incident& incident : gpu.incidents) {
      Json& system = one["children"]["Errors"]["children"][incident.system];
      system["value"] = VerdictOf(incident.verdict);
      system["overflow"].push_back(incident.code);
    }
  }
  Json page = Json::object();
  page["header"] = Json::array({"Health Monitor Report"});
  page["body"] = std::move(body);
  return page.dump(4) + "\n";
}

std::string WatchesText() {
  const std::vector<size_t> widths = {18, 51};
  std::string text = "Health monitor systems report\n" + Rule('-', widths);
  for (const char* system :
       {"PCIe", "NVLINK", "Memory", "SM", "InfoROM", "Thermal", "Power", "Driver"}) {
    text += Line({{system, widths[0]}, {"On", widths[1]}});
  }
  return text + Rule('-', widths);
}

}  // namespace gantry::dcgmi
