// SPDX-License-Identifier: Apache-2.0
// How does Docker's one configuration file, which an administrator owns, get the NVIDIA runtimes?
// The inserted members are between two marks of white space, which is all that JSON allows beside
// its values.
#include "container/docker.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "container/nvidia_runtimes.h"

namespace gantry::container {
namespace {

constexpr std::string_view kMark = "\t \t";

size_t SkipBlanks(std::string_view text, size_t at) {
  const size_t next = text.find_first_not_of(" \t\r\n", at);
  return next == std::string_view::npos ? text.size() : next;
}

// One past the end of the string that starts at `at`.
size_t EndOfString(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    at += text[at] == '\\' ? 1 : 0;
  }
  return std::min(at + 1, text.size());
}

// One past the end of the value that starts at `at`, in a text that is JSON.
size_t EndOfValue(std::string_view text, size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = EndOfString(text, at);
    } else if (depth == 0 && (c == ',' || c == '}' || c == ']')) {
      return at;
    } else {
      depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
      ++at;
    }
    if (depth == 0 && (c == '"' || c == '}' || c == ']')) {
      return at;
    }
  }
  return at;
}

// The start of the value of a key of the object at `object`; npos if it has no such key.
size_t ValueOf(std::string_view text, size_t object, std::string_view key) {
  for (size_t at = SkipBlanks(text, object + 1); at < text.size() && text[at] == '"';) {
    const size_t end = EndOfString(text, at);
    const std::string_view name = text.substr(at + 1, end - at - 2);
    const size_t value = SkipBlanks(text, SkipBlanks(text, end) + 1);
    if (name == key) {
      return value;
    }
    at = SkipBlanks(text, EndOfValue(text, value));
    at = at < text.size() && text[at] == ',' ? SkipBlanks(text, at + 1) : text.size();
  }
  return std::string_view::npos;
}

std::string WithMembers(std::string text, size_t object, const std::string& members) {
  const bool empty = text[SkipBlanks(text, object + 1)] == '}';
  return text.insert(object + 1, format("\n{}{}{}{}", kMark, members, empty ? "" : ",", kMark));
}

Json RuntimeValue(const NvidiaRuntime& runtime) {
  return {{"args", Json::array()}, {"path", runtime.program}};
}

// Gantry's members, without the braces around them.
std::string RuntimeMembers(const std::vector<NvidiaRuntime>& runtimes) {
  std::vector<std::string> members;
  members.reserve(runtimes.size());
  for (const NvidiaRuntime& runtime : runtimes) {
    members.push_back(Json(runtime.name).dump() + ":" + RuntimeValue(runtime).dump());
  }
  return Join(members, ",");
}

// Inserts `members` into the object that a key names, and makes that object if it does not exist.
std::string WithMembersAt(const std::string& text, const std::string& key,
                          const std::string& members) {
  const size_t root = SkipBlanks(text, 0);
  const size_t value = ValueOf(text, root, key);
  return value == std::string::npos
             ? WithMembers(text, root, Json(key).dump() + ":{" + members + "}")
             : WithMembers(text, value, members);
}

// The text with another value for the last of `keys`, each a key of the value before. kUnsupported
// if a key is spelled with escapes and not found.
Result<std::string> WithValue(std::string text, const std::vector<std::string>& keys,
                              const Json& value) {
  size_t at = SkipBlanks(text, 0);
  for (const std::string& key : keys) {
    at = ValueOf(text, at, key);
    if (at == std::string::npos) {
      return Fail(ErrorKind::kUnsupported,
                  format("replace {}: its key is spelled with escapes", Join(keys, ".")));
    }
  }
  const size_t end = text.find_last_not_of(" \t\r\n", EndOfValue(text, at) - 1) + 1;
  return text.replace(at, end - at, value.dump());
}

std::string WithoutMarked(std::string text) {
  const std::string begin_mark = "\n" + std::string(kMark);
  for (size_t begin = text.find(begin_mark); begin != std::string::npos;
       begin = text.find(begin_mark, begin)) {
    const size_t end_mark = text.find(kMark, begin + begin_mark.size());
    if (end_mark == std::string::npos) {
      break;
    }
    const bool comma = text[end_mark - 1] == ',';
    size_t end = end_mark + kMark.size();
    // The object was empty, and another member was added after Gantry's.
    if (const size_t next = SkipBlanks(text, end);
        !comma && next < text.size() && text[next] == ',') {
      end = next + 1;
    }
    text.erase(begin, end - begin);
  }
  return text;
}

bool IsOurs(const Json& runtime, const std::string& program) {
  const std::string path = TextAt(runtime, "path");
  return std::ranges::any_of(NvidiaRuntimes("nvidia", program),
                             [&](const NvidiaRuntime& ours) { return ours.program == path; });
}

}  // namespace

std::string WithoutNvidiaRuntimes(const std::string& text, const std::string& program) {
  std::string without = WithoutMarked(text);
  auto json = ParseJson(without);
  if (!json || !json->is_object() || At(*json, {"runtimes"}) == nullptr ||
      !At(*json, {"runtimes"})->is_object()) {
    return without;
  }
  std::vector<std::string> ours;
  for (const auto& [name, runtime] : (*json)["runtimes"].items()) {
    if (IsOurs(runtime, program)) {
      ours.push_back(name);
    }
  }
  if (ours.empty()) {
    return without;
  }
  for (const std::string& name : ours) {
    (*json)["runtimes"].erase(name);
  }
  if ((*json)["runtimes"].empty()) {
    json->erase("runtimes");
  }
  if (std::ranges::find(ours, TextAt(*json, "default-runtime")) != ours.end()) {
    json->erase("default-runtime");
  }
  return json->dump(4) + "\n";
}

Result<DockerPlan> PlanDocker(const DockerWish& wish) {
  DockerPlan plan;
  const std::string given = wish.text.value_or("");
  // A request that the owner made before may stay in its place.
  plan.before = wish.owner_asks ? WithoutMarked(given) : WithoutNvidiaRuntimes(given, wish.program);
  const bool blank = Trim(plan.before).empty();
  const auto json = ParseJson(blank ? "{}" : plan.before);
  if (!json) {
    return std::unexpected(json.error().In("read " + wish.path));
  }
  if (!json->is_object()) {
    return Fail(ErrorKind::kInvalid, format("read {}: it is no JSON object", wish.path));
  }
  for (const char* key : {"runtimes", "features"}) {
    if (At(*json, {key}) != nullptr && !At(*json, {key})->is_object()) {
      return Fail(ErrorKind::kInvalid, format("read {}: {} is no object", wish.path, key));
    }
  }
  std::string text = blank ? "{\n}\n" : plan.before;
  const auto instead = [&](const std::vector<std::string>& keys, const Json& value,
                           const std::string& remark) -> Status {
    if (!wish.owner_asks) {
      plan.remarks.push_back(format("{} {}; it is left so", wish.path, remark));
      return {};
    }
    TRY_ASSIGN(text, WithValue(text, keys, value));
    return {};
  };
  std::vector<NvidiaRuntime> missing;
  for (const NvidiaRuntime& runtime : NvidiaRuntimes(wish.runtime_name, wish.program)) {
    plan.handlers.push_back(runtime.name);
    const Json* there = At(*json, {"runtimes", runtime.name});
    if (there == nullptr) {
      missing.push_back(runtime);
    } else if (TextAt(*there, "path") != runtime.program) {
      TRY(instead({"runtimes", runtime.name}, RuntimeValue(runtime),
                  format("has a runtime {} of its own", runtime.name)));
    }
  }
  const Json* cdi = At(*json, {"features", "cdi"});
  if (wish.enable_cdi && cdi == nullptr) {
    text = WithMembersAt(text, "features", "\"cdi\":true");
  } else if (wish.enable_cdi && *cdi != Json(true)) {
    TRY(instead({"features", "cdi"}, true, "says features.cdi = false"));
  }
  const Json* named = At(*json, {"default-runtime"});
  if (wish.set_as_default && named == nullptr) {
    text = WithMembers(text, SkipBlanks(text, 0),
                       "\"default-runtime\":" + Json(wish.runtime_name).dump());
  } else if (wish.set_as_default && *named != Json(wish.runtime_name)) {
    TRY(instead({"default-runtime"}, wish.runtime_name, "says default-runtime = " + named->dump()));
  }
  if (!missing.empty()) {
    text = WithMembersAt(text, "runtimes", RuntimeMembers(missing));
  }
  const bool changed = text != (blank ? "{\n}\n" : plan.before);
  plan.text = changed ? text : plan.before;
  // The runtimes are removed by text, which duplicate keys can mislead.
  if (const auto again = ParseJson(WithoutNvidiaRuntimes(plan.text, wish.program));
      !again && !Trim(plan.text).empty()) {
    return Fail(ErrorKind::kInvalid,
                format("edit {}: what is added could not be taken out again; a key stands in it "
                       "more than once",
                       wish.path));
  }
  return plan;
}

Result<std::string> EffectiveDocker(const std::string& text) {
  TRY_ASSIGN(const Json json, ParseJson(Trim(text).empty() ? "{}" : text));
  return json.dump();
}

}  // namespace gantry::container
