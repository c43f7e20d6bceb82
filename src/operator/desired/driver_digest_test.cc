// SPDX-License-Identifier: Apache-2.0

// The numbers are those of NVIDIA's own tests, and so are the settings that they are made from.

#include "operator/desired/driver_digest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "operator/desired/nvidia_driver.h"
#include "policy/names.h"

namespace gantry::gpu_operator {
namespace {

DriverConfig Minimal() {
  DriverConfig config;
  config.driver_image = "nvcr.io/nvidia/driver:525.85.03-ubuntu22.04";
  config.driver_manager_image = "nvcr.io/nvidia/cloud-native/k8s-driver-manager:devel";
  config.driver_type = "gpu";
  return config;
}

void AddVolumes(DriverConfig& config) {
  const std::string path = "/opt/config/test-host-path";
  config.additional_volumes = {{"test-cm", "test-cm", "", ""},
                               {"test-host-path", "", "", path},
                               {"test-host-path-ro", "", "", path + "-ro"}};
  config.additional_volume_mounts = {{"test-cm", "/opt/config/test-file", "test-file", true},
                                     {"test-host-path", path, "", false},
                                     {"test-host-path-ro", path + "-ro", "", true}};
}

struct Vector {
  const char* name;
  const char* digest;
  std::function<void(DriverConfig&)> set;
};

class DriverDigest : public testing::TestWithParam<Vector> {};

TEST_P(DriverDigest, IsNvidias) {
  DriverConfig config = Minimal();
  GetParam().set(config);
  EXPECT_EQ(DigestOf(config), GetParam().digest);
}

INSTANTIATE_TEST_SUITE_P(
    Vectors, DriverDigest,
    testing::Values(Vector{"minimal", "886542011", [](DriverConfig&) {}},
                    Vector{"additional_volumes", "2057338482", AddVolumes},
                    Vector{"rdma", "3271748789",
                           [](DriverConfig& config) {
                             AddVolumes(config);
                             config.gpu_direct_rdma = true;
                             config.peermem_image = config.driver_image;
                           }},
                    Vector{"rdma_of_the_host", "3567795386",
                           [](DriverConfig& config) {
                             AddVolumes(config);
                             config.gpu_direct_rdma = true;
                             config.peermem_image = config.driver_image;
                             config.use_host_mofed = true;
                           }},
                    Vector{"precompiled", "648926272",
                           [](DriverConfig& config) {
                             config.driver_image =
                                 "nvcr.io/nvidia/driver:535-5.4.0-150-generic-ubuntu22.04";
                             config.use_precompiled = true;
                             config.kernel_version = "5.4.0-150-generic";
                           }},
                    Vector{"openshift_driver_toolkit", "3522141578",
                           [](DriverConfig& config) {
                             config.driver_image = "nvcr.io/nvidia/driver:525.85.03-rhel8.0";
                             config.openshift_version = "4.13";
                             config.dtk = true;
                             config.dtk_image =
                                 "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:"
                                 "7fecaebc1d51b28bc3548171907e4d91823a031d7a6a694ab686999be2b4d867";
                             config.rhcos_version = "413.92.202304252344-0";
                             config.http_proxy = "http://user:pass@example:8080";
                             config.https_proxy = "https://user:pass@example:8085";
                             config.no_proxy = "internal.example.com";
                             config.trusted_ca_config_map = "gpu-operator-trusted-ca";
                           }}),
    [](const auto& one) { return one.param.name; });

// The settings of NVIDIA's tests that a NVIDIADriver can be written for, by way of its objects.
struct DriverVector {
  const char* name;
  const char* digest;
  std::function<void(policy::NvidiaDriver&, SystemFacts&)> set;
};

class NvidiaDriverDigest : public testing::TestWithParam<DriverVector> {};

TEST_P(NvidiaDriverDigest, IsNvidias) {
  policy::NvidiaDriver spec;
  spec.driver.image.repository = "nvcr.io/nvidia";
  spec.driver.image.image = "driver";
  spec.driver.image.version = "525.85.03";
  DriverPool pool;
  pool.system.id = "ubuntu";
  pool.system.tag = "ubuntu22.04";
  GetParam().set(spec, pool.system);
  Context context;
  context.policy.host_root = "";
  context.release.driver_manager = "nvcr.io/nvidia/cloud-native/k8s-driver-manager:devel";
  const auto objects = NvidiaDriverObjects(context, {"d", "uid", spec}, pool);
  ASSERT_TRUE(objects.has_value()) << objects.error().message;
  const Json& pod = objects->back()["spec"]["template"]["spec"];
  for (const char* containers : {"initContainers", "containers"}) {
    EXPECT_THAT(pod[containers][0]["env"],
                testing::Contains(
                    Json{{"name", names::kDriverConfigDigest}, {"value", GetParam().digest}}));
  }
}

INSTANTIATE_TEST_SUITE_P(Vectors, NvidiaDriverDigest,
                         testing::Values(DriverVector{"minimal", "886542011",
                                                      [](policy::NvidiaDriver&, SystemFacts&) {}},
                                         DriverVector{"full_spec", "2311915915",
                                                      [](policy::NvidiaDriver& spec, SystemFacts&) {
                                                        spec.type = "";
                                                        spec.options.kernel_module_type = "open";
                                                        spec.driver.args = {"--foo", "--bar"};
                                                        spec.driver.env = {{"FOO", "foo"},
                                                                           {"BAR", "bar"}};
                                                        spec.options.manager.env = spec.driver.env;
                                                      }},
                                         DriverVector{
                                             "precompiled", "648926272",
                                             [](policy::NvidiaDriver& spec, SystemFacts& system) {
                                               spec.driver.image.version = "535";
                                               spec.options.precompiled = true;
                                               system.kernels = {"5.4.0-150-generic"};
                                             }},
                                         DriverVector{"host_manager", "495371686",
                                                      [](policy::NvidiaDriver& spec, SystemFacts&) {
                                                        spec.type = "vgpu-host-manager";
                                                        spec.driver.image.image = "vgpu-manager";
                                                      }}),
                         [](const auto& one) { return one.param.name; });

TEST(NvidiaDriverDigest, CountsWhatIsAskedForAndTheImagesOfThePod) {
  const Json pod = {{"initContainers", {{{"name", "k8s-driver-manager"}, {"image", "m:1"}}}},
                    {"containers",
                     {{{"name", "nvidia-driver-ctr"},
                       {"image", "d:1"},
                       {"command", {"nvidia-driver"}},
                       {"args", {"init", "--foo"}},
                       {"env", {{{"name", "KERNEL_MODULE_TYPE"}, {"value", "open"}}}},
                       {"volumeMounts",
                        {{{"name", "run-nvidia"}, {"mountPath", "/run/nvidia"}},
                         {{"name", "repo-config"}, {"mountPath", "/etc/apt/a"}, {"subPath", "a"}},
                         {{"name", "licensing-config"}, {"mountPath", "/drivers/gridd.conf"}}}}}}},
                    {"volumes",
                     {{{"name", "run-nvidia"}, {"hostPath", {{"path", "/run/nvidia"}}}},
                      {{"name", "repo-config"}, {"configMap", {{"name", "z-repo"}}}},
                      {{"name", "licensing-config"}, {"secret", {{"secretName", "s"}}}}}}};
  DriverConfig asked;
  asked.driver_args = {"--foo"};
  const DriverConfig config = DriverConfigOf(pod, asked);
  EXPECT_EQ(config.driver_image, "d:1");
  EXPECT_EQ(config.driver_manager_image, "m:1");
  EXPECT_EQ(config.driver_args, std::vector<std::string>{"--foo"});
  EXPECT_TRUE(config.driver_command.empty());
  EXPECT_TRUE(config.driver_env.empty());
  ASSERT_EQ(config.additional_volumes.size(), 2);
  EXPECT_EQ(config.additional_volumes[0].name, "licensing-config");
  EXPECT_EQ(config.additional_volumes[1].name, "z-repo") << "that of the user's ConfigMap";
  ASSERT_EQ(config.additional_volume_mounts.size(), 2);
  EXPECT_EQ(config.additional_volume_mounts[1].name, "z-repo");
  EXPECT_EQ(config.additional_volume_mounts[1].path, "/etc/apt/a");
}

// What a pod's spec says, and what of it does not count: fields of the pod, restarts' order.
TEST(DriverDigest, IsMadeFromAPod) {
  const Json pod = {
      {"hostPID", true},
      {"initContainers",
       {{{"name", "k8s-driver-manager"},
         {"image", "m:1"},
         {"env", {{{"name", "NODE_NAME"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "x"}}}}}}}}}}},
      {"containers",
       {{{"name", "nvidia-driver-ctr"},
         {"image", "d:1"},
         {"command", {"nvidia-driver"}},
         {"args", {"init"}},
         {"env",
          {{{"name", "B"}, {"value", "2"}}, {{"name", "A"}, {"value", "1"}}, {{"name", "C"}}}},
         {"envFrom", {{{"secretRef", {{"name", "s"}}}}}},
         {"volumeMounts",
          {{{"name", "v"}, {"mountPath", "/b"}}, {{"name", "v"}, {"mountPath", "/a"}}}}},
        {{"name", "nvidia-peermem-ctr"}, {"image", "d:1"}},
        {{"name", "nvidia-fs-ctr"}, {"image", "f:1"}},
        {{"name", "nvidia-gdrcopy-ctr"}, {"image", "g:1"}},
        {{"name", "openshift-driver-toolkit-ctr"}, {"image", "t:1"}}}},
      {"volumes",
       {{{"name", "v"}, {"secret", {{"secretName", "s"}}}},
        {{"name", "host-root"}, {"hostPath", {{"path", "/"}}}}}}};
  const DriverConfig config = DriverConfigOf(pod);
  EXPECT_EQ(config.driver_manager_image, "m:1");
  EXPECT_TRUE(config.manager_env.empty());
  EXPECT_EQ(config.driver_env, (DriverConfig::Variables{{"A", "1"}, {"B", "2"}, {"C", ""}}));
  EXPECT_EQ(config.secret_env_source, "s");
  ASSERT_EQ(config.additional_volume_mounts.size(), 2);
  EXPECT_EQ(config.additional_volume_mounts[0].path, "/a");
  EXPECT_EQ(config.host_root, "/");
  EXPECT_TRUE(config.gpu_direct_rdma && config.gds && config.gdrcopy && config.dtk);

  Json other = pod;
  other["hostPID"] = false;
  std::swap(other["containers"][0]["env"][0], other["containers"][0]["env"][1]);
  EXPECT_EQ(DigestOf(DriverConfigOf(other)), DigestOf(config));
  other["containers"][0]["image"] = "d:2";
  EXPECT_NE(DigestOf(DriverConfigOf(other)), DigestOf(config));
}

}  // namespace
}  // namespace gantry::gpu_operator
