// Our attributes of variables: what is written can be read, and no text does harm.
#include "files/rewriting/provenance.h"

#include <gtest/gtest.h>

#include "files/conventions/hdf5_filter_settings.h"
#include "files/conventions/netcdf_conventions.h"

namespace tensorpress::files {
namespace {

TEST(Provenance, StorageComesBackFromItsText) {
  const Storage all[] = {
      {},
      {.contiguous = true},
      {.filters = {{.id = kShuffleFilter}, {.id = kDeflateFilter, .values = {4}}}},
      {.filters = {{.id = kDeflateFilter, .values = {9}}, {.id = kFletcherFilter}}},
      {.filters = {{.id = 32015, .values = {3, 0, 4294967295}}}},
  };
  const char* const texts[] = {"none", "contiguous", "shuffle deflate:4", "deflate:9 fletcher32",
                               "32015:3,0,4294967295"};
  for (std::size_t i = 0; i < std::size(all); ++i) {
    EXPECT_EQ(to_text(all[i]), texts[i]);
    const auto back = parse_storage(texts[i]);
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(*back, all[i]);
  }
}

TEST(Provenance, DamagedTextOfStorageIsAnError) {
  for (const char* const text : {"deflate:x", "gzip", "1:2:3", "-1", "4294967296", "7:,", "a b"}) {
    EXPECT_FALSE(parse_storage(text).ok()) << text;
  }
}

NetcdfVariable with_filter(const Hdf5FilterSettings& settings) {
  NetcdfVariable variable;
  variable.filters = {{.id = kHdf5FilterId, .values = settings.to_words().value()}};
  return variable;
}

TEST(Provenance, TheFilterTellsWhatNoAttributeDoes) {
  const Codec dense = Codec::make("dense").value();
  auto variable = with_filter({.codec = dense, .bound = Bound::absolute(0.5)});
  read_provenance({}, variable);
  EXPECT_EQ(to_text(variable.history), "dense abs 0.5");
  // A history that ends in what the filter did is complete.
  read_provenance({text_attribute("tensorpress_history", "ceresz abs 1; dense abs 0.5")}, variable);
  EXPECT_EQ(to_text(variable.history), "ceresz abs 1; dense abs 0.5");
  // One that does not is older than the filter.
  read_provenance({text_attribute("tensorpress_history", "ceresz abs 1")}, variable);
  EXPECT_EQ(to_text(variable.history), "ceresz abs 1; dense abs 0.5");
  variable = with_filter({.codec = dense, .bound = Bound::absolute(0)});
  read_provenance({}, variable);
  EXPECT_TRUE(variable.history.empty());
  variable = with_filter({.codec = dense, .bound = Bound::psnr(60)});
  read_provenance({}, variable);
  EXPECT_FALSE(stream::error_of(variable.history).has_value());
}

TEST(Provenance, AHistoryThatCannotBeReadIsAnUnknownLoss) {
  for (const char* const text :
       {"dense abs", "dense rel 0.1", "dense abs -1", " ", "dense abs nan"}) {
    NetcdfVariable variable;
    read_provenance({text_attribute("tensorpress_history", text)}, variable);
    ASSERT_FALSE(variable.history.empty()) << text;
    EXPECT_FALSE(stream::error_of(variable.history).has_value()) << text;
  }
}

TEST(Provenance, PackingAgainLosesNothingWhereTheErrorIsBelowHalfAStep) {
  NetcdfNotes notes;
  notes.type = NetcdfType::i16;
  notes.attributes = {number_attribute("scale_factor", 0.1)};
  const auto history = [](double error) {
    return stream::History{{.codec = "dense", .error = Bound::absolute(error)}};
  };
  EXPECT_TRUE(history_when_packed(history(0.04), notes, DType::f32).empty());
  EXPECT_TRUE(history_when_packed({}, notes, DType::f64).empty());
  EXPECT_EQ(to_text(history_when_packed(history(0.06), notes, DType::f64)),
            "dense abs 0.06; packing abs 0.1");
  // Whole numbers of 32 bits are too many for f32.
  notes.type = NetcdfType::i32;
  EXPECT_EQ(to_text(history_when_packed({}, notes, DType::f32)), "packing abs 0.1");
  notes.type = NetcdfType::f32;
  EXPECT_EQ(to_text(history_when_packed(history(0.04), notes, DType::f32)), "dense abs 0.04");
}

TEST(Provenance, AttributesSayWhatWasDone) {
  const auto attributes =
      to_attributes(Provenance{.codec = "dense",
                               .bound = Bound::relative(0.001),
                               .history = {{.codec = "dense", .error = Bound::absolute(0.25)}},
                               .stored_before = {}});
  EXPECT_EQ(text_of(attributes, "tensorpress_codec"), "dense");
  EXPECT_EQ(text_of(attributes, "tensorpress_bound"), "rel 0.001");
  EXPECT_EQ(text_of(attributes, "tensorpress_history"), "dense abs 0.25");
  EXPECT_EQ(text_of(attributes, "tensorpress_filters_before"), "none");
  ASSERT_NE(find_attribute(attributes, "tensorpress_max_abs_error"), nullptr);
  EXPECT_EQ(find_attribute(attributes, "tensorpress_max_abs_error")->value.numbers(),
            std::vector<double>{0.25});
}

}  // namespace
}  // namespace tensorpress::files
