// SPDX-License-Identifier: Apache-2.0
#include "operands/vfio_manager/journal_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::vfio_manager {
namespace {

TEST(JournalTextTest, IsReadBackInTheSameBoot) {
  const Journal journal = {{"0000:3b:00.0", {"nvidia", ""}}, {"0000:3b:00.1", {"", "vfio-pci"}}};
  const std::string text = JournalText(journal, "boot-1");
  EXPECT_EQ(ParseJournal(text, "boot-1"), journal);
  EXPECT_EQ(ParseJournal(text, "boot-2"), Journal());
}

TEST(JournalTextTest, OtherTextIsRefused) {
  for (const char* text : {"", "[]", "{}", R"({"functions": []})", "{"}) {
    EXPECT_FALSE(ParseJournal(text, "boot-1").has_value()) << text;
  }
}

}  // namespace
}  // namespace gantry::vfio_manager
