// Stencil kernels: every instruction set against the scalar truth, bit by bit.
#include "kernels/stencil/stencil.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

namespace tensorpress::kernels {
namespace {

constexpr std::size_t kRoom = 4 * kRowSlack;

template <class T>
struct StencilCase {
  std::size_t count;
  std::vector<T> values, above, behind, predictions, sums, predicted, bends;
  std::vector<std::uint8_t> sizes, classes;
  std::vector<StencilGroup<T>> groups;
  std::vector<std::ptrdiff_t> points, beside;
  StencilRow<T> stencil;
  StencilRows<T> rows;
  InterpolationRow<T> row;

  // Points as they are mirrored along z, if `planes`, along y, if rows are apart, and along x.
  void add_mirrored(T weight, std::ptrdiff_t planes, std::uint32_t apart, std::int32_t left,
                    std::int32_t right, std::ptrdiff_t lowest = -1) {
    StencilGroup<T> group{weight, 0, true, apart, left, right, 0, 0};
    for (int signs = 0; signs < 8; ++signs) {
      const bool z = (signs >> 2 & 1) != 0, y = (signs >> 1 & 1) != 0, x = (signs & 1) != 0;
      const bool known[] = {planes != 0, apart != 0, left != right};
      if ((z && !known[0]) || (y && !known[1]) || (x && !known[2])) continue;
      if (known[0] ? z : known[1] ? y : x) continue;  // leads to the same pair
      const auto place = [&](bool up_z, bool up_y, bool up_x) {
        const std::ptrdiff_t in_row = up_x ? right : left;
        return (up_z ? planes : -planes) + in_row +
               (lowest + (up_y ? std::ptrdiff_t{apart} : 0)) * rows.pitch;
      };
      points.push_back(place(z, y, x));
      points.push_back(place(known[0] && !z, known[1] && !y, known[2] && !x));
      group.points += 2;
    }
    groups.push_back(group);
  }

  StencilCase(std::size_t n, bool planes, std::size_t beside_count, unsigned seed) : count(n) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    const std::size_t pitch = (n + kRoom) / 16 * 16, size = 24 * pitch;
    rows = {1 + seed % 11, n, static_cast<std::ptrdiff_t>(pitch), nullptr, nullptr, pitch};
    values.resize(size);
    for (T& value : values) value = static_cast<T>(10 + normal(random));
    for (std::size_t i = 0; i < size; i += 5) values[i] = static_cast<T>(normal(random) * 0.01);
    sizes.resize(size);
    for (auto& one : sizes) one = static_cast<std::uint8_t>(random());
    for (auto* history : {&above, &behind}) {
      history->assign(n + 2 * kRoom, 0);
      for (std::size_t i = 0; i < n; ++i) {
        (*history)[kRoom + i] = static_cast<T>(std::abs(normal(random)));
      }
    }
    const auto anywhere = [&] {
      return static_cast<std::ptrdiff_t>(random() % (4 * n + 1)) -
             static_cast<std::ptrdiff_t>(2 * n);
    };
    for (const std::uint32_t in_group : {2u, 2u, 2u, 4u, 8u, 4u}) {
      groups.push_back({static_cast<T>(normal(random) / 4), in_group});
      for (std::uint32_t k = 0; k < in_group; ++k) points.push_back(anywhere());
    }
    constexpr std::pair<std::int32_t, std::int32_t> kColumns[] = {{0, 0},  {0, 1},  {-1, 0},
                                                                  {-1, 1}, {-1, 2}, {-2, 1}};
    std::vector<std::function<void()>> wider;
    for (const auto& [left, right] : kColumns) {
      for (std::uint32_t apart = 0; apart <= kMostRowsApart; ++apart) {
        for (const bool planes_too : {false, true}) {
          if (left == right && apart == 0 && !planes_too) continue;
          const auto distance = static_cast<std::ptrdiff_t>(planes_too ? 2 * pitch : 0);
          const auto weight = [&] { return static_cast<T>(normal(random) / 8); };
          add_mirrored(weight(), distance, apart, left, right);
          const auto number = static_cast<std::uint32_t>(1 + wider.size());
          if (apart > 1 || number > kMostWiderGroups) continue;
          groups.back().wider = number;
          wider.push_back([=, this, w = weight()] {
            add_mirrored(w, distance, apart + 2, left, right, -2);
            groups.back().narrower = number;
          });
        }
      }
    }
    for (const auto& add : wider) add();
    for (std::size_t k = 0; k < beside_count; ++k) beside.push_back(anywhere());
    predicted.resize(rows.rows * pitch + kRoom);
    bends.resize(predicted.size());
    rows.sums = predicted.data();
    rows.bends = bends.data();
    predictions.resize(n + kRoom);
    classes.resize(n + kRoom);
    sums.resize(groups.size() * (n + kRoom));
    stencil.at = values.data() + 6 * pitch;
    stencil.groups = groups.data();
    stencil.group_count = groups.size();
    stencil.points = points.data();
    stencil.axes = 1 + seed % 3;
    stencil.near_share = static_cast<T>(1) / static_cast<T>(2 * stencil.axes);
    stencil.sizes = sizes.data() + 6 * pitch;
    stencil.beside = beside.data();
    stencil.beside_count = beside_count;
    stencil.beside_weight = static_cast<T>(0.01);
    row.count = n;
    row.above = above.data() + kRoom;
    row.behind = planes ? behind.data() + kRoom : nullptr;
  }
};

template <class T>
InterpolationModel<T> model_with(bool zeros) {
  InterpolationModel<T> model;
  model.curvature = static_cast<T>(0.3);
  model.above = static_cast<T>(0.1);
  model.behind = static_cast<T>(0.07);
  model.floor = static_cast<T>(0.004);
  model.step = static_cast<T>(0.02);
  model.inverse_step = static_cast<T>(1) / model.step;
  model.keep_zeros = zeros;
  return model;
}

template <class A>
void expect_same(const std::vector<A>& truth, const std::vector<A>& found, std::size_t count,
                 Isa isa) {
  EXPECT_EQ(0, std::memcmp(truth.data(), found.data(), count * sizeof(A)))
      << count << " on " << name_of(isa);
}

template <class T>
void every_isa_predicts_the_same() {
  for (std::size_t count = 1; count < 150; count += count < 70 ? 1 : 13) {
    const auto seed = static_cast<unsigned>(count);
    StencilCase<T> truth(count, count % 2 == 0, count % 5, seed);
    const auto model = model_with<T>(count % 3 == 0);
    const auto& reference = stencil_kernels_reference<T>();
    const std::size_t pitch = count + kRoom;
    const auto classify = [&](const StencilKernels<T>& with, StencilCase<T>& rows) {
      const std::size_t last = (rows.rows.rows - 1) * rows.rows.result_pitch;
      with.predict(rows.stencil, rows.rows);
      with.classify(rows.stencil, rows.row, model, rows.predicted.data() + last,
                    rows.bends.data() + last, rows.predictions.data(), rows.classes.data());
    };
    classify(reference, truth);
    reference.sums(truth.stencil, count, pitch, truth.sums.data());
    for (const Isa isa : usable_isas()) {
      StencilCase<T> found(count, count % 2 == 0, count % 5, seed);
      const auto& kernels = stencil_kernels<T>(isa);
      classify(kernels, found);
      for (std::size_t r = 0; r < truth.rows.rows; ++r) {
        const std::size_t at = r * truth.rows.result_pitch;
        EXPECT_EQ(0, std::memcmp(truth.predicted.data() + at, found.predicted.data() + at,
                                 count * sizeof(T)));
        EXPECT_EQ(0,
                  std::memcmp(truth.bends.data() + at, found.bends.data() + at, count * sizeof(T)));
      }
      kernels.sums(found.stencil, count, pitch, found.sums.data());
      expect_same(truth.predictions, found.predictions, count, isa);
      expect_same(truth.classes, found.classes, count, isa);
      for (std::size_t g = 0; g < truth.groups.size(); ++g) {
        EXPECT_EQ(0, std::memcmp(truth.sums.data() + g * pitch, found.sums.data() + g * pitch,
                                 count * sizeof(T)));
      }
    }
  }
}
TEST(StencilKernels, EveryIsaPredictsTheSameFloats) {
  every_isa_predicts_the_same<float>();
}
TEST(StencilKernels, EveryIsaPredictsTheSameDoubles) {
  every_isa_predicts_the_same<double>();
}

TEST(StencilKernels, SizesAreCutAndNothingIsWrittenBehind) {
  std::mt19937 random(3);
  for (const Isa isa : usable_isas()) {
    for (std::size_t count = 0; count < 80; ++count) {
      std::vector<std::int32_t> residuals(count);
      for (auto& r : residuals) r = static_cast<std::int32_t>(random()) >> (random() % 32);
      if (count > 3) residuals[3] = std::numeric_limits<std::int32_t>::min();
      std::vector<std::uint8_t> sizes(count + 64, 77);
      stencil_kernels<float>(isa).keep_sizes(residuals.data(), count, sizes.data());
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::int64_t size = i < count ? std::abs(std::int64_t{residuals[i]}) : 77;
        ASSERT_EQ(std::min<std::int64_t>(size, 255), sizes[i]) << i << " on " << name_of(isa);
      }
    }
  }
}

TEST(StencilKernels, EvenAndOddComeTogether) {
  for (const Isa isa : usable_isas()) {
    for (std::size_t count = 0; count < 80; ++count) {
      std::vector<double> even(count), odd(count), both(2 * count + 16, -1);
      for (std::size_t i = 0; i < count; ++i) {
        even[i] = static_cast<double>(2 * i);
        odd[i] = static_cast<double>(2 * i + 1);
      }
      stencil_kernels<double>(isa).interleave(even.data(), odd.data(), count, both.data());
      for (std::size_t i = 0; i < both.size(); ++i) {
        ASSERT_EQ(i < 2 * count ? static_cast<double>(i) : -1.0, both[i]);
      }
    }
  }
}

template <class T>
void expect_same_samples() {
  std::mt19937 random(6);
  std::normal_distribution<T> normal;
  const std::vector<StencilGroup<T>> groups = {{0, 2}, {0, 2}, {0, 4}, {0, 8}, {0, 4}};
  constexpr std::size_t kPitch = kSamplePiece + 32, kFeaturePitch = 128;
  std::vector<T> sums(groups.size() * kPitch), originals(2 * kSamplePiece);
  for (T& sum : sums) sum = normal(random) * 10;
  for (T& original : originals) original = normal(random) * 5;
  originals[6] = std::numeric_limits<T>::quiet_NaN();
  originals[8] = static_cast<T>(1e30);
  sums[kPitch + 5] = std::numeric_limits<T>::infinity();
  for (const std::size_t count : {std::size_t{1}, std::size_t{37}, kSamplePiece}) {
    const StencilSamples<T> from = {.sums = sums.data(),
                                    .pitch = kPitch,
                                    .groups = groups.data(),
                                    .group_count = groups.size(),
                                    .originals = originals.data(),
                                    .step = 2,
                                    .count = count,
                                    .inverse_step = static_cast<T>(3.7)};
    std::vector<float> truth(groups.size() * kFeaturePitch, -1.0f);
    stencil_kernels_reference<T>().samples(from, kFeaturePitch, truth.data());
    EXPECT_NE(0.0f, truth[0]);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (const std::size_t unusable : {3u, 4u, 5u}) {
        EXPECT_EQ(0.0f, truth[g * kFeaturePitch + unusable]);
      }
      if (count < kSamplePiece) {
        EXPECT_EQ(0.0f, truth[g * kFeaturePitch + count]);
      }
    }
    for (const Isa isa : usable_isas()) {
      std::vector<float> found(truth.size(), -1.0f);
      stencil_kernels<T>(isa).samples(from, kFeaturePitch, found.data());
      EXPECT_EQ(truth, found) << name_of(isa);
    }
  }
}

TEST(StencilKernels, SamplesAreTheSameBitsOnEveryIsa) {
  expect_same_samples<float>();
  expect_same_samples<double>();
}

TEST(StencilKernels, ProductsAreTheSameBitsOnEveryIsa) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  constexpr std::size_t kFeatures = 7, kPitch = 128;
  std::vector<float> values(kFeatures * kPitch);
  for (float& value : values) value = normal(random);
  for (const std::size_t count : {16u, 48u, 128u}) {
    std::vector<double> truth(kFeatures * kFeatures, 0.5);
    stencil_kernels_reference<float>().add_products(values.data(), kFeatures, kPitch, count,
                                                    truth.data());
    double plain = 0.5;
    for (std::size_t i = 0; i < count; ++i) {
      plain += static_cast<double>(values[3 * kPitch + i]) * values[kPitch + i];
    }
    EXPECT_NEAR(plain, truth[3 * kFeatures + 1], 1e-4);
    for (const Isa isa : usable_isas()) {
      std::vector<double> found(kFeatures * kFeatures, 0.5);
      stencil_kernels<double>(isa).add_products(values.data(), kFeatures, kPitch, count,
                                                found.data());
      EXPECT_EQ(truth, found) << name_of(isa);
    }
  }
}

}  // namespace
}  // namespace tensorpress::kernels
