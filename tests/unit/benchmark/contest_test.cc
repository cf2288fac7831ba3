// bench --peers without any peer: what is handed to the filters, names of raw files, the rules of
// the contest with contenders whose answers are known, and how it is shown.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/errors.h"
#include "benchmark/contest.h"
#include "benchmark/contest_summary.h"
#include "benchmark/own_contenders.h"
#include "benchmark/peers/filter_options.h"
#include "benchmark/peers/peers.h"
#include "benchmark/peers/python/pythons.h"
#include "benchmark/peers/python/worker.h"
#include "files/tensor/raw_format.h"
#include "report/pages/contest_page.h"
#include "unit/report/tag_balance.h"

namespace tensorpress::benchmark {
namespace {

// Expectations in the first three tests were printed by hdf5plugin 7.1.0: SZ(absolute=...),
// Sperr(absolute=..., swap=True), Zfp(accuracy=...), Blosc2('zstd', 5, SHUFFLE).filter_options.
TEST(FilterOptions, SzTakesTheBoundAsTwoWordsHighFirst) {
  EXPECT_EQ(*sz_options(1e-3), (FilterOptions{0, 1062232653, 3539053052, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(*sz3_options(2.5), (FilterOptions{0, 1074003968, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(FilterOptions, SperrTakesALogarithmThatNeverLoosensTheBound) {
  EXPECT_EQ(*sperr_options(1e-3), (FilterOptions{3087660862, 0}));
  EXPECT_EQ(*sperr_options(0.26524582678452135), (FilterOptions{3087133220, 0}));
  EXPECT_EQ(*sperr_options(1.0), (FilterOptions{2952790016, 0}));
  EXPECT_EQ(*sperr_options(2.5), (FilterOptions{2952876649, 0}));
  EXPECT_EQ(*sperr_options(1e-12), (FilterOptions{3089620215, 0}));
}

TEST(FilterOptions, ZfpTakesTheToleranceLowWordFirstAndBloscNone) {
  EXPECT_EQ(*zfp_options(1e-3), (FilterOptions{3, 0, 3539053052, 1062232653, 0, 0}));
  EXPECT_EQ(*blosc2_zstd_options(1e-3), (FilterOptions{0, 0, 0, 0, 5, 1, 5}));
}

TEST(FilterOptions, ABoundOfZeroIsRefusedByLossyFilters) {
  for (const FilterPeer& peer : filter_peers()) {
    for (const double bound : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
      EXPECT_EQ(peer.options(bound).ok(), peer.lossless) << peer.name;
    }
  }
}

TEST(RawName, ShapeAndTypeAreAtTheEnd) {
  const auto format = files::raw_format_of_name("some/dir_2x2.f32/wmag91_91x91x91.f32");
  ASSERT_TRUE(format);
  EXPECT_EQ(format->shape, (Shape{91, 91, 91}));
  EXPECT_EQ(format->dtype, DType::f32);
  EXPECT_EQ(files::raw_format_of_name("yf17_temp_97104.f64")->shape, Shape{97104});
  EXPECT_EQ(files::field_name_of("a/wmag91_91x91x91.f32"), "wmag91");
  EXPECT_EQ(files::field_name_of("a/sst.npy"), "sst");
  EXPECT_EQ(files::field_name_of("a/sst_3x4.npy"), "sst_3x4");
}

TEST(RawName, OtherNamesSayNothing) {
  for (const char* name : {"x.npy", "x.f32", "x_3x4.npy", "x_3x4", "x_3xx4.f32", "x_x4.f32",
                           "x_4x.f32", "x_.f32", "x_3-4.f32", "", "_99999999999999999999x2.f32"}) {
    EXPECT_FALSE(files::raw_format_of_name(name)) << name;
  }
}

/// Gives back the field with `error` added to its last element.
class Pretender : public Contender {
 public:
  Pretender(std::string name, double error) : name_(std::move(name)), error_(error) {}
  std::string name() const override { return name_; }
  Result<void> prepare(const Field& field, const FieldBound&) override {
    if (field.has_nonfinite) return unsupported("NaN");
    view_ = field.view;
    return {};
  }
  Result<double> compress() override { return 0.5; }
  Result<double> decompress(std::span<std::byte> output) override {
    std::memcpy(output.data(), view_.data, output.size());
    double last = 0;
    std::memcpy(&last, output.data() + output.size() - sizeof last, sizeof last);
    last += error_;
    std::memcpy(output.data() + output.size() - sizeof last, &last, sizeof last);
    return 0.25;
  }
  Result<std::uint64_t> compressed_bytes() const override { return view_.byte_count() / 4; }

 private:
  std::string name_;
  double error_;
  TensorView view_;
};

LoadedField field_of(const std::vector<double>& values, std::vector<double> fills = {}) {
  const auto view = TensorView::contiguous(reinterpret_cast<const std::byte*>(values.data()),
                                           DType::f64, Shape{values.size()});
  return load_field("ramp", view, std::move(fills)).value();
}

std::vector<ContestRow> rows_of(const LoadedField& field, const Bound& bound) {
  std::vector<std::unique_ptr<Contender>> contenders;
  contenders.push_back(std::make_unique<Pretender>("sz3", 0.0625));
  contenders.push_back(std::make_unique<Pretender>("loose", 0.125));
  return run_contest(field, *field.resolve(bound), contenders,
                     {.repetitions = 2, .least_seconds = 0});
}

TEST(Contest, FillValuesAndInfinitiesDoNotCountInTheRange) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto field = field_of({1, -1e34, 3, infinity, 2}, {-1e34});
  EXPECT_EQ(field.minimum, 1);
  EXPECT_EQ(field.maximum, 3);
  EXPECT_TRUE(field.has_nonfinite);
  EXPECT_EQ(field.resolve(Bound::relative(0.25))->absolute, 0.5);
  EXPECT_EQ(field.resolve(Bound::absolute(0.25))->absolute, 0.25);
  EXPECT_FALSE(field.resolve(Bound::psnr(60)).ok());
  EXPECT_FALSE(field.resolve(Bound::absolute(-1)).ok());
}

TEST(Contest, RowsSayWhoKeptTheBound) {
  const auto rows = rows_of(field_of({0, 1, 2, 4}), Bound::absolute(0.0625));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(rows[0].kept_bound);
  EXPECT_FALSE(rows[1].kept_bound);
  EXPECT_EQ(rows[1].max_abs_error, 0.125);
  EXPECT_EQ(rows[1].max_rel_error, 0.03125);
  EXPECT_NEAR(rows[1].psnr_db, 20 * std::log10(4 / (0.125 / 2)), 1e-9);
  EXPECT_EQ(rows[0].ratio, 4);
  EXPECT_EQ(rows[0].bits_per_value, 16);
  EXPECT_EQ(rows[0].compress_gb_per_s, 32e-9 / 0.5);
  EXPECT_EQ(rows[0].decompress_gb_per_s, 32e-9 / 0.25);
}

TEST(Contest, WhoCannotSaysWhy) {
  const auto rows =
      rows_of(field_of({0, std::numeric_limits<double>::quiet_NaN()}), Bound::absolute(1));
  EXPECT_EQ(rows[0].cannot, "NaN");
  EXPECT_NE(report::contest_text(rows[0]).find("cannot: NaN"), std::string::npos);
}

TEST(Contest, MeansAreGeometricAndLeaveOutWhatCouldNotBe) {
  std::vector<ContestRow> rows(3);
  rows[0] = {.field = "a", .codec = "x", .ratio = 2, .bits_per_value = 1};
  rows[1] = {.field = "b", .codec = "x", .ratio = 8, .bits_per_value = 1, .psnr_db = 60};
  rows[1].max_rel_error = 0.01;
  rows[0].psnr_db = std::numeric_limits<double>::infinity();
  rows[2] = {.field = "c", .codec = "x", .cannot = "why"};
  const auto means = means_of(rows, "sz3");
  ASSERT_EQ(means.size(), 1u);
  EXPECT_NEAR(means[0].ratio, 4, 1e-12);
  EXPECT_EQ(means[0].psnr_db, 60);
  EXPECT_NEAR(means[0].max_rel_error, 0.01, 1e-12);
  EXPECT_EQ(means[0].fields, 2u);
  EXPECT_EQ(means[0].of, 3u);
  EXPECT_TRUE(std::isnan(means[0].ratio_over_reference));
}

TEST(Contest, ThePageIsWellFormedAndNamesEverybody) {
  auto rows = rows_of(field_of({0, 1, 2, 4}), Bound::absolute(0.0625));
  rows.push_back({.field = "<b>", .codec = "third", .cannot = "a & b"});
  const std::string page = report::contest_html(rows);
  EXPECT_EQ(report::unbalanced(page), std::nullopt);
  for (const char* word :
       {"ramp", "&lt;b&gt;", "sz3", "loose", "third", "a &amp; b", "memcpy",
        "Rate and largest error", "largest error 0.0312 of the range", "Rate and PSNR"}) {
    EXPECT_NE(page.find(word), std::string::npos) << word;
  }
  const std::string summary = report::contest_text_summary(rows);
  EXPECT_NE(summary.find("ratio/sz3"), std::string::npos);
}

TEST(Contest, OurOwnContendersKeepTheirBound) {
  std::vector<float> values(4000);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<float>(i) / 50) * 100;
  }
  const auto field = load_field("sine", *view_of(values, {40, 100})).value();
  std::vector<std::unique_ptr<Contender>> contenders;
  for (const std::string& name : own_contender_names()) {
    contenders.push_back(own_contender(name).value());
  }
  const auto rows = run_contest(field, *field.resolve(Bound::relative(1e-3)), contenders,
                                {.repetitions = 1, .least_seconds = 0});
  ASSERT_FALSE(rows.empty());
  for (const ContestRow& row : rows) {
    EXPECT_EQ(row.cannot, "") << row.codec;
    EXPECT_TRUE(row.kept_bound) << row.codec;
    EXPECT_GT(row.ratio, 1) << row.codec;
  }
  EXPECT_FALSE(own_contender("zip").ok());
}

/// ZFP and HDF5 themselves, which ./dev test installs; the filters of hdf5plugin are not needed.
TEST(Peers, ZfpAndHdf5AreHereAndKeepTheBound) {
  const Peers peers = find_peers({"zfp", "hdf5-uncompressed"}, "");
  ASSERT_EQ(peers.contenders.size(), 2u) << peers.missing.front();
  std::vector<double> values(30 * 40 * 50);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::cos(static_cast<double>(i) / 9);
  const auto view = TensorView::contiguous(reinterpret_cast<const std::byte*>(values.data()),
                                           DType::f64, {30, 40, 50});
  const auto field = load_field("cosine", view).value();
  const auto rows = run_contest(field, *field.resolve(Bound::relative(1e-4)), peers.contenders,
                                {.repetitions = 1, .least_seconds = 0});
  for (const ContestRow& row : rows) {
    EXPECT_EQ(row.cannot, "") << row.codec;
    EXPECT_TRUE(row.kept_bound) << row.codec;
    EXPECT_EQ(row.lossless, row.codec == "hdf5-uncompressed");
  }
}

TEST(Peers, AFilterThatIsNotThereIsASentenceWithTheWayOut) {
  const Peers peers = find_peers({"sz3-3.1"}, "/nowhere");
  if (!peers.contenders.empty()) GTEST_SKIP() << "HDF5 has found the filter by itself";
  ASSERT_EQ(peers.missing.size(), 1u);
  const bool way_out = peers.missing[0].find("pip install") != std::string::npos ||
                       peers.missing[0].find("apt-get install") != std::string::npos;
  EXPECT_TRUE(way_out) << peers.missing[0];
}

TEST(Peers, APythonPackageKeepsTheBoundOrIsASentenceWithTheWayOut) {
  const Peers peers = find_peers({"sz3", "pcodec"}, "");
  for (const std::string& missing : peers.missing) {
    EXPECT_NE(missing.find("pip install p"), std::string::npos) << missing;
  }
  EXPECT_EQ(peers.contenders.size() + peers.missing.size(), 2u);
  std::vector<float> values(6000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i) / 7);
  const auto view = TensorView::contiguous(reinterpret_cast<const std::byte*>(values.data()),
                                           DType::f32, {6, 20, 50});
  const auto field = load_field("sine", view).value();
  for (const double bound : {1e-2, 1e-4}) {
    const auto rows = run_contest(field, *field.resolve(Bound::relative(bound)), peers.contenders,
                                  {.repetitions = 2, .least_seconds = 0});
    for (const ContestRow& row : rows) {
      EXPECT_EQ(row.cannot, "") << row.codec;
      EXPECT_TRUE(row.kept_bound) << row.codec;
      EXPECT_EQ(row.lossless, row.codec == "pcodec");
      EXPECT_EQ(row.max_abs_error == 0, row.lossless);
    }
  }
}

TEST(PythonWorker, AProcessThatEndsAnswersWithAnError) {
  const auto worker = PythonWorker::start("true").value();
  EXPECT_FALSE(worker->ask("open sz3").ok());
  EXPECT_FALSE(worker->ask("open sz3").ok());
}

TEST(PythonWorker, ACommandThatFailsIsAnErrorAndTheNextOneWorks) {
  const auto pythons_here = pythons();
  const auto worker = PythonWorker::start(pythons_here.back()).value();
  const auto failed = worker->ask("open zip");
  ASSERT_FALSE(failed.ok());
  if (failed.error().code == ErrorCode::io) GTEST_SKIP() << "Python without NumPy";
  EXPECT_NE(failed.error().message.find("zip"), std::string::npos) << failed.error().message;
  const auto again = worker->ask("compress");
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace tensorpress::benchmark
