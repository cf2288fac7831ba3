// Interpolation kernels: every instruction set against the scalar truth, bit by bit.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "kernels/interpolation/interpolation.h"

namespace tensorpress::kernels {
namespace {

constexpr std::size_t kRoom = 2 * kRowSlack;

template <class T>
struct RowCase {
  std::size_t count;
  std::vector<T> neighbours[12], originals, above, behind, error, predictions, output;
  std::vector<std::uint8_t> classes;
  std::vector<std::int32_t> residuals;
  std::vector<std::uint32_t> outliers;
  InterpolationRow<T> row;

  RowCase(std::size_t n, std::size_t directions, bool planes, bool feedback, unsigned seed)
      : count(n) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    const std::size_t size = 2 * n + 2 * kRoom;
    for (auto& values : neighbours) {
      values.resize(size);
      for (T& value : values) value = static_cast<T>(10 + normal(random));
    }
    originals.resize(size);
    for (T& value : originals) value = static_cast<T>(10 + normal(random) * 3);
    for (std::size_t i = 0; i < size; i += 7) originals[i] = 0;
    for (std::size_t i = 3; i < size; i += 11) originals[i] = std::nanf("");
    for (std::size_t i = 5; i < size; i += 13) originals[i] = static_cast<T>(1e30);
    for (std::size_t i = 0; i < size; i += 5) {
      for (auto& values : neighbours) values[i] = static_cast<T>(normal(random) * 0.01);
    }
    for (auto* history : {&above, &behind, &error}) {
      history->assign(size, 0);
      for (std::size_t i = 0; i < n; ++i) {
        (*history)[kRoom + i] = static_cast<T>(std::abs(normal(random)));
      }
    }
    predictions.resize(size);
    output.resize(size);
    classes.resize(size);
    residuals.resize(size);
    outliers.resize(size);
    row.count = n;
    row.directions = directions;
    for (std::size_t k = 0; k < directions; ++k) {
      row.direction[k] = {neighbours[4 * k].data() + 1, neighbours[4 * k + 1].data() + 1,
                          neighbours[4 * k + 2].data() + 1, neighbours[4 * k + 3].data() + 1,
                          k == 0 ? 1u : 2u};
    }
    row.above = above.data() + kRoom;
    row.behind = planes ? behind.data() + kRoom : nullptr;
    row.error = feedback ? error.data() + kRoom : nullptr;
  }

  // What must be equal afterwards: rows, not the room behind them.
  std::vector<std::byte> result(std::size_t found) const {
    std::vector<std::byte> bytes;
    const auto add = [&](const auto* values, std::size_t elements) {
      const auto* from = reinterpret_cast<const std::byte*>(values);
      bytes.insert(bytes.end(), from, from + elements * sizeof(*values));
    };
    add(predictions.data(), count);
    add(classes.data(), count);
    add(residuals.data(), count);
    add(outliers.data(), found);
    add(above.data() + kRoom - 1, count + 2);
    add(behind.data() + kRoom - 1, count + 2);
    add(error.data() + kRoom, count);
    add(output.data(), 2 * count);
    return bytes;
  }
};

template <class T>
InterpolationModel<T> some_model(bool zeros) {
  InterpolationModel<T> model;
  model.step = static_cast<T>(0.02f);
  model.inverse_step = static_cast<T>(1) / model.step;
  model.bound = static_cast<T>(0.00999f);
  model.cubic = static_cast<T>(0.0625f);
  model.feedback = static_cast<T>(0.4375f);
  model.gradient = static_cast<T>(0.04f) * model.inverse_step;
  model.curvature = static_cast<T>(0.1f / 16) * model.inverse_step;
  model.above = static_cast<T>(0.1f);
  model.behind = static_cast<T>(0.075f);
  model.floor = static_cast<T>(0.004f);
  model.keep_zeros = zeros;
  return model;
}

template <class T>
void compare_all(Isa isa) {
  const auto& truth = interpolation_kernels_reference<T>();
  const auto& kernels = interpolation_kernels<T>(isa);
  unsigned seed = 1;
  for (const std::size_t count : {1u, 2u, 7u, 8u, 9u, 15u, 16u, 17u, 31u, 33u, 64u, 77u}) {
    for (unsigned variant = 0; variant < 24; ++variant) {
      const std::size_t directions = 1 + variant % 3;
      const bool planes = (variant & 1) != 0, feedback = (variant & 2) != 0,
                 zeros = (variant & 4) != 0;
      const auto store = static_cast<RowStore>(variant / 8);
      const auto model = some_model<T>(zeros);
      RowCase<T> expected(count, directions, planes, feedback, ++seed);
      RowCase<T> actual(count, directions, planes, feedback, seed);
      const auto encode = [&](const InterpolationKernels<T>& with, RowCase<T>& rows) {
        with.predict(rows.row, model, rows.predictions.data(), rows.classes.data());
        return with.quantize(rows.originals.data(), 1 + variant % 2, rows.row, model,
                             rows.predictions.data(), rows.residuals.data(),
                             {store, rows.output.data(), rows.neighbours[1].data()},
                             rows.outliers.data());
      };
      const std::size_t found = encode(truth, expected);
      ASSERT_EQ(found, encode(kernels, actual)) << name_of(isa);
      if (store == RowStore::contiguous) {
        std::fill(actual.output.begin() + static_cast<std::ptrdiff_t>(count), actual.output.end(),
                  static_cast<T>(0));
      }
      ASSERT_EQ(expected.result(found), actual.result(found))
          << name_of(isa) << " " << count << " " << variant;

      // The decoder arrives at the encoder's values and histories.
      RowCase<T> decoded(count, directions, planes, feedback, seed);
      kernels.predict(decoded.row, model, decoded.predictions.data(), decoded.classes.data());
      decoded.residuals = expected.residuals;
      decoded.outliers = expected.outliers;
      if (store != RowStore::none) {
        kernels.reconstruct(expected.residuals.data(), decoded.row, model,
                            decoded.predictions.data(),
                            {store, decoded.output.data(), decoded.neighbours[1].data()});
        if (store == RowStore::contiguous) {
          std::fill(decoded.output.begin() + static_cast<std::ptrdiff_t>(count),
                    decoded.output.end(), T(0));
        }
        ASSERT_EQ(expected.result(found), decoded.result(found))
            << name_of(isa) << " " << count << " " << variant;
      }
    }
  }
}

TEST(InterpolationKernels, EveryIsaCodesFloatRowsLikeTheReference) {
  for (const Isa isa : usable_isas()) compare_all<float>(isa);
}

TEST(InterpolationKernels, EveryIsaCodesDoubleRowsLikeTheReference) {
  for (const Isa isa : usable_isas()) compare_all<double>(isa);
}

TEST(InterpolationKernels, EveryIsaTranslatesClassesLikeTheReference) {
  std::vector<std::uint8_t> map(kScaleClasses), classes(1000);
  for (std::size_t i = 0; i < map.size(); ++i) map[i] = static_cast<std::uint8_t>(200 - 3 * i);
  for (std::size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<std::uint8_t>(i % 32);
  auto expected = classes;
  interpolation_kernels_reference<float>().translate(map.data(), expected.data(), 1000);
  for (const Isa isa : usable_isas()) {
    auto actual = classes;
    interpolation_kernels<float>(isa).translate(map.data(), actual.data(), 1000);
    EXPECT_EQ(expected, actual) << name_of(isa);
  }
}

TEST(InterpolationKernels, InterleavedRowsEndExactly) {
  for (const Isa isa : usable_isas()) {
    RowCase<float> rows(19, 1, false, false, 5);
    const auto model = some_model<float>(false);
    std::fill(rows.output.begin(), rows.output.end(), -7.0f);
    const auto& kernels = interpolation_kernels<float>(isa);
    kernels.predict(rows.row, model, rows.predictions.data(), rows.classes.data());
    kernels.reconstruct(rows.residuals.data(), rows.row, model, rows.predictions.data(),
                        {RowStore::interleaved, rows.output.data(), rows.neighbours[1].data()});
    EXPECT_EQ(rows.output[38], -7.0f) << name_of(isa);
  }
}

}  // namespace
}  // namespace tensorpress::kernels
