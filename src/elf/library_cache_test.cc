// SPDX-License-Identifier: Apache-2.0
// Whether the cache that we write is one that ldconfig and the linker read: compared with what the
// machine's own ldconfig makes and prints.
#include "elf/library_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/paths.h"
#include "base/testing/shell.h"
#include "base/testing/temp_folder.h"
#include "base/text.h"

namespace gantry::elf {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string Scratch(const std::string& content) {
  std::string pattern = testing::TempDir() + "/cache.XXXXXX";
  ::close(::mkstemp(pattern.data()));
  std::ofstream(pattern) << content;
  return pattern;
}

// The cache with libraries added.
std::string With(const std::string& cache, const std::vector<CachedLibrary>& libraries) {
  return LibraryCache::Read(cache).value().With(libraries).Whole();
}

std::vector<CachedLibrary> Listed(const std::string& cache) {
  std::vector<CachedLibrary> libraries;
  const LibraryCache read = LibraryCache::Read(cache).value();
  for (const CachedName& each : read.names()) {
    libraries.push_back({std::string(each.soname), std::string(each.path)});
  }
  return libraries;
}

const std::vector<CachedLibrary> kDriver = {{"libcuda.so.1", "/driver/libcuda.so.1"},
                                            {"libnvidia-ml.so.1", "/driver/libnvidia-ml.so.1"}};

TEST(LibraryCache, LdconfigReadsWhatWeAdded) {
  const std::string before = ReadFile("/etc/ld.so.cache").value_or("");
  ASSERT_FALSE(before.empty()) << "this test needs a machine with glibc";
  const std::string path = Scratch(With(before, kDriver));
  const std::string listed = Shell("/sbin/ldconfig -p -C " + path).output;
  EXPECT_THAT(listed, HasSubstr("libcuda.so.1 (libc6,x86-64) => /driver/libcuda.so.1"));
  EXPECT_THAT(listed, HasSubstr("libnvidia-ml.so.1 (libc6,x86-64) => /driver/libnvidia-ml.so.1"));
  const std::string was = Shell("/sbin/ldconfig -p -C /etc/ld.so.cache").output;
  for (const std::string& line : Split(was, '\n')) {
    if (line.find("=>") != std::string::npos) {
      EXPECT_THAT(listed, HasSubstr(line));
    }
  }
  std::filesystem::remove(path);
}

TEST(LibraryCache, OrderIsThatOfLdconfig) {
  const std::string before = ReadFile("/etc/ld.so.cache").value_or("");
  const auto entries = Listed(before);
  const auto again = With(before, {});
  EXPECT_EQ(Listed(again), entries);
  // Taken out and put in again, an entry lands where it was.
  const CachedLibrary& middle = entries[entries.size() / 2];
  const auto moved = Listed(With(before, {middle}));
  EXPECT_EQ(moved[entries.size() / 2].soname, middle.soname);
  EXPECT_EQ(moved.size(), entries.size());
}

TEST(LibraryCache, OursComeBeforeTheImagesOfTheSameName) {
  const std::string image = With("", {{"libcuda.so.1", "/image/libcuda.so.1"}});
  const std::string merged = With(
      image, {{"libcuda.so.1", "/compat/libcuda.so.1"}, {"libcuda.so.1", "/driver/libcuda.so.1"}});
  EXPECT_THAT(Listed(merged), ElementsAre(CachedLibrary{"libcuda.so.1", "/compat/libcuda.so.1"},
                                          CachedLibrary{"libcuda.so.1", "/driver/libcuda.so.1"},
                                          CachedLibrary{"libcuda.so.1", "/image/libcuda.so.1"}));
}

TEST(LibraryCache, ACacheThatIsNotInOrderLosesNothing) {
  const std::vector<CachedLibrary> libraries = {
      {"liba.so.2", "/a2"}, {"liba.so.10", "/a10"}, {"libz.so.1", "/z"}};
  std::string cache = With("", libraries);
  std::string first = cache.substr(48, 24);
  cache.replace(48, 24, cache.substr(96, 24));
  cache.replace(96, 24, first);
  auto expected = libraries;
  expected.push_back({"libm.so.1", "/m"});
  EXPECT_THAT(Listed(With(cache, {{"libm.so.1", "/m"}})),
              testing::UnorderedElementsAreArray(expected));
}

TEST(LibraryCache, HasWhatIsFoundFirst) {
  const std::string image = With("", {{"libcuda.so.1", "/image/libcuda.so.1"}});
  const auto has = [](const std::string& cache, const std::vector<CachedLibrary>& libraries) {
    return LibraryCache::Read(cache)->Has(libraries);
  };
  EXPECT_FALSE(has("", kDriver));
  EXPECT_FALSE(has(image, kDriver));
  EXPECT_TRUE(has(With(image, kDriver), kDriver));
  EXPECT_TRUE(has(image, {}));
  const std::vector<CachedLibrary> both = {{"libcuda.so.1", "/compat/libcuda.so.1"}, kDriver[0]};
  EXPECT_FALSE(has(With(image, kDriver), both));
  EXPECT_FALSE(has(With(image, both), {both[1]})) << "found, but not first";
  EXPECT_TRUE(has(With(image, both), both));
}

TEST(LibraryCache, TheLinkerFindsALibraryByIt) {
  // An image without a cache gets one with ours alone; ldconfig accepts it.
  const std::string path = Scratch(With("", kDriver));
  EXPECT_THAT(Shell("/sbin/ldconfig -p -C " + path).output, HasSubstr("2 libs found in cache"));
  std::filesystem::remove(path);
}

TEST(LibraryCache, AddingTwiceChangesNothing) {
  const std::string once = With(ReadFile("/etc/ld.so.cache").value_or(""), kDriver);
  EXPECT_EQ(Listed(With(once, kDriver)), Listed(once));
}

TEST(LibraryCache, ExtensionsSurvive) {
  const std::string before = ReadFile("/etc/ld.so.cache").value_or("");
  const std::string path = Scratch(With(before, kDriver));
  const std::string generator = Shell("/sbin/ldconfig -p -C /etc/ld.so.cache | tail -1").output;
  EXPECT_EQ(Shell("/sbin/ldconfig -p -C " + path + " | tail -1").output, generator);
  std::filesystem::remove(path);
}

TEST(LibraryCache, FoldersOfALibrary) {
  const TempFolder temporary;
  const std::string& root = temporary.path();
  EXPECT_THAT(CachedFolders(root, "liba.so.1"), testing::IsEmpty());
  std::filesystem::create_directories(root + "/etc");
  std::ofstream(root + "/etc/ld.so.cache") << With("", {{"liba.so.1", "/opt/x/liba.so.1"},
                                                        {"liba.so.1", "/opt/x/liba.so.1.2"},
                                                        {"liba.so.1", "/opt/y/liba.so.1"},
                                                        {"libb.so.1", "/opt/z/libb.so.1"}});
  EXPECT_THAT(CachedFolders(root, "liba.so.1"), ElementsAre("/opt/x", "/opt/y"));
  // The flags of the first entry, which follows 48 bytes: a library of 32 bits.
  std::string cache = With("", {{"liba.so.1", "/opt/x/liba.so.1"}});
  cache.replace(48, 4, std::string("\3\0\0\0", 4));
  std::ofstream(root + "/etc/ld.so.cache") << cache;
  EXPECT_THAT(CachedFolders(root, "liba.so.1"), testing::IsEmpty());
}

TEST(LibraryCache, WhatIsNoCacheIsRefused) {
  EXPECT_FALSE(LibraryCache::Read("garbage").has_value());
  std::string cut = With("", kDriver);
  cut.resize(cut.size() - 4);
  EXPECT_FALSE(LibraryCache::Read(cut).has_value());
  EXPECT_FALSE(LibraryCache::Read(cut.substr(0, 60)).has_value());
  std::string wild = With("", kDriver);
  wild[48 + 4] = '\x7f';
  wild[48 + 7] = '\x7f';  // the first key points far away
  EXPECT_FALSE(LibraryCache::Read(wild).has_value());
}

}  // namespace
}  // namespace gantry::elf
