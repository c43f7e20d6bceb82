// SPDX-License-Identifier: Apache-2.0
#include "operands/dra_driver/claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/paths.h"
#include "base/testing/temp_folder.h"
#include "container/cdi.h"
#include "operands/dra_driver/testing/node.h"

namespace gantry::dra_driver {
namespace {

using kubelet::dra::Claim;
using testing::HasSubstr;
using testing::IsEmpty;

class DraClaims : public testing::Test {
 protected:
  DraClaims() { std::filesystem::create_directory(cdi_); }

  // A driver's start; the earlier one counts as killed.
  Claims& Start(const std::string& boot_id = "boot") {
    claims_ = std::make_unique<Claims>(Claims::Options{
        .folder = folder_.path(),
        .cdi_root = cdi_,
        .pool = "node",
        .boot_id = boot_id,
        .get = [this](const Claim& claim) -> Result<Json> {
          ++gets_;
          const auto found = api_.find(claim.uid);
          return found == api_.end() ? Result<Json>(Fail(ErrorKind::kNotFound, "no such claim"))
                                     : found->second;
        },
        .holders = [this](const gpu::GpuSet&) -> Result<gpu::Holders> { return holders_; }});
    loaded_ = claims_->Load();
    claims_->SetGpus(std::make_shared<const NodeGpus>(TestNode()));
    return *claims_;
  }

  static Claim Named(const std::string& uid) { return {.ns = "ns", .uid = uid, .name = "name"}; }
  std::string Document(const std::string& uid) const {
    return cdi_ + "/k8s.gpu.nvidia.com-claim_" + uid + ".yaml";
  }
  [[nodiscard]] bool HasDocument(const std::string& uid) const {
    return std::filesystem::exists(Document(uid));
  }
  [[nodiscard]] std::string Checkpoint() const {
    return ReadFile(folder_ / "checkpoint.json").value_or("");
  }

  TempFolder folder_;
  const std::string cdi_ = folder_ / "cdi";
  std::map<std::string, Json> api_ = {{"u", TestClaim("u", {{"r", "gpu-0"}})},
                                      {"v", TestClaim("v", {{"r", "gpu-0"}})}};
  gpu::Holders holders_;
  int gets_ = 0;
  Status loaded_;
  std::unique_ptr<Claims> claims_;
};

TEST_F(DraClaims, APreparedClaimHasADocumentWithItsDevice) {
  const auto prepared = Start().Prepare(Named("u"));
  ASSERT_TRUE(prepared.has_value()) << prepared.error().message;
  ASSERT_EQ(prepared->size(), 1);
  EXPECT_EQ(prepared->at(0).cdi_ids.at(0), "k8s.gpu.nvidia.com/claim=u-gpu-0");
  const auto spec = container::ParseCdi(ReadFile(Document("u")).value());
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_EQ(spec->kind, "k8s.gpu.nvidia.com/claim");
  ASSERT_EQ(spec->devices.size(), 1);
  EXPECT_EQ(spec->devices[0].name, "u-gpu-0");
  ASSERT_EQ(spec->devices[0].edits.device_nodes.size(), 1);
  EXPECT_EQ(spec->devices[0].edits.device_nodes[0].path, "/dev/nvidia0");
  EXPECT_THAT(spec->edits.env, testing::Contains("NVIDIA_VISIBLE_DEVICES=void"));
}

TEST_F(DraClaims, AMigDeviceComesWithItsParentsNode) {
  api_["m"] = TestClaim("m", {{"r", "gpu-2-mig-1g10gb-19-2"}, {"r", "gpu-2-mig-1g10gb-me-20-1"}});
  const auto prepared = Start().Prepare(Named("m"));
  ASSERT_TRUE(prepared.has_value()) << prepared.error().message;
  const auto spec = container::ParseCdi(ReadFile(Document("m")).value());
  ASSERT_EQ(spec->devices.size(), 2);
  EXPECT_EQ(spec->devices[0].name, "m-gpu-2-mig-1g10gb-19-2");
  std::vector<std::string> nodes;
  for (const auto& node : spec->devices[0].edits.device_nodes) {
    nodes.push_back(node.path);
  }
  EXPECT_THAT(nodes, testing::UnorderedElementsAre("/dev/nvidia2", "/dev/nvidia-caps/nvidia-cap7"));
}

TEST_F(DraClaims, PreparedOnceItIsKnownToTheNextStart) {
  const auto first = Start().Prepare(Named("u"));
  const std::string text = Checkpoint();
  const auto again = Start().Prepare(Named("u"));
  EXPECT_EQ(*again, *first);
  EXPECT_EQ(gets_, 1);
  EXPECT_EQ(Checkpoint(), text);
}

TEST_F(DraClaims, UnpreparedNothingIsLeft) {
  Claims& claims = Start();
  const std::string empty = CheckpointText({.claims = {}, .boot_id = "boot"});
  ASSERT_TRUE(claims.Prepare(Named("u")));
  EXPECT_TRUE(claims.Unprepare(Named("u")));
  EXPECT_FALSE(HasDocument("u"));
  EXPECT_EQ(Checkpoint(), empty);
  EXPECT_TRUE(claims.Unprepare(Named("u")));
  EXPECT_TRUE(claims.Unprepare(Named("never")));
}

TEST_F(DraClaims, OneDeviceHasOneClaim) {
  Claims& claims = Start();
  ASSERT_TRUE(claims.Prepare(Named("u")));
  EXPECT_THAT(claims.Prepare(Named("v")).error().message,
              HasSubstr("prepare claim ns/name: requested device gpu-0 is already allocated"));
  ASSERT_TRUE(claims.Unprepare(Named("u")));
  EXPECT_TRUE(claims.Prepare(Named("v")));
}

TEST_F(DraClaims, ARefusedClaimLeavesNothing) {
  Claims& claims = Start();
  holders_[{.uuid = "GPU-0"}] = {{.ns = "a", .pod = "b", .container = "c"}};
  EXPECT_THAT(claims.Prepare(Named("u")).error().message, HasSubstr("pod a/b has device gpu-0"));
  EXPECT_THAT(claims.Prepare(Named("none")).error().message, HasSubstr("no such claim"));
  EXPECT_EQ(Checkpoint(), "");
  EXPECT_FALSE(HasDocument("u"));
}

// The kubelet's words are no paths.
TEST_F(DraClaims, AUidIsNoPath) {
  for (const char* uid : {"", "../../etc/x", "a/b", "a b"}) {
    EXPECT_THAT(Start().Prepare(Named(uid)).error().message, HasSubstr("UID"));
    EXPECT_THAT(Start().Unprepare(Named(uid)).error().message, HasSubstr("UID"));
  }
}

// Killed after each step: the next start finishes or begins again, and the end is the same.
TEST_F(DraClaims, CutOffAnywhereItEndsTheSame) {
  ASSERT_TRUE(Start().Prepare(Named("u")));
  const std::string completed = Checkpoint();
  const std::string document = ReadFile(Document("u")).value();
  auto begun = *ParseCheckpoint(completed);
  begun.claims["u"].completed = false;
  begun.claims["u"].prepared = "";
  for (const bool has_document : {false, true}) {
    for (const std::string& checkpoint : {CheckpointText(begun), completed}) {
      folder_.Write("checkpoint.json", checkpoint);
      std::filesystem::remove(Document("u"));
      if (has_document) {
        folder_.Write("cdi/k8s.gpu.nvidia.com-claim_u.yaml", document);
      }
      ASSERT_TRUE(Start().Prepare(Named("u")));
      EXPECT_EQ(Checkpoint(), completed);
      EXPECT_EQ(ReadFile(Document("u")).value(), document);
      ASSERT_TRUE(Start().Unprepare(Named("u")));
      EXPECT_FALSE(HasDocument("u"));
      EXPECT_THAT(Start().Known(), IsEmpty());
    }
  }
}

TEST_F(DraClaims, ACutOffUnpreparationIsRepaired) {
  ASSERT_TRUE(Start().Prepare(Named("u")));
  Claims& claims = *claims_;
  std::filesystem::remove(Document("u"));
  ASSERT_TRUE(claims.Prepare(Named("u")));
  EXPECT_TRUE(HasDocument("u"));
}

TEST_F(DraClaims, ACheckpointOfAnotherBootIsEmpty) {
  ASSERT_TRUE(Start().Prepare(Named("u")));
  Claims& claims = Start("next");
  EXPECT_THAT(claims.Known(), IsEmpty());
  ASSERT_TRUE(claims.RemoveOrphans());
  EXPECT_FALSE(HasDocument("u"));
}

TEST_F(DraClaims, OrphansAreRemovedAndOtherFilesKept) {
  folder_.Write("cdi/k8s.gpu.nvidia.com-claim_gone.yaml", "x");
  folder_.Write("cdi/k8s.device-plugin.nvidia.com-gpu.json", "x");
  Claims& claims = Start();
  ASSERT_TRUE(claims.Prepare(Named("u")));
  ASSERT_TRUE(claims.RemoveOrphans());
  EXPECT_FALSE(HasDocument("gone"));
  EXPECT_TRUE(HasDocument("u"));
  EXPECT_TRUE(std::filesystem::exists(cdi_ + "/k8s.device-plugin.nvidia.com-gpu.json"));
}

TEST_F(DraClaims, AnotherDriverGivesPreparedClaimsNewDocuments) {
  Claims& claims = Start();
  ASSERT_TRUE(claims.Prepare(Named("u")));
  NodeGpus node = TestNode();
  node.files.control_nodes.emplace_back("/dev/nvidia-uvm");
  EXPECT_THAT(claims.SetGpus(std::make_shared<const NodeGpus>(node)), IsEmpty());
  EXPECT_THAT(ReadFile(Document("u")).value(), HasSubstr("nvidia-uvm"));
  // Without its device the document stays.
  node.devices.devices.clear();
  EXPECT_THAT(claims.SetGpus(std::make_shared<const NodeGpus>(node)),
              testing::ElementsAre(HasSubstr("device gpu-0 is not on this node")));
  EXPECT_TRUE(HasDocument("u"));
}

TEST_F(DraClaims, ADamagedCheckpointIsMadeAnew) {
  ASSERT_TRUE(Start().Prepare(Named("u")));
  std::string damaged = Checkpoint();
  damaged.replace(damaged.find("gpu-0"), 5, "gpu-1");
  folder_.Write("checkpoint.json", damaged);
  Claims& claims = Start();
  EXPECT_EQ(loaded_.error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(claims.Unprepare(Named("u")).error().kind, ErrorKind::kUnavailable);
  ASSERT_TRUE(claims.RemoveOrphans());
  EXPECT_TRUE(HasDocument("u"));
  Json unused = TestClaim("w", {{"r", "gpu-1"}});
  unused["status"].erase("reservedFor");
  const auto failed =
      claims.Restore({TestClaim("u", {{"r", "gpu-0"}}), unused, TestClaim("x", {{"r", "gpu-7"}}),
                      TestClaim("y", {{"r", "gpu-0"}})});
  ASSERT_TRUE(failed.has_value()) << failed.error().message;
  EXPECT_THAT(*failed, testing::ElementsAre(HasSubstr("already allocated to different claim u")));
  ASSERT_EQ(claims.Known().size(), 1);
  EXPECT_EQ(claims.Known()[0].uid, "u");
  EXPECT_TRUE(ParseCheckpoint(Checkpoint()));
  const auto files = ListDirectory(folder_.path()).value();
  const auto aside = std::ranges::find_if(
      files, [](const auto& name) { return name.starts_with("checkpoint.json.corrupt-"); });
  ASSERT_NE(aside, files.end());
  EXPECT_EQ(ReadFile(folder_ / *aside).value(), damaged);
}

}  // namespace
}  // namespace gantry::dra_driver
