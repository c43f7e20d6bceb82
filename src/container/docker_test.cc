// SPDX-License-Identifier: Apache-2.0
// Every folder of tests/golden/docker is a host: daemon.json (or none) and `settings`; and what the
// file becomes: expected/daemon.json. With GANTRY_ACCEPT=1 it is written anew.
#include "container/docker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"
#include "container/docker_status.h"

namespace gantry::container {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr char kDockerGolden[] = "tests/golden/docker";

DockerWish ReadDockerCase(const std::string& folder) {
  DockerWish wish;
  if (auto text = ReadFile(folder + "/daemon.json")) {
    wish.text = *std::move(text);
  }
  for (const std::string& line : Split(ReadFile(folder + "/settings").value(), '\n')) {
    const bool on = line.ends_with("=true");
    if (line.starts_with("default=")) {
      wish.set_as_default = on;
    } else if (line.starts_with("cdi=")) {
      wish.enable_cdi = on;
    }
  }
  return wish;
}

class DockerGolden : public testing::TestWithParam<std::string> {};

TEST_P(DockerGolden, Plan) {
  const std::string folder = std::string(kDockerGolden) + "/" + GetParam();
  DockerWish wish = ReadDockerCase(folder);
  const auto plan = PlanDocker(wish);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  const std::string path = folder + "/expected/daemon.json";
  if (std::getenv("GANTRY_ACCEPT") != nullptr) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << plan->text;
  }
  EXPECT_EQ(ReadFile(path).value_or("(absent)"), plan->text);

  const auto json = ParseJson(plan->text);
  ASSERT_TRUE(json.has_value()) << json.error().message;
  for (const std::string& name : plan->handlers) {
    EXPECT_TRUE((*json)["runtimes"].contains(name)) << name;
  }
  const std::string before = wish.text.value_or("");
  EXPECT_EQ(plan->before, before);
  if (!Trim(before).empty()) {
    EXPECT_EQ(WithoutNvidiaRuntimes(plan->text, wish.program), before) << "removal";
  }
  wish.text = plan->text;
  EXPECT_EQ(PlanDocker(wish)->text, plan->text) << "a second run changes nothing";
}

std::vector<std::string> DockerCases() {
  return ListDirectory(kDockerGolden).value_or(std::vector<std::string>{});
}
INSTANTIATE_TEST_SUITE_P(Hosts, DockerGolden, testing::ValuesIn(DockerCases()),
                         [](const auto& tested) { return tested.param; });

TEST(Docker, GoldenFoldersAreThere) { EXPECT_GE(DockerCases().size(), 9U); }

TEST(Docker, WhatItsOwnerSaidIsLeft) {
  EXPECT_THAT(PlanDocker(ReadDockerCase(std::string(kDockerGolden) + "/owners_nvidia"))->remarks,
              ElementsAre(HasSubstr("a runtime nvidia of its own")));
  EXPECT_THAT(PlanDocker(ReadDockerCase(std::string(kDockerGolden) + "/cdi_off_by_owner"))->remarks,
              ElementsAre(HasSubstr("features.cdi")));
  DockerWish wish;
  wish.text = "{\"default-runtime\": \"runsc\"}";
  wish.set_as_default = true;
  EXPECT_THAT(PlanDocker(wish)->remarks, ElementsAre(HasSubstr("default-runtime = \"runsc\"")));
}

TEST(Docker, WhatItsOwnerAsksForReplacesWhatIsThere) {
  DockerWish wish;
  wish.text =
      "{\n  \"default-runtime\": \"runc\",\n  \"features\": {\"cdi\": false\n  },\n"
      "  \"runtimes\": {\"nvidia\": {\"path\": \"/old\", \"runtimeArgs\": [\"}\"]}}, "
      "\"debug\":true\n}\n";
  wish.set_as_default = true;
  wish.owner_asks = true;
  wish.program = "/opt/x";
  const auto plan = PlanDocker(wish);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_THAT(plan->remarks, testing::IsEmpty());
  EXPECT_THAT(plan->text, HasSubstr("{\"cdi\": true\n  },\n"));
  const Json json = ParseJson(plan->text).value();
  EXPECT_EQ(json["default-runtime"], "nvidia");
  EXPECT_EQ(json["runtimes"]["nvidia"], Json({{"args", Json::array()}, {"path", "/opt/x"}}));
  EXPECT_EQ(json["runtimes"]["nvidia-cdi"]["path"], "/opt/x.cdi");
  EXPECT_EQ(json["debug"], true);
  wish.text = plan->text;
  EXPECT_EQ(PlanDocker(wish)->text, plan->text) << "a second run changes nothing";
  wish.text = "{\"f\\u0065atures\": {\"cdi\": false}}";
  EXPECT_EQ(PlanDocker(wish).error().kind, ErrorKind::kUnsupported);
}

TEST(Docker, WrittenAnewByOthersItIsStillFound) {
  DockerWish wish;
  wish.text = "{\"debug\": true, \"default-runtime\": \"nvidia\"}";
  const auto plan = PlanDocker(wish);
  const std::string anew = ParseJson(plan->text)->dump(2);
  const auto without = ParseJson(WithoutNvidiaRuntimes(anew, wish.program));
  EXPECT_EQ(*without, Json({{"debug", true}, {"features", {{"cdi", true}}}}));
}

TEST(Docker, AMemberAddedBehindOurs) {
  DockerWish wish;
  wish.text = "{}";
  wish.enable_cdi = false;
  std::string text = PlanDocker(wish)->text;
  text.insert(text.rfind('}'), ", \"debug\": true");
  EXPECT_EQ(WithoutNvidiaRuntimes(text, wish.program), "{ \"debug\": true}");
}

TEST(Docker, WhatIsNoConfigurationIsRefused) {
  for (const char* text : {"[1]", "{", "{\"runtimes\": []}", "{\"features\": 1}"}) {
    DockerWish wish;
    wish.text = text;
    EXPECT_EQ(PlanDocker(wish).error().kind, ErrorKind::kInvalid) << text;
  }
  EXPECT_EQ(WithoutNvidiaRuntimes("{", "/x"), "{");
}

TEST(Docker, FilesThatMeanTheSame) {
  EXPECT_EQ(EffectiveDocker("{\"a\": 1, \"b\": 2}").value(),
            EffectiveDocker("{ \"b\":2,\"a\":1 }").value());
  EXPECT_EQ(EffectiveDocker(" \n").value(), EffectiveDocker("{}").value());
  EXPECT_FALSE(EffectiveDocker("{").has_value());
}

TEST(DockerStatus, Runtimes) {
  const auto status = ParseDockerInfo(
      "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"
      "{\"Runtimes\": {\"runc\": {\"path\": \"runc\"}, \"nvidia\": {}}}");
  EXPECT_THAT(status->runtimes, UnorderedElementsAre("runc", "nvidia"));
}

TEST(DockerStatus, WhatIsNoAnswer) {
  EXPECT_EQ(ParseDockerInfo("").error().kind, ErrorKind::kInternal);
  EXPECT_EQ(ParseDockerInfo("HTTP/1.0 200 OK\r\n").error().kind, ErrorKind::kInternal);
  EXPECT_EQ(ParseDockerInfo("HTTP/1.0 503 No\r\n\r\n{}").error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(ParseDockerInfo("HTTP/1.0 200 OK\r\n\r\n{").error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(AskDocker("/no/such/socket", std::chrono::seconds(1)).error().kind,
            ErrorKind::kNotFound);
}

}  // namespace
}  // namespace gantry::container
