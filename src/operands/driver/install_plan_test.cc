// SPDX-License-Identifier: Apache-2.0
#include "operands/driver/install_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::driver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kKernel[] = "6.1.0-50-amd64";
constexpr char kVersion[] = "535.247.01";

Flags Asked() {
  Flags flags;
  flags.version = kVersion;
  flags.kernel_release = kKernel;
  flags.precompiled = "/pre";
  flags.packages = "/packages";
  flags.sources = "/usr/src";
  return flags;
}

InstallFacts Everything() {
  InstallFacts facts;
  facts.packages = {{"/packages/p.deb", kKernel, kVersion, true},
                    {"/pre/p", kKernel, kVersion, false},
                    {"/pre/other", "6.1.0-49-amd64", kVersion, false}};
  facts.sources = {{"/usr/src/nvidia-535.247.01", kVersion, false},
                   {"/usr/src/nvidia-open-535.247.01", kVersion, true},
                   {"/usr/src/nvidia-550.54.15", "550.54.15", false}};
  facts.headers = {"/common", "/build"};
  facts.headers_looked_for = {"/lib/modules/6.1.0-50-amd64/build"};
  return facts;
}

TEST(PlanInstallTest, TakesWhatIsPrecompiledForThisKernelDriverAndKind) {
  Flags flags = Asked();
  const InstallFacts facts = Everything();
  const auto either = PlanInstall(flags, facts).value();
  EXPECT_EQ(either.way, Way::kPrecompiled);
  EXPECT_EQ(either.from, "/pre/p");
  EXPECT_FALSE(either.open);

  flags.module_type = ModuleType::kOpen;
  const auto open = PlanInstall(flags, facts).value();
  EXPECT_EQ(open.way, Way::kPackage);
  EXPECT_EQ(open.from, "/packages/p.deb");

  flags.precompiled_use = Precompiled::kNever;
  const auto compiled = PlanInstall(flags, facts).value();
  EXPECT_EQ(compiled.way, Way::kCompile);
  EXPECT_EQ(compiled.from, "/usr/src/nvidia-open-535.247.01");
  EXPECT_EQ(compiled.note, "");
}

TEST(PlanInstallTest, ALoadedDriverOfThatVersionAndTheseSettingsStays) {
  InstallFacts facts = Everything();
  facts.loaded = true;
  facts.loaded_version = kVersion;
  EXPECT_EQ(PlanInstall(Asked(), facts).value().way, Way::kPrecompiled);
  facts.same_digest = true;
  EXPECT_EQ(PlanInstall(Asked(), facts).value().way, Way::kLoaded);
  facts.runfile = "/cache/driver.run";
  EXPECT_EQ(PlanInstall(Asked(), facts).value().from, "") << "it did not come from there";
  facts.packages.clear();
  EXPECT_EQ(PlanInstall(Asked(), facts).value().from, "");
  facts.sources.clear();
  EXPECT_EQ(PlanInstall(Asked(), facts).value().from, "/cache/driver.run");
  EXPECT_EQ(PlanInstall(Asked(), facts).value().way, Way::kLoaded);
  facts = Everything();
  facts.loaded = facts.same_digest = true;
  facts.loaded_version = "550.54.15";
  EXPECT_EQ(PlanInstall(Asked(), facts).value().way, Way::kPrecompiled);
}

TEST(PlanInstallTest, CompilesWhereNoPackageIsAndSaysWhichItLookedFor) {
  InstallFacts facts = Everything();
  facts.packages = {{"/pre/other", "6.1.0-49-amd64", kVersion, false}};
  const auto plan = PlanInstall(Asked(), facts).value();
  EXPECT_EQ(plan.way, Way::kCompile);
  EXPECT_EQ(plan.from, "/usr/src/nvidia-535.247.01");
  EXPECT_EQ(plan.note,
            "no package of modules 6.1.0-50-amd64/535.247.01/proprietary or open in /pre or "
            "/packages (there: 6.1.0-49-amd64/535.247.01/proprietary)");
}

TEST(PlanInstallTest, SaysWhatIsMissing) {
  Flags flags = Asked();
  flags.precompiled_use = Precompiled::kOnly;
  InstallFacts facts = Everything();
  facts.packages.clear();
  const auto forbidden = PlanInstall(flags, facts);
  ASSERT_FALSE(forbidden.has_value());
  EXPECT_EQ(forbidden.error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(forbidden.error().message,
            "install driver 535.247.01 for kernel 6.1.0-50-amd64: no package of modules "
            "6.1.0-50-amd64/535.247.01/proprietary or open in /pre or /packages (there: none), and "
            "USE_PRECOMPILED=true forbids to compile");

  flags.precompiled_use = Precompiled::kNever;
  flags.module_type = ModuleType::kOpen;
  facts.headers = {};
  facts.sources = {{"/usr/src/a", "550.54.15", true}, {"/usr/src/b", kVersion, false}};
  EXPECT_EQ(PlanInstall(flags, facts).error().message,
            "install driver 535.247.01 for kernel 6.1.0-50-amd64: no open sources of 535.247.01 "
            "below /usr/src (there: 535.247.01 proprietary, 550.54.15 open); no headers of kernel "
            "6.1.0-50-amd64 (looked for: /lib/modules/6.1.0-50-amd64/build)");
}

TEST(PlanInstallTest, NamesNoMoreThanAFewOfManyPackages) {
  InstallFacts facts;
  for (int i = 0; i < 9; ++i) {
    facts.packages.push_back({"/pre", "6.1." + std::to_string(i), kVersion, true});
  }
  EXPECT_THAT(PlanInstall(Asked(), facts).error().message,
              HasSubstr("6.1.3/535.247.01/open, 5 more"));
}

TEST(PlanInstallTest, ARunfileComesAfterSourcesAndNeedsHeaders) {
  InstallFacts facts = Everything();
  facts.packages.clear();
  facts.runfile = "/cache/driver.run";
  EXPECT_EQ(PlanInstall(Asked(), facts).value().way, Way::kCompile);
  facts.sources.clear();
  const auto plan = PlanInstall(Asked(), facts).value();
  EXPECT_EQ(plan.way, Way::kRunfile);
  EXPECT_EQ(plan.from, "/cache/driver.run");
  facts.headers = {};
  EXPECT_THAT(PlanInstall(Asked(), facts).error().message, HasSubstr("no headers of kernel"));
}

TEST(OpenOrNotTest, IsNvidiasRule) {
  EXPECT_THAT(OpenOrNot(ModuleType::kAuto, "560.28.03"), ElementsAre(true, false));
  EXPECT_THAT(OpenOrNot(ModuleType::kAuto, "550.54.15"), ElementsAre(false, true));
  EXPECT_THAT(OpenOrNot(ModuleType::kAuto, "1.0"), ElementsAre(false, true));
  EXPECT_THAT(OpenOrNot(ModuleType::kAuto, "main"), ElementsAre(true, false));
  EXPECT_THAT(OpenOrNot(ModuleType::kOpen, "550"), ElementsAre(true));
  EXPECT_THAT(OpenOrNot(ModuleType::kProprietary, "570"), ElementsAre(false));
}

TEST(ParseTreeNameTest, HasVersionAndKind) {
  struct Case {
    const char* folder;
    const char* version;
    bool open;
  };
  for (const Case& each :
       {Case{"nvidia-535.247.01", "535.247.01", false},
        Case{"nvidia-open-535.247.01", "535.247.01", true},
        Case{"nvidia-current-open-535.247.01", "535.247.01", true},
        Case{"nvidia-current-535.247.01", "535.247.01", false}, Case{"nvidia-open", "", false},
        Case{"nvidia-", "", false}, Case{"nvidia-1.", "", false}, Case{"googletest", "", false},
        Case{"linux-headers-6.1.0", "", false}}) {
    EXPECT_EQ(ParseTreeName(each.folder).version, each.version) << each.folder;
    EXPECT_EQ(ParseTreeName(each.folder).open, each.open) << each.folder;
  }
}

TEST(ParsePackageTest, SaysForWhichKernelItIs) {
  constexpr char kPaths[] =
      "./\n./lib/modules/6.1.0-50-amd64/\n./lib/modules/6.1.0-50-amd64/updates/dkms/nvidia.ko.xz\n";
  EXPECT_EQ(ParsePackage("nvidia-open-kernel-6.1", "1:535.247.01-1~deb12u1", kPaths),
            (ModulePackage{"", kKernel, kVersion, true}));
  EXPECT_EQ(ParsePackage("linux-modules-nvidia-535", "535.247.01", kPaths),
            (ModulePackage{"", kKernel, kVersion, false}));
  EXPECT_EQ(ParsePackage("doc", "1.0", "./usr/share/doc/lib/modules/x\n").kernel_release, "");
}

TEST(CommonHeadersTest, AreWhatDebiansMakefileIncludes) {
  EXPECT_EQ(CommonHeaders("KERNELVERSION = 6.1\n"
                          "include /usr/src/linux-headers-6.1.0-50-common/Makefile\n"),
            "/usr/src/linux-headers-6.1.0-50-common");
  EXPECT_EQ(CommonHeaders("include scripts/Makefile\n"), "");
}

}  // namespace
}  // namespace gantry::driver
