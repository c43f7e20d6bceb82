// SPDX-License-Identifier: Apache-2.0
// ldconfig's rules for one folder; whether they are ldconfig's is seen in library_update_test.cc.
#include "operands/container_runtime/library_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::container_runtime {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr bool kLink = true;

TEST(LibraryNames, TheNameOfTheLinkerForProgramsIsListedToo) {
  const LibraryNames names = NamesIn("/d", {{"libcuda.so", "libcuda.so.1", kLink},
                                            {"libcuda.so.1", "libcuda.so.1", kLink},
                                            {"libcuda.so.535.1", "libcuda.so.1"}});
  EXPECT_THAT(names.libraries, ElementsAre(elf::CachedLibrary{"libcuda.so", "/d/libcuda.so"},
                                           elf::CachedLibrary{"libcuda.so.1", "/d/libcuda.so.1"}));
  EXPECT_THAT(names.links, ElementsAre(SymbolicLink{"libcuda.so.535.1", "/d/libcuda.so.1"}));
}

TEST(LibraryNames, AnyOtherLinkIsOneMoreFileOfItsSoname) {
  const LibraryNames names = NamesIn("/d", {{"libGLX_indirect.so.0", "libGLX_nvidia.so.0", kLink},
                                            {"libGLX_nvidia.so.535.1", "libGLX_nvidia.so.0"}});
  EXPECT_THAT(names.libraries,
              ElementsAre(elf::CachedLibrary{"libGLX_nvidia.so.0", "/d/libGLX_nvidia.so.0"}));
  EXPECT_THAT(names.links,
              ElementsAre(SymbolicLink{"libGLX_nvidia.so.535.1", "/d/libGLX_nvidia.so.0"}));
}

TEST(LibraryNames, TheGreatestVersionCountsAsANumber) {
  EXPECT_THAT(NamesIn("/d", {{"liba.so.1.9", "liba.so.1"}, {"liba.so.1.10", "liba.so.1"}}).links,
              ElementsAre(SymbolicLink{"liba.so.1.10", "/d/liba.so.1"}));
}

TEST(LibraryNames, AFileOfThatNameIsNotReplaced) {
  const LibraryFile other = {.name = "libb.so.1", .library = false};
  EXPECT_THAT(NamesIn("/d", {{"liba.so.1", "liba.so.1"}, {"liba.so.1.2", "liba.so.1"}}).links,
              IsEmpty());
  EXPECT_THAT(NamesIn("/d", {other, {"libb.so.1.2", "libb.so.1"}}).links, IsEmpty());
}

TEST(LibraryNames, WithoutASonameAFilesNameIsIt) {
  const LibraryNames names =
      NamesIn("/d", {{"liba.so.7", ""}, {"liba.so", "", kLink}, {"libn.so", "", false, true}});
  EXPECT_THAT(names.libraries, ElementsAre(elf::CachedLibrary{"liba.so", "/d/liba.so"},
                                           elf::CachedLibrary{"liba.so.7", "/d/liba.so.7"},
                                           elf::CachedLibrary{"libn.so", "/d/libn.so", true}));
  EXPECT_THAT(names.links, IsEmpty());
}

TEST(LibraryNames, LinksOfADocumentAreNamesIfTheyLeadToALibraryOfTheirFolder) {
  const std::vector<elf::CachedLibrary> libraries = {{"liba.so.1", "/d/liba.so.1.2"},
                                                     {"libb.so.1", "/e/libb.so.1.2"}};
  const auto names = [&](const SymbolicLink& link) { return NamesOf(libraries, {link}).libraries; };
  for (const char* target : {"liba.so.1", "liba.so.1.2", "/d/liba.so.1"}) {
    EXPECT_THAT(names({target, "/d/liba.so"}),
                ElementsAre(elf::CachedLibrary{"liba.so", "/d/liba.so"},
                            elf::CachedLibrary{"liba.so.1", "/d/liba.so.1"},
                            elf::CachedLibrary{"libb.so.1", "/e/libb.so.1"}))
        << target;
  }
  for (const SymbolicLink& link : {SymbolicLink{"liba.so.9", "/d/liba.so"},
                                   {"../d/liba.so.1", "/e/liba.so"},
                                   {"liba.so.1", "/f/liba.so"},
                                   {"liba.so.1", "/d/a.so"},
                                   {"liba.so.1", "/d/libz.so.3"}}) {
    EXPECT_THAT(names(link), testing::SizeIs(2)) << link.target << " " << link.path;
  }
  EXPECT_THAT(NamesOf(libraries, {{"liba.so.1.2", "/d/libz.so.3"}}).links,
              ElementsAre(SymbolicLink{"liba.so.1.2", "/d/liba.so.1"},
                          SymbolicLink{"libb.so.1.2", "/e/libb.so.1"}));
}

TEST(LibraryNames, NamesThatLdconfigLooksAt) {
  for (const char* name :
       {"liba.so", "liba.so.1", "ld-linux-x86-64.so.2", "ld.so.1", "ld64.so.2"}) {
    EXPECT_TRUE(IsLibraryName(name)) << name;
  }
  for (const char* name : {"a.so", "liba.a", "ld.bfd", "liba.so.1.#prelink#.x1"}) {
    EXPECT_FALSE(IsLibraryName(name)) << name;
  }
}

}  // namespace
}  // namespace gantry::container_runtime
