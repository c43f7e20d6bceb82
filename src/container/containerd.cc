// SPDX-License-Identifier: Apache-2.0
// How does containerd's configuration get the NVIDIA runtimes? Schema 2 and newer: by one drop-in
// file in the root file's own schema, and one entry in the root file's `imports`, inserted as text
// so that every other byte stays. Schema 1 reads no drop-in under other names: the root file gets a
// marked block, also if no drop-in is wanted. Before 2.1 containerd replaces a plugin's entire
// table by that of an imported file, so the drop-in repeats the root file's settings of the CRI
// plugin.
#include "container/containerd.h"

#include <algorithm>

#include "base/paths.h"
#include "base/text.h"
#include "container/containerd_reading.h"
#include "container/containerd_runtimes.h"
#include "container/nvidia_runtimes.h"
#include "container/toml_text.h"

namespace gantry::container {
namespace {

constexpr ContainerdVersion kMergesTables{2, 1};
constexpr ContainerdVersion kCdiByDefault{2, 0};
constexpr std::string_view kBlockBegin = "# >>> NVIDIA runtimes, kept by the GPU operator\n";
// The same after a file whose last line has no end: that line feed is Gantry's too.
constexpr std::string_view kBlockBeginBare =
    "\n# >>> NVIDIA runtimes, kept by the GPU operator (this line feed too)\n";
constexpr std::string_view kBlockEnd = "# <<< NVIDIA runtimes\n";
constexpr std::string_view kMark = "  # NVIDIA runtimes";
constexpr std::string_view kHead =
    "# Written by the container toolkit of the GPU operator, which puts edits back and removes "
    "the\n"
    "# file when it is uninstalled.\n";

// The start of Gantry's block: it was appended, so its first line is the last of its kind.
size_t BlockStart(std::string_view text) {
  size_t begin = text.rfind(kBlockBegin);
  while (begin != std::string_view::npos && begin > 0 && text[begin - 1] != '\n') {
    begin = text.rfind(kBlockBegin, begin - 1);
  }
  const size_t bare = text.rfind(kBlockBeginBare);
  return begin == std::string_view::npos || (bare != std::string_view::npos && bare > begin)
             ? bare
             : begin;
}

toml::table& Child(toml::table& parent, std::string_view key) {
  if (parent.get_as<toml::table>(key) == nullptr) {
    parent.insert_or_assign(key, toml::table{});
  }
  return *parent.get_as<toml::table>(key);
}

// A pattern that matches the drop-in and hardly another file. Not a plain name: containerd does not
// start if a file imported by its plain name is missing.
std::string ImportPattern(const std::string& drop_in_path) {
  constexpr std::string_view kSuffix = ".toml";
  std::string stem = drop_in_path;
  if (stem.ends_with(kSuffix)) {
    stem.resize(stem.size() - kSuffix.size());
  }
  return stem + "*" + std::string(kSuffix);
}

std::string ImportLine(const std::string& drop_in_path) {
  return format("imports = [\"{}\"]{}", ImportPattern(drop_in_path), kMark);
}

std::string VersionLine(int schema) { return format("version = {}{}", schema, kMark); }

// Removes an entire line from a text, if present.
std::string WithoutLine(std::string text, const std::string& line) {
  for (size_t at = text.find(line); at != std::string::npos; at = text.find(line, at + 1)) {
    const bool starts = at == 0 || text[at - 1] == '\n';
    const size_t end = at + line.size();
    if (starts && end < text.size() && text[end] == '\n') {
      return text.erase(at, line.size() + 1);
    }
    if (starts && end == text.size()) {
      return text.erase(at == 0 ? 0 : at - 1);
    }
  }
  return text;
}

// Removes Gantry's lines that set a key, whatever its value.
std::string WithoutMarkedKey(std::string text, std::string_view key) {
  const std::string begin = format("{} = ", key);
  for (const std::string& line : Split(text, '\n')) {
    if (line.starts_with(begin) && line.ends_with(kMark)) {
      text = WithoutLine(std::move(text), line);
    }
  }
  return text;
}

// Inserts a line after the one at `offset`.
std::string WithLineAfter(std::string text, size_t offset, const std::string& line) {
  const size_t end = EndOfLine(text, offset);
  const bool complete = end > 0 && text[end - 1] == '\n';
  return text.insert(end, complete ? line + "\n" : "\n" + line);
}

// The root file with Gantry's pattern among its imports.
std::string WithOurImport(const std::string& text, const toml::table& root,
                          const std::string& drop_in_path) {
  const toml::node* node = root.get("imports");
  const toml::array* imports = node == nullptr ? nullptr : node->as_array();
  if (imports != nullptr) {
    const std::string quoted = "\"" + ImportPattern(drop_in_path) + "\"";
    std::string edited = text;
    return imports->empty()
               ? edited.insert(OffsetOf(text, imports->source().begin) + 1, quoted)
               : edited.insert(OffsetOf(text, imports->back().source().end), ", " + quoted);
  }
  if (const toml::node* version = root.get("version")) {
    return WithLineAfter(text, OffsetOf(text, version->source().begin), ImportLine(drop_in_path));
  }
  return ImportLine(drop_in_path) + "\n" + text;
}

std::vector<NvidiaRuntime> WantedRuntimes(const ContainerdWish& wish) {
  return NvidiaRuntimes(wish.runtime_name, wish.program);
}

// The settings of the CRI plugin in the root file and its imports, as containerd merges them: key
// by key if it merges tables, each file by its own schema; else the last file with the table
// counts.
toml::table PresentCri(const toml::table& root, const ContainerdWish& wish, int schema) {
  toml::table present;
  if (const toml::table* table = CriTable(root, schema)) {
    present = *table;
  }
  const bool merges = MergesTables(wish.version);
  for (const std::string& text : wish.imported) {
    const toml::table imported = ParseToml(text).value_or(toml::table{});
    const int names = merges ? imported["version"].value_or(schema) : schema;
    if (const toml::table* table = CriTable(imported, names)) {
      if (!merges) {
        present.clear();
      }
      MergeToml(*table, present);
    }
  }
  return present;
}

bool HasRuntimes(const toml::table& cri, const ContainerdWish& wish) {
  const std::vector<NvidiaRuntime> wanted = WantedRuntimes(wish);
  return std::ranges::all_of(wanted, [&](const NvidiaRuntime& runtime) {
    return RunsProgram(TableAt(cri, {"containerd", "runtimes", runtime.name}), runtime.program);
  });
}

class Planner {
 public:
  explicit Planner(const ContainerdWish& wish) : wish_(wish) {}

  Result<ContainerdPlan> Plan() {
    const std::string given = wish_.root_text.value_or("");
    read_before_ = wish_.edit_root ? WithoutOurPart(given, wish_.drop_in_path) : given;
    auto root = ParseToml(read_before_);
    if (!root) {
      return std::unexpected(root.error().In("read " + wish_.root_path));
    }
    root_ = *std::move(root);
    plan_.root_before = wish_.template_text
                            ? WithoutOurPart(*wish_.template_text, wish_.drop_in_path)
                            : read_before_;
    for (const NvidiaRuntime& runtime : WantedRuntimes(wish_)) {
      plan_.handlers.push_back(runtime.name);
    }
    ChooseSchema();
    cri_ = PresentCri(root_, wish_, plan_.schema);
    if (HasRuntimes(cri_, wish_) && !CdiToSwitch() && !DefaultToSet()) {
      plan_.root_text = plan_.root_before;
      plan_.trial_text = read_before_;
      return std::move(plan_);
    }
    TRY(plan_.schema == 1 || wish_.drop_in_path.empty() ? PlanBlock() : PlanDropIn());
    if (!ParseToml(plan_.root_text)) {
      return Fail(
          ErrorKind::kUnsupported,
          format("edit {}: it is written in a way that cannot be added to", wish_.root_path));
    }
    return std::move(plan_);
  }

 private:
  void ChooseSchema() {
    const auto written = root_["version"].value<int64_t>();
    if (written) {
      plan_.schema = std::max(1, static_cast<int>(*written));
    } else if (root_.empty() && !wish_.legacy_schema) {
      add_version_ = wish_.edit_root;
      plan_.schema = wish_.version.major >= 2 ? 3 : 2;
    } else {
      plan_.schema = 1;
    }
  }

  [[nodiscard]] bool CdiToSwitch() {
    if (!wish_.enable_cdi) {
      return false;
    }
    if (const auto written = cri_["enable_cdi"].value<bool>()) {
      if (wish_.owner_asks) {
        return !*written;
      }
      if (!*written && plan_.remarks.empty()) {
        plan_.remarks.push_back(
            format("{} says enable_cdi = false; it is left so, and containerd "
                   "will refuse devices that come by CDI",
                   wish_.root_path));
      }
      return false;
    }
    return wish_.version < kCdiByDefault;
  }

  [[nodiscard]] bool DefaultToSet() const {
    return wish_.set_as_default &&
           cri_["containerd"]["default_runtime_name"].value_or(std::string()) != wish_.runtime_name;
  }

  // The tables to add: {<CRI plugin>: {enable_cdi, containerd: {runtimes: ...}}}.
  toml::table Additions() {
    toml::table cri;
    if (CdiToSwitch()) {
      cri.insert_or_assign("enable_cdi", true);
    }
    toml::table& containerd = Child(cri, "containerd");
    if (DefaultToSet()) {
      containerd.insert_or_assign("default_runtime_name", wish_.runtime_name);
    }
    toml::table& runtimes = Child(containerd, "runtimes");
    // A table of runtimes replaces the built-in one here, and without its default runtime
    // containerd answers no CRI call.
    const std::string named =
        cri_["containerd"]["default_runtime_name"].value_or(std::string("runc"));
    if (!MergesTables(wish_.version) && named == "runc" &&
        TableAt(cri_, {"containerd", "runtimes", named}) == nullptr) {
      runtimes.insert_or_assign(named, toml::table{{"runtime_type", wish_.runtime_type}});
    }
    for (const NvidiaRuntime& runtime : WantedRuntimes(wish_)) {
      runtimes.insert_or_assign(runtime.name, RuntimeTable(wish_, cri_, runtime, plan_.schema));
    }
    return cri;
  }

  Status PlanDropIn() {
    toml::table cri = Additions();
    if (!MergesTables(wish_.version)) {
      toml::table whole = cri_;
      MergeToml(cri, whole);
      cri = std::move(whole);
    }
    toml::table drop_in;
    drop_in.insert_or_assign("version", plan_.schema);
    Child(drop_in, "plugins").insert_or_assign(CriPlugin(plan_.schema), std::move(cri));
    plan_.drop_in_text = std::string(kHead) + TomlText(drop_in);

    TRY_ASSIGN(plan_.trial_text, Importing(read_before_));
    if (wish_.template_text) {
      TRY_ASSIGN(plan_.root_text, Importing(plan_.root_before));
    } else {
      plan_.root_text = wish_.edit_root ? plan_.trial_text : plan_.root_before;
    }
    return {};
  }

  // The text of a root file that reads the drop-in.
  [[nodiscard]] Result<std::string> Importing(const std::string& text) const {
    if (ImportsPath(text, wish_.root_path, wish_.drop_in_path)) {
      return text;
    }
    TRY_ASSIGN(const toml::table table, ParseToml(text));
    const std::string importing = WithOurImport(text, table, wish_.drop_in_path);
    return add_version_ ? VersionLine(plan_.schema) + "\n" + importing : importing;
  }

  // Gantry's tables at the end of the root file, single keys in existing tables.
  Status PlanBlock() {
    if (!wish_.edit_root) {
      return Fail(ErrorKind::kUnsupported,
                  format("edit {}: it is of schema 1, and written anew at each start of containerd",
                         wish_.root_path));
    }
    if (DefaultToSet() && cri_["containerd"]["default_runtime_name"] && !wish_.owner_asks) {
      return Fail(ErrorKind::kUnsupported,
                  format("make {} the default runtime: {} names another by default_runtime_name",
                         wish_.runtime_name, wish_.root_path));
    }
    const std::string plugin = CriPlugin(plan_.schema);
    toml::table cri = Additions();
    std::string text = plan_.root_before;
    if (wish_.owner_asks) {
      TRY(PutInPlace({"plugins", plugin}, cri, text));
    }
    TRY(PutUnderHeader({"plugins", plugin}, "enable_cdi", cri, text));
    if (toml::table* containerd = cri.get_as<toml::table>("containerd")) {
      TRY(PutUnderHeader({"plugins", plugin, "containerd"}, "default_runtime_name", *containerd,
                         text));
    }
    if (add_version_) {
      text = VersionLine(plan_.schema) + "\n" + text;
    }
    if (!cri.empty()) {
      toml::table block;
      Child(block, "plugins").insert_or_assign(plugin, std::move(cri));
      const bool complete = text.empty() || text.ends_with('\n');
      text += std::string(complete ? kBlockBegin : kBlockBeginBare) + TomlText(block) +
              std::string(kBlockEnd);
    }
    plan_.root_text = text;
    plan_.trial_text = plan_.root_text;
    return {};
  }

  // Moves the keys of one of Gantry's tables to the table of that path in the text, if that has
  // keys of the same, or is a runtime's: TOML allows no second header of it.
  static Status PutInPlace(const std::vector<std::string_view>& path, toml::table& ours,
                           std::string& text) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : ours) {
      keys.emplace_back(key.str());
    }
    const bool of_runtime = path.size() > 3;  // plugins, the plugin, "containerd", "runtimes"
    for (const std::string& key : keys) {
      TRY_ASSIGN(const toml::table root, ParseToml(text));
      const toml::table* theirs = TableAt(root, path);
      const toml::node* there = theirs == nullptr ? nullptr : theirs->get(key);
      const size_t header = HeaderOf(text, root, path);
      toml::node& value = *ours.get(key);
      if (toml::table* inner = value.as_table(); inner != nullptr && there != nullptr) {
        std::vector<std::string_view> inner_path = path;
        inner_path.push_back(key);
        TRY(PutInPlace(inner_path, *inner, text));
        if (!inner->empty()) {
          continue;
        }
      } else if (inner == nullptr && there != nullptr && !there->is_table()) {
        const size_t begin = OffsetOf(text, there->source().begin);
        text.replace(begin, OffsetOf(text, there->source().end) - begin, TomlValue(value));
      } else if (inner == nullptr && there == nullptr && of_runtime &&
                 header != std::string::npos) {
        text = WithLineAfter(text, header, format("{} = {}", key, TomlValue(value)));
      } else {
        continue;
      }
      ours.erase(key);
    }
    return {};
  }

  // Moves one of Gantry's keys from a table of the block to the text, if the text already has a
  // header of this table: TOML allows no second one.
  static Status PutUnderHeader(const std::vector<std::string_view>& table, std::string_view key,
                               toml::table& ours, std::string& text) {
    TRY_ASSIGN(const toml::table root, ParseToml(text));
    const size_t header = HeaderOf(text, root, table);
    const toml::node* value = ours.get(key);
    if (value != nullptr && header != std::string::npos) {
      text = WithLineAfter(text, header, format("{} = {}{}", key, TomlValue(*value), kMark));
      ours.erase(key);
    }
    return {};
  }

  const ContainerdWish& wish_;
  ContainerdPlan plan_;
  std::string read_before_;  // the file that containerd reads, without Gantry's part
  toml::table root_;
  toml::table cri_;
  bool add_version_ = false;
};

// Removes Gantry's pattern from an `imports` that has others too.
std::string WithoutOurElement(const std::string& text, const std::string& drop_in_path) {
  const auto root = ParseToml(text);
  const toml::node* node = root ? root->get("imports") : nullptr;
  const toml::array* imports = node == nullptr ? nullptr : node->as_array();
  if (imports == nullptr) {
    return text;
  }
  for (const toml::node& element : *imports) {
    if (element.value_or(std::string()) != ImportPattern(drop_in_path)) {
      continue;
    }
    size_t begin = OffsetOf(text, element.source().begin);
    const size_t end = OffsetOf(text, element.source().end);
    if (begin >= 2 && text.compare(begin - 2, 2, ", ") == 0) {
      begin -= 2;
    }
    return text.substr(0, begin) + text.substr(end);
  }
  return text;
}

}  // namespace

bool MergesTables(const ContainerdVersion& version) { return version >= kMergesTables; }

Result<ContainerdPlan> PlanContainerd(const ContainerdWish& wish) { return Planner(wish).Plan(); }

std::vector<std::string> LowLevelRuntimes(const ContainerdWish& wish) {
  std::vector<std::string> paths;
  const auto root = ParseToml(wish.root_text.value_or(""));
  for (const int schema : {1, 2, 3}) {
    const toml::table cri = root ? PresentCri(*root, wish, schema) : toml::table{};
    for (const std::string& path : LowLevelPrograms(cri)) {
      if (std::ranges::find(paths, path) == paths.end()) {
        paths.push_back(path);
      }
    }
  }
  return paths;
}

std::string WithoutOurPart(std::string_view root_text, const std::string& drop_in_path) {
  std::string text(root_text);
  const size_t begin = BlockStart(text);
  const size_t end = begin == std::string::npos ? begin : text.find(kBlockEnd, begin);
  if (end != std::string::npos) {
    text.erase(begin, end + kBlockEnd.size() - begin);
  }
  for (const char* key : {"enable_cdi", "default_runtime_name"}) {
    text = WithoutMarkedKey(std::move(text), key);
  }
  text = WithoutLine(std::move(text), ImportLine(drop_in_path));
  for (const int schema : {2, 3}) {
    text = WithoutLine(std::move(text), VersionLine(schema));
  }
  return drop_in_path.empty() ? text : WithoutOurElement(text, drop_in_path);
}

}  // namespace gantry::container
