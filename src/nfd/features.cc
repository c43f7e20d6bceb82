// SPDX-License-Identifier: Apache-2.0
// What does a NodeFeature say about its node, and which part of that can a rule see? A node's
// features are tens of kilobytes. Rules name few of them, and the operator keeps only those.
#include "nfd/features.h"

#include <algorithm>
#include <iterator>

namespace gantry::nfd {
namespace {

// Calls `each` with the name and the `elements` of every feature of one kind.
template <typename Each>
void ForEachFeature(const Json& features, const char* sort, const Each& each) {
  const Json* sorted = At(features, sort);
  if (sorted == nullptr || !sorted->is_object()) {
    return;
  }
  for (const auto& [name, feature] : sorted->items()) {
    if (const Json* elements = At(feature, "elements"); elements != nullptr) {
      each(name, *elements);
    }
  }
}

Elements ElementsFrom(const Json& json) {
  Elements elements;
  if (json.is_object()) {
    for (const auto& [name, value] : json.items()) {
      if (value.is_string()) {
        elements.emplace(name, value.get<std::string>());
      }
    }
  }
  return elements;
}

const Need* NeedOf(const Needs& needs, const std::string& feature) {
  const auto found = needs.find(feature);
  return found == needs.end() ? nullptr : &found->second;
}

Elements KeepNames(const Elements& elements, const Need& need, bool all) {
  if (need.all || all) {
    return elements;
  }
  Elements kept;
  for (const std::string& name : need.names) {
    if (const auto found = elements.find(name); found != elements.end()) {
      kept.insert(*found);
    }
  }
  return kept;
}

}  // namespace

Features FeaturesFrom(const Json& spec_features) {
  Features features;
  ForEachFeature(spec_features, "flags", [&](const std::string& name, const Json& elements) {
    auto& flags = features.flags[name];
    if (elements.is_object()) {
      for (const auto& [flag, nothing] : elements.items()) {
        flags.insert(flag);
      }
    }
  });
  ForEachFeature(spec_features, "attributes", [&](const std::string& name, const Json& elements) {
    features.attributes[name] = ElementsFrom(elements);
  });
  ForEachFeature(spec_features, "instances", [&](const std::string& name, const Json& elements) {
    auto& instances = features.instances[name];
    if (elements.is_array()) {
      for (const Json& instance : elements) {
        const Json* attributes = At(instance, "attributes");
        instances.push_back(attributes == nullptr ? Elements() : ElementsFrom(*attributes));
      }
    }
  });
  return features;
}

Json ToJson(const Features& features) {
  Json json = {
      {"flags", Json::object()}, {"attributes", Json::object()}, {"instances", Json::object()}};
  for (const auto& [name, flags] : features.flags) {
    Json elements = Json::object();
    for (const std::string& flag : flags) {
      elements[flag] = Json::object();
    }
    json["flags"][name]["elements"] = std::move(elements);
  }
  for (const auto& [name, attributes] : features.attributes) {
    json["attributes"][name]["elements"] = Json(attributes);
  }
  for (const auto& [name, instances] : features.instances) {
    Json elements = Json::array();
    for (const Elements& instance : instances) {
      elements.push_back({{"attributes", Json(instance)}});
    }
    json["instances"][name]["elements"] = std::move(elements);
  }
  return json;
}

void Add(Features& to, const Features& from) {
  for (const auto& [name, flags] : from.flags) {
    to.flags[name].insert(flags.begin(), flags.end());
  }
  for (const auto& [name, attributes] : from.attributes) {
    for (const auto& [element, value] : attributes) {
      to.attributes[name].insert_or_assign(element, value);
    }
    to.attributes.try_emplace(name);
  }
  for (const auto& [name, instances] : from.instances) {
    auto& into = to.instances[name];
    into.insert(into.end(), instances.begin(), instances.end());
  }
}

bool Covers(const Needs& have, const Needs& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& entry) {
    const Need* kept = NeedOf(have, entry.first);
    const Need& need = entry.second;
    return kept != nullptr &&
           (kept->all || (!need.all && (kept->all_attributes || !need.all_attributes) &&
                          std::ranges::includes(kept->names, need.names)));
  });
}

Features Keep(const Features& features, const Needs& needs) {
  Features kept;
  for (const auto& [name, flags] : features.flags) {
    if (const Need* need = NeedOf(needs, name); need != nullptr) {
      auto& into = kept.flags[name];
      std::ranges::copy_if(flags, std::inserter(into, into.end()), [&](const std::string& flag) {
        return need->all || need->names.contains(flag);
      });
    }
  }
  for (const auto& [name, attributes] : features.attributes) {
    if (const Need* need = NeedOf(needs, name); need != nullptr) {
      kept.attributes[name] = KeepNames(attributes, *need, false);
    }
  }
  for (const auto& [name, instances] : features.instances) {
    const Need* need = NeedOf(needs, name);
    if (need == nullptr) {
      continue;
    }
    auto& into = kept.instances[name];
    for (const Elements& instance : instances) {
      Elements part = KeepNames(instance, *need, need->all_attributes);
      // Without a template, the number of equal instances cannot matter.
      if (need->all || need->all_attributes || std::ranges::find(into, part) == into.end()) {
        into.push_back(std::move(part));
      }
    }
  }
  return kept;
}

}  // namespace gantry::nfd
