// SPDX-License-Identifier: Apache-2.0
#include "operands/dra_driver/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::dra_driver {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kStatus[] =
    R"({"allocation":{"devices":{"results":[{"request":"r","driver":"gpu.nvidia.com","pool":"node","device":"gpu-0"},)"
    R"({"request":"a","driver":"gpu.nvidia.com","pool":"node","device":"gpu-1","adminAccess":true},)"
    R"({"request":"b","driver":"other","pool":"node","device":"gpu-2"}]}},"reservedFor":[{"resource":"pods","name":"<p>","uid":"1"}]})";
constexpr char kPrepared[] =
    R"([{"devices":[{"gpu":{"info":{"uuid":"GPU-0"},"device":{"Requests":["r"],"PoolName":"node","DeviceName":"gpu-0","CDIDeviceIDs":["k8s.gpu.nvidia.com/claim=u-gpu-0"]}},"mig":null}],"configState":{"mpsControlDaemonID":""}}])";

Checkpoint Example() {
  Checkpoint checkpoint{.claims = {}, .boot_id = "boot"};
  checkpoint.claims["u2"] = {.completed = true,
                             .status = kStatus,
                             .prepared = kPrepared,
                             .name = "name",
                             .ns = "ns",
                             .devices = {{.requests = {"r"},
                                          .pool = "node",
                                          .device = "gpu-0",
                                          .cdi_ids = {"k8s.gpu.nvidia.com/claim=u-gpu-0"}}},
                             .reserved = {"gpu-0"}};
  checkpoint.claims["u1"] = {.completed = false,
                             .status = kStatus,
                             .prepared = "",
                             .name = "begun",
                             .ns = "ns",
                             .devices = {},
                             .reserved = {"gpu-0"}};
  return checkpoint;
}

TEST(DraCheckpoint, ChecksumsAreThoseOfNvidiasDriver) {
  EXPECT_EQ(Checksum(R"({"checksum":0,"v1":{}})"), 1083090442U);
  EXPECT_EQ(Checksum(R"({"checksum":0})"), 4166374854U);
  EXPECT_EQ(Checksum("{}"), 1558789936U);
}

TEST(DraCheckpoint, IsReadAsWritten) {
  const std::string text = CheckpointText(Example());
  const auto read = ParseCheckpoint(text);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(*read, Example());
  EXPECT_EQ(CheckpointText(*read), text);
}

// Go's order of fields, the completed claims alone in v1, no empty maps.
TEST(DraCheckpoint, HasTheFormOfNvidiasDriver) {
  EXPECT_EQ(CheckpointText({}), R"({"checksum":1083090442,"v1":{},"v2":{"checksum":4166374854}})");
  EXPECT_EQ(*ParseCheckpoint(CheckpointText({})), Checkpoint());
  const std::string text = CheckpointText(Example());
  const std::string v1 = std::string(R"("v1":{"preparedClaims":{"u2":{"status":)") + kStatus +
                         R"(,"preparedDevices":)" + kPrepared + "}}}";
  EXPECT_THAT(text, HasSubstr(v1));
  EXPECT_THAT(
      text, HasSubstr(R"("preparedClaims":{"u1":{"checkpointState":"PrepareStarted","status":{)"));
  EXPECT_THAT(
      text,
      HasSubstr(R"("name":"begun","namespace":"ns"},"u2":{"checkpointState":"PrepareCompleted")"));
  EXPECT_TRUE(text.ends_with(R"("name":"name","namespace":"ns"}},"nodeBootID":"boot"}})"));
  const std::string document = R"({"checksum":0,)" + v1 + "}";
  EXPECT_TRUE(text.starts_with(R"({"checksum":)" + std::to_string(Checksum(document)) + ","));
}

TEST(DraCheckpoint, AFileOfAnOldVersionHasOnlyV1) {
  const std::string v1 = std::string(R"({"preparedClaims":{"u":{"status":)") + kStatus +
                         R"(,"preparedDevices":)" + kPrepared + "}}}";
  const uint32_t checksum = Checksum(R"({"checksum":0,"v1":)" + v1 + "}");
  const auto read =
      ParseCheckpoint(R"({"checksum":)" + std::to_string(checksum) + R"(,"v1":)" + v1 + "}");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_TRUE(read->claims.at("u").completed);
  EXPECT_THAT(read->claims.at("u").reserved, ElementsAre("gpu-0"));
  EXPECT_EQ(read->claims.at("u").devices.at(0).device, "gpu-0");
  EXPECT_EQ(read->boot_id, "");
  EXPECT_TRUE(ParseCheckpoint(R"({"checksum":4166374854})")->claims.empty());
}

// A later version's fields are covered by the checksum and change nothing.
TEST(DraCheckpoint, UnknownFieldsAreNoDamage) {
  const std::string covered =
      R"({"checksum":0,"preparedClaims":{"u":{"checkpointState":"PrepareCompleted","new":[{}]}},"more":1})";
  std::string v2 = covered;
  v2.replace(v2.find('0'), 1, std::to_string(Checksum(covered)));
  const auto read = ParseCheckpoint(R"({"checksum":4166374854,"v2":)" + v2 + "}");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_TRUE(read->claims.at("u").completed);
  EXPECT_TRUE(read->claims.at("u").devices.empty());
}

TEST(DraCheckpoint, DamageIsFound) {
  const std::string text = CheckpointText(Example());
  std::string changed = text;
  changed.replace(changed.find("gpu-0"), 5, "gpu-7");
  std::string second = text;
  second.replace(second.rfind("boot"), 4, "bOOt");
  const std::string none = R"({"checksum":4166374854,"v2":{"nodeBootID":"b"}})";
  const std::string list = R"({"checksum":4166374854,"v2":[]})";
  const std::string wrong_claims =
      R"({"checksum":4166374854,"v2":{"checksum":)" +
      std::to_string(Checksum(R"({"checksum":0,"preparedClaims":[]})")) +
      R"(,"preparedClaims":[]}})";
  for (const std::string& one :
       {changed, second, none, list, wrong_claims, text.substr(0, text.size() / 2), std::string(),
        std::string("{}")}) {
    const auto read = ParseCheckpoint(one);
    ASSERT_FALSE(read.has_value()) << one;
    EXPECT_EQ(read.error().kind, ErrorKind::kInvalid);
    EXPECT_THAT(read.error().message, HasSubstr("checkpoint failed checksum verification"));
  }
}

}  // namespace
}  // namespace gantry::dra_driver
