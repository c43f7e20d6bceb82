// SPDX-License-Identifier: Apache-2.0
#include "policy/reasons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "base/text.h"

namespace gantry::reasons {
namespace {

using ::testing::HasSubstr;

// Tests run in the repository's root.
std::string TextOfFile(const char* path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Reasons, AreAllInTheList) {
  const std::string text = TextOfFile("src/policy/reasons.h");
  const std::regex row("constexpr Reason k\\w+\\s*=\\s*\\{\\s*\"(\\w+)\"");
  std::set<std::string> declared;
  for (std::sregex_iterator each(text.begin(), text.end(), row), end; each != end; ++each) {
    EXPECT_TRUE(declared.insert((*each)[1]).second) << (*each)[1] << " is declared twice";
  }
  std::set<std::string> listed;
  for (const Reason& reason : All()) {
    EXPECT_TRUE(listed.insert(reason.code).second) << reason.code;
    EXPECT_STRNE(reason.meaning, "") << reason.code;
  }
  EXPECT_EQ(listed, declared);
}

TEST(Reasons, AreAllInTheDoctorsPage) {
  const std::string page = TextOfFile("docs/doctor.md");
  for (const Reason& reason : All()) {
    EXPECT_THAT(page, HasSubstr(format("\n| `{}` | ", reason.code)));
  }
}

TEST(Reasons, AreFoundByTheirWriter) {
  EXPECT_STREQ(Find(Writer::kValidator, "CdiStale")->meaning, kCdiStale.meaning);
  EXPECT_EQ(Find(Writer::kDevicePlugin, "CdiStale"), nullptr);
  EXPECT_EQ(Find(Writer::kValidator, "ready"), nullptr);
}

}  // namespace
}  // namespace gantry::reasons
