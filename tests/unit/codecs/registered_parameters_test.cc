// What codecs say about their parameters, which programs act on without knowing a codec.
#include <gtest/gtest.h>

#include <algorithm>

#include "codecs/parameter_values.h"

namespace tensorpress {
namespace {

const ParameterInfo* find(const CodecInfo& codec, std::string_view name) {
  const auto found = std::ranges::find(codec.parameters, name, &ParameterInfo::name);
  return found == codec.parameters.end() ? nullptr : &*found;
}

TEST(RegisteredParameters, NeedAChoiceOfTheSameCodecThatIsNotItsDefault) {
  std::size_t needs = 0;
  for (const CodecInfo& codec : codecs()) {
    for (const ParameterInfo& parameter : codec.parameters) {
      if (!parameter.needs) continue;
      ++needs;
      const ParameterInfo* const needed = find(codec, parameter.needs->name);
      ASSERT_NE(needed, nullptr) << codec.name << " " << parameter.name;
      EXPECT_TRUE(one_of(*needed, parameter.needs->value).ok()) << parameter.needs->value;
      EXPECT_NE(needed->default_value, parameter.needs->value);
    }
  }
  EXPECT_GT(needs, 0u);
}

TEST(RegisteredParameters, MeanTheSameInAllCodecsThatShareAName) {
  for (const CodecInfo& codec : codecs()) {
    for (const CodecInfo& other : codecs()) {
      for (const ParameterInfo& parameter : codec.parameters) {
        const ParameterInfo* const same = find(other, parameter.name);
        if (same == nullptr) continue;
        EXPECT_EQ(same->file, parameter.file) << parameter.name;
        EXPECT_EQ(same->needs.has_value(), parameter.needs.has_value()) << parameter.name;
      }
    }
  }
}

}  // namespace
}  // namespace tensorpress
