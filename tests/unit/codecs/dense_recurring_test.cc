// Values that recur in codec `dense`: palettes and copied planes. Bounds, zeros, holes, hostile
// bytes, equal bytes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "codecs/dense/codec.h"
#include "codecs/dense/recurring/coding.h"
#include "codecs/dense/recurring/context_tables.h"
#include "codecs/dense/recurring/copies.h"
#include "codecs/dense/recurring/palette.h"

namespace tensorpress::dense {
namespace {

constexpr std::byte kPredictor{3};

// A smooth function of the place, about -1 to 1.
double hills(const Shape& shape, std::size_t i) {
  double sum = 0;
  double phase = 0.3;
  for (std::size_t axis = shape.rank(); axis-- > 0;) {
    sum += std::sin(static_cast<double>(i % shape[axis]) / 9 + phase);
    i /= shape[axis];
    phase += 1.1;
  }
  return sum / static_cast<double>(shape.rank());
}

struct Kind {
  std::string name;
  std::function<double(double hill, std::mt19937& random)> value;
};
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"steps of 20", [](double h, auto&) { return 20 * std::round(40 * h); }},
      {"counts",
       [](double h, auto& random) {
         return static_cast<double>(std::poisson_distribution<int>(2 + 2 * h)(random));
       }},
      {"classes", [](double h, auto&) { return std::fmod(7 * std::floor(3 * h + 9), 13) + 1; }},
      {"whole degrees", [](double h, auto&) { return std::fmod(std::round(900 * h) + 3600, 360); }},
      {"tenths", [](double h, auto&) { return std::round(2800 + 60 * h) / 10; }},
      {"mask", [](double h, auto&) { return h > 0.2 ? 1.0 : 0.0; }},
      {"one value", [](double, auto&) { return 7.25; }},
      {"odd values", [](double h, auto&) { return std::exp(std::round(6 * h)); }},
      {"many values", [](double h, auto&) { return std::round(1500 * h); }},
  };
  return all;
}

template <class T>
std::vector<T> field_of(const Kind& kind, const Shape& shape) {
  std::mt19937 random(11);
  std::vector<T> values(shape.element_count());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<T>(kind.value(hills(shape, i), random));
  }
  return values;
}

template <class T>
std::optional<std::vector<std::byte>> palette_bytes(const bounded::Field<T>& field, double bound,
                                                    Isa isa = detected_isa()) {
  ChunkWorkspace workspace(isa);
  std::vector<std::byte> bytes(field.values.size() * sizeof(T) + 40000);
  const auto size = encode_palette(field, bound, {}, std::span(bytes), workspace);
  if (!size) return std::nullopt;
  bytes.resize(*size);
  return bytes;
}

template <class T>
void expect_within(const std::vector<T>& values, const std::vector<T>& back, double bound,
                   const std::string& name) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_LE(std::fabs(static_cast<double>(values[i]) - static_cast<double>(back[i])), bound)
        << name << ", value " << i;
    if (values[i] == 0) {
      ASSERT_EQ(0, back[i]) << name << ", zero " << i;
    }
  }
}

const std::vector<Shape> kShapes = {
    {3000}, {40, 60}, {1, 61, 50}, {9, 20, 30}, {2, 3, 17, 19}, {1, 1, 5000},   {700, 3},
    {5},    {1},      {6000, 1},   {2, 9000},   {4, 1, 100},    {3, 2, 2, 2, 9}};

template <class T>
class DenseRecurring : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(DenseRecurring, Types);

TYPED_TEST(DenseRecurring, KeepsTheBoundAndIsExactWhereEntriesAreFurtherApart) {
  using T = TypeParam;
  std::size_t coded = 0;
  for (const Kind& kind : kinds()) {
    for (const Shape& shape : kShapes) {
      const auto values = field_of<T>(kind, shape);
      for (const double bound : {1e-3, 0.7, 35.0, 2000.0}) {
        const auto bytes = palette_bytes<T>({values, shape, {}, true}, bound);
        if (!bytes) continue;
        ++coded;
        ChunkWorkspace workspace(detected_isa());
        std::vector<T> back(values.size());
        const auto decoded = decode_palette<T>(*bytes, back, workspace);
        ASSERT_TRUE(decoded.ok()) << kind.name << ": " << decoded.error().message;
        expect_within(values, back, bound, kind.name);
        if (bound == 1e-3) {
          EXPECT_EQ(values, back) << kind.name;
        }
      }
    }
  }
  EXPECT_GT(coded, kinds().size() * kShapes.size() * 3);
}

TYPED_TEST(DenseRecurring, WritesTheSameBytesOnEveryInstructionSet) {
  using T = TypeParam;
  for (const Kind& kind : kinds()) {
    const Shape shape{12, 30, 40};
    const auto values = field_of<T>(kind, shape);
    const auto codec = make_dense(Effort::normal);
    std::vector<std::byte> expected;
    for (const Isa isa : usable_isas()) {
      ChunkWorkspace workspace(isa);
      std::vector<std::byte> bytes(values.size() * sizeof(T));
      const auto size = codec->encode(bounded::Field<T>{values, shape, {}, true}, 1e-2,
                                      std::span(bytes), workspace);
      ASSERT_TRUE(size);
      bytes.resize(*size);
      if (expected.empty()) expected = bytes;
      EXPECT_EQ(expected, bytes) << kind.name;
      std::vector<T> back(values.size());
      ASSERT_TRUE(codec->decode(expected, shape, 1e-2, std::span(back), workspace).ok());
      expect_within(values, back, 1e-2, kind.name);
    }
  }
}

TYPED_TEST(DenseRecurring, HostileBytesAreAnErrorOrNumbers) {
  using T = TypeParam;
  std::mt19937 random(5);
  for (const Kind& kind : kinds()) {
    for (const Shape& shape : {Shape{5000}, Shape{50, 60}, Shape{8, 20, 21}}) {
      const auto values = field_of<T>(kind, shape);
      const auto good = palette_bytes<T>({values, shape}, 1e-2);
      if (!good) continue;
      ChunkWorkspace workspace(detected_isa());
      std::vector<T> back(values.size());
      for (int turn = 0; turn < 200; ++turn) {
        auto bytes = *good;
        if (turn % 4 == 0) bytes.resize(random() % bytes.size());
        for (unsigned i = 0; i < 1 + random() % 3 && !bytes.empty(); ++i) {
          const std::size_t end =
              turn % 2 == 0 ? std::min<std::size_t>(bytes.size(), 60) : bytes.size();
          bytes[random() % end] = static_cast<std::byte>(random());
        }
        (void)decode_palette<T>(bytes, back, workspace);
      }
      if (good->size() > 60) {
        EXPECT_FALSE(decode_palette<T>(*good, std::span(back).first(60), workspace).ok());
      }
      auto longer = *good;
      longer.resize(longer.size() + 2);
      EXPECT_FALSE(decode_palette<T>(longer, back, workspace).ok());
    }
  }
}

// --- Palettes -----------------------------------------------------------------------------------

template <class T>
std::vector<T> reread(const std::vector<T>& entries, std::size_t* size = nullptr) {
  std::vector<std::byte> bytes;
  append_palette<T>(entries, bytes);
  if (size != nullptr) *size = bytes.size();
  ByteReader reader(bytes);
  auto read = read_palette<T>(reader);
  EXPECT_TRUE(read.ok());
  EXPECT_EQ(0u, reader.remaining());
  return read.ok() ? std::move(read).value() : std::vector<T>();
}

TYPED_TEST(DenseRecurring, PalettesComeBackBitForBit) {
  using T = TypeParam;
  const T most = std::numeric_limits<T>::max();
  const T tiny = std::numeric_limits<T>::denorm_min();
  for (const std::vector<T>& entries : {std::vector<T>{0},
                                        {-3, 5},
                                        {T(0.1), T(0.2), T(0.7)},
                                        {-most, -1, 0, tiny, most},
                                        {T(1e15), T(1e15) + T(1e9)},
                                        {-273, T(-272.99), T(1.25), 400}}) {
    EXPECT_EQ(entries, reread(entries));
  }
  std::vector<T> tenths;
  for (int i = -500; i < 500; i += 2) tenths.push_back(static_cast<T>(i / 10.0));
  std::size_t size = 0;
  EXPECT_EQ(tenths, reread(tenths, &size));
  EXPECT_LT(size, 80u);  // a bit each, not four bytes
}

TYPED_TEST(DenseRecurring, EntriesAreSharedWithinTheBoundAndZeroStaysZero) {
  using T = TypeParam;
  const std::vector<T> values = {-5, -3, -1, 0, 1, 2, 4, 6, 8, 10};
  std::vector<std::uint16_t> numbers(values.size());
  const auto entries = find_palette<T>(values, 2.0, numbers);
  ASSERT_TRUE(entries);
  EXPECT_LT(entries->size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_LE(std::fabs((*entries)[numbers[i]] - values[i]), 2.0);
  }
  EXPECT_EQ(0, (*entries)[numbers[3]]);
  const auto exact = find_palette<T>(values, 0.25, numbers);
  EXPECT_EQ(values, *exact);
}

TYPED_TEST(DenseRecurring, ALineHoldsAValueAsLongAsTheBoundAllows) {
  using T = TypeParam;
  const std::vector<T> values = {5, 6, 4, 5, 6, 7, 0, 1, 2, 3, 1};
  std::vector<std::uint16_t> shared(values.size()), numbers(values.size());
  ASSERT_TRUE(find_palette<T>(values, 1.5, shared));
  const auto entries = hold_values<T>(values, 1.5, shared, numbers);
  ASSERT_TRUE(entries);
  const std::vector<T> expected = {5, 5, 5, 5, 5, 7, 0, 0, 2, 2, 2};
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(expected[i], (*entries)[numbers[i]]);
}

TEST(DenseRecurringChoice, RealNumbersAreRefusedAfterASample) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> values(100000);
  for (float& value : values) value = normal(random);
  EXPECT_FALSE(may_have_palette<float>(values));
}

TEST(DenseRecurringChoice, HostileGridsAreRefused) {
  // entries, divisor, first, step, last
  const std::vector<std::vector<std::uint64_t>> wrong = {{0, 1, 0, 1, 0},
                                                         {5000, 1, 0, 1, 4999},
                                                         {2, 1, 0, ~std::uint64_t{0}, 1},
                                                         {2, 1, ~std::uint64_t{0}, 1, 1},
                                                         {2, 1, 0, 1, std::uint64_t{1} << 40},
                                                         {3, 1, 0, 1, 1}};
  for (const auto& numbers : wrong) {
    ByteWriter writer;
    for (const std::uint64_t number : numbers) writer.write_varint(number);
    ByteReader reader(writer.bytes());
    EXPECT_FALSE(read_palette<float>(reader).ok());
  }
}

TEST(DenseRecurringTables, ComeBackAsTheyWere) {
  std::mt19937 random(9);
  ContextHistogram histogram;
  for (int i = 0; i < 40000; ++i) {
    const std::size_t context = random() % 40 * 15;
    const int spread = 1 + static_cast<int>(context) / 20;
    histogram.add(context, static_cast<int>(random() % (2 * spread + 1)) - spread +
                               (i % 5000 == 0 ? 900 : 0));
  }
  const ContextTables chosen = choose_tables(histogram);
  std::vector<std::byte> bytes;
  append_tables(chosen, bytes);
  ByteReader reader(bytes);
  const auto read = read_tables(reader);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(chosen.ids, read->ids);
  ASSERT_EQ(chosen.tables.size(), read->tables.size());
  for (std::size_t t = 0; t < chosen.tables.size(); ++t) {
    EXPECT_EQ(chosen.tables[t].frequencies, read->tables[t].frequencies);
  }
}

// --- Copies -------------------------------------------------------------------------------------

template <class T>
std::vector<T> noise_planes(const std::vector<int>& which, std::size_t unit) {
  std::vector<T> values;
  for (const int plane : which) {
    std::mt19937 random(static_cast<unsigned>(plane));
    std::normal_distribution<T> normal;
    for (std::size_t i = 0; i < unit; ++i) values.push_back(normal(random));
  }
  return values;
}

template <class T>
std::vector<std::byte> dense_bytes(const bounded::Field<T>& field, double bound,
                                   std::vector<T>* back) {
  const auto codec = make_dense(Effort::normal);
  ChunkWorkspace workspace(detected_isa());
  std::vector<std::byte> bytes(field.values.size() * sizeof(T) + 1000);
  const auto size = codec->encode(field, bound, std::span(bytes), workspace);
  EXPECT_TRUE(size);
  bytes.resize(size.value_or(0));
  back->resize(field.values.size());
  EXPECT_TRUE(codec->decode(bytes, field.shape, bound, std::span(*back), workspace).ok());
  return bytes;
}

TYPED_TEST(DenseRecurring, PlanesThatRepeatAreCodedOnce) {
  using T = TypeParam;
  const std::vector<int> orders[] = {{1, 2, 3, 1, 2, 3, 1, 2},
                                     {1, 1, 1, 1},
                                     {1, 2, 3, 4, 4, 1, 5, 2},
                                     {1, 2, 1, 2, 2, 1, 3, 3, 1}};
  for (const auto& order : orders) {
    const auto planes = order.size();
    for (const Shape& shape :
         {Shape{planes, 30, 40}, Shape{1, planes, 1200}, Shape{planes, 3, 20, 20}}) {
      const auto values = noise_planes<T>(order, 1200);
      std::vector<T> back;
      const auto bytes = dense_bytes<T>({values, shape}, 1e-3, &back);
      EXPECT_EQ(kPredictor, bytes[0]);
      expect_within(values, back, 1e-3, "planes");
      std::vector<T> once_back;
      const auto distinct = static_cast<std::size_t>(*std::ranges::max_element(order));
      std::vector<int> once(distinct);
      for (std::size_t i = 0; i < distinct; ++i) once[i] = static_cast<int>(i) + 1;
      const auto once_values = noise_planes<T>(once, 1200);
      const auto alone = dense_bytes<T>({once_values, Shape{distinct, 30, 40}}, 1e-3, &once_back);
      EXPECT_LT(bytes.size(), alone.size() + alone.size() / 8);
    }
  }
}

TYPED_TEST(DenseRecurring, ALineThatRepeatsItselfIsCodedOnce) {
  using T = TypeParam;
  const auto period = noise_planes<T>({5}, 1013);
  std::vector<T> values;
  for (std::size_t i = 0; i < 20000; ++i) values.push_back(period[i % 1013]);
  values[12345] = 99;  // one reading is off
  std::vector<T> back;
  const auto bytes = dense_bytes<T>({values, Shape{values.size()}}, 1e-3, &back);
  EXPECT_EQ(kPredictor, bytes[0]);
  EXPECT_LT(bytes.size(), 1013 * sizeof(T));
  expect_within(values, back, 1e-3, "line");
}

TYPED_TEST(DenseRecurring, HolesMoveWithThePlanesThatAreCoded) {
  using T = TypeParam;
  const auto values = noise_planes<T>({1, 2, 1, 3, 2, 1}, 100);
  const Shape shape{6, 10, 10};
  const std::vector<bounded::Hole> holes = {{5, 10}, {190, 120}, {330, 5}, {500, 1}};
  const bounded::Field<T> field{values, shape, holes};
  const auto copies = find_copies(field);
  ASSERT_TRUE(copies);
  std::vector<T> kept(values.size());
  std::vector<bounded::Hole> kept_holes;
  const auto part = coded_part(field, *copies, std::span(kept), kept_holes);
  EXPECT_EQ((Shape{3, 10, 10}), part.shape);
  EXPECT_EQ(300u, part.values.size());
  // Of the second hole, the end of plane 1 and the beginning of plane 3, which now touch.
  ASSERT_EQ(3u, part.holes.size());
  EXPECT_EQ(5u, part.holes[0].start);
  EXPECT_EQ(190u, part.holes[1].start);
  EXPECT_EQ(20u, part.holes[1].length);
  EXPECT_EQ(230u, part.holes[2].start);
  std::vector<T> all(kept);
  put_copies(*copies, std::span(all));
  EXPECT_EQ(values, all);
}

TYPED_TEST(DenseRecurring, HostileCopiesAreAnErrorOrNumbers) {
  using T = TypeParam;
  const Shape shape{9, 20, 20};
  const auto values = noise_planes<T>({1, 2, 1, 2, 2, 1, 3, 3, 1}, 400);
  std::vector<T> back;
  const auto good = dense_bytes<T>({values, shape}, 1e-2, &back);
  const auto codec = make_dense(Effort::normal);
  ChunkWorkspace workspace(detected_isa());
  std::mt19937 random(6);
  for (int turn = 0; turn < 600; ++turn) {
    auto bytes = good;
    if (turn % 4 == 0) bytes.resize(random() % bytes.size());
    const std::size_t end = std::min<std::size_t>(bytes.size(), 30);
    for (unsigned i = 0; i < 1 + random() % 3 && end > 0; ++i) {
      bytes[random() % end] = static_cast<std::byte>(turn % 2 == 0 ? random() % 10 : random());
    }
    (void)codec->decode(bytes, shape, 1e-2, std::span(back), workspace);
  }
  // Copies within copies would let a chunk ask for as deep a stack as it has bytes.
  std::vector<std::byte> nested;
  for (int i = 0; i < 1000; ++i) {
    for (const int byte : {3, 0, 1, 1, 1, 1}) nested.push_back(static_cast<std::byte>(byte));
  }
  EXPECT_FALSE(codec->decode(nested, shape, 1e-2, std::span(back), workspace).ok());
}

}  // namespace
}  // namespace tensorpress::dense
