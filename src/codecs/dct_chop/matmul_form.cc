#include "codecs/dct_chop/matmul_form.h"

#include <algorithm>

#include "codecs/dct_chop/reference.h"

namespace tensorpress::dct_chop {
namespace {

struct DenseMatrix {
  std::size_t rows, columns;
  std::vector<float> values;

  static DenseMatrix zeros(std::size_t rows, std::size_t columns) {
    return {rows, columns, std::vector<float>(rows * columns)};
  }
  float& at(std::size_t row, std::size_t column) { return values[row * columns + column]; }
};

// The first `keep` rows of the transform, once per block, along the diagonal: (keep n / P) x n.
DenseMatrix chopped_rows(const Matrix& transform, std::size_t blocks, std::size_t keep) {
  const std::size_t points = transform.points;
  auto matrix = DenseMatrix::zeros(blocks * keep, blocks * points);
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::size_t u = 0; u < keep; ++u) {
      for (std::size_t j = 0; j < points; ++j) {
        matrix.at(b * keep + u, b * points + j) = static_cast<float>(transform.at(u, j));
      }
    }
  }
  return matrix;
}

// The first `keep` columns of the inverse transform, once per block: n x (keep n / P).
DenseMatrix chopped_columns(const Matrix& inverse, std::size_t blocks, std::size_t keep) {
  const std::size_t points = inverse.points;
  auto matrix = DenseMatrix::zeros(blocks * points, blocks * keep);
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::size_t i = 0; i < points; ++i) {
      for (std::size_t u = 0; u < keep; ++u) {
        matrix.at(b * points + i, b * keep + u) = static_cast<float>(inverse.at(i, u));
      }
    }
  }
  return matrix;
}

DenseMatrix transposed(const DenseMatrix& matrix) {
  auto result = DenseMatrix::zeros(matrix.columns, matrix.rows);
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    for (std::size_t j = 0; j < matrix.columns; ++j)
      result.at(j, i) = matrix.values[i * matrix.columns + j];
  }
  return result;
}

// result = left · (middle · right), the order of the paper's listing.
std::vector<float> two_products(kernels::Gemm gemm, const DenseMatrix& left,
                                const std::vector<float>& middle, const DenseMatrix& right) {
  std::vector<float> inner(left.columns * right.columns);
  gemm(middle.data(), right.values.data(), inner.data(), left.columns, right.rows, right.columns);
  std::vector<float> result(left.rows * right.columns);
  gemm(left.values.data(), inner.data(), result.data(), left.rows, left.columns, right.columns);
  return result;
}

// A rectangle of a row-major matrix, out and in.
void copy_out(const float* from, std::size_t from_width, std::size_t rows, std::size_t columns,
              float* to) {
  for (std::size_t i = 0; i < rows; ++i)
    std::copy_n(from + i * from_width, columns, to + i * columns);
}
void copy_in(const float* from, std::size_t rows, std::size_t columns, float* to,
             std::size_t to_width) {
  for (std::size_t i = 0; i < rows; ++i)
    std::copy_n(from + i * columns, columns, to + i * to_width);
}

std::uint64_t part_blocks(std::uint64_t blocks, int serialize) {
  const auto parts = static_cast<std::uint64_t>(serialize);
  return (blocks + parts - 1) / parts;
}

}  // namespace

MatmulCost matmul_cost(const Geometry& geometry, const Parameters& parameters) {
  MatmulCost cost;
  if (geometry.linear()) return cost;
  const auto points = static_cast<double>(geometry.points);
  const auto keep = static_cast<double>(parameters.chop_factor);
  const std::uint64_t rows_step = part_blocks(geometry.block_rows, parameters.serialize);
  const std::uint64_t columns_step = part_blocks(geometry.blocks, parameters.serialize);
  const auto matrix_floats = [&](double blocks) { return blocks * points * blocks * keep; };
  cost.matrix_bytes = 4 * (matrix_floats(static_cast<double>(rows_step)) +
                           matrix_floats(static_cast<double>(columns_step)));
  for (std::uint64_t r = 0; r < geometry.block_rows; r += rows_step) {
    const auto h = points * static_cast<double>(std::min(rows_step, geometry.block_rows - r));
    for (std::uint64_t c = 0; c < geometry.blocks; c += columns_step) {
      const auto w = points * static_cast<double>(std::min(columns_step, geometry.blocks - c));
      const double short_h = h * keep / points, short_w = w * keep / points;
      cost.flops_compress += (2 * w - 1) * h * short_w + (2 * h - 1) * short_h * short_w;
      cost.flops_decompress += (2 * short_w - 1) * short_h * w + (2 * short_h - 1) * h * w;
    }
  }
  cost.flops_compress *= static_cast<double>(geometry.planes);
  cost.flops_decompress *= static_cast<double>(geometry.planes);
  return cost;
}

MatmulForm::MatmulForm(const Geometry& geometry, const Parameters& parameters, Isa isa)
    : geometry_(geometry), parameters_(parameters), gemm_(kernels::gemm(isa)) {}

template <class Work>
void MatmulForm::for_each_part(Work work) const {
  const auto block_rows = static_cast<std::size_t>(geometry_.block_rows);
  const auto blocks = static_cast<std::size_t>(geometry_.blocks);
  const auto rows_step = static_cast<std::size_t>(part_blocks(block_rows, parameters_.serialize));
  const auto columns_step = static_cast<std::size_t>(part_blocks(blocks, parameters_.serialize));
  for (std::size_t r = 0; r < block_rows; r += rows_step) {
    for (std::size_t c = 0; c < blocks; c += columns_step) {
      work(Part{r, c, std::min(rows_step, block_rows - r), std::min(columns_step, blocks - c)});
    }
  }
}

void MatmulForm::forward(const float* plane, float* values) const {
  const auto points = static_cast<std::size_t>(geometry_.points);
  const auto keep = static_cast<std::size_t>(parameters_.chop_factor);
  const auto width = static_cast<std::size_t>(geometry_.padded_width());
  const std::size_t square_width = width / points * keep;
  const Matrix transform = parameters_.transform == kernels::Transform::dct ? dct_forward_matrix()
                                                                            : zfp_forward_matrix();
  std::vector<float> square(static_cast<std::size_t>(geometry_.block_rows) * keep * square_width);
  for_each_part([&](const Part& part) {
    const DenseMatrix lhs = chopped_rows(transform, part.block_rows, keep);
    const DenseMatrix rhs = transposed(chopped_rows(transform, part.blocks, keep));
    std::vector<float> input(lhs.columns * rhs.rows);
    copy_out(plane + part.block_row * points * width + part.block_column * points, width,
             lhs.columns, rhs.rows, input.data());
    const auto product = two_products(gemm_, lhs, input, rhs);
    copy_in(product.data(), lhs.rows, rhs.columns,
            square.data() + part.block_row * keep * square_width + part.block_column * keep,
            square_width);
  });
  square_to_layout(square, values);
}

void MatmulForm::inverse(const float* values, float* plane) const {
  const auto points = static_cast<std::size_t>(geometry_.points);
  const auto keep = static_cast<std::size_t>(parameters_.chop_factor);
  const auto width = static_cast<std::size_t>(geometry_.padded_width());
  const std::size_t square_width = width / points * keep;
  const Matrix transform = parameters_.transform == kernels::Transform::dct ? dct_inverse_matrix()
                                                                            : zfp_inverse_matrix();
  std::vector<float> square(static_cast<std::size_t>(geometry_.block_rows) * keep * square_width);
  layout_to_square(values, square);
  for_each_part([&](const Part& part) {
    const DenseMatrix left = chopped_columns(transform, part.block_rows, keep);
    const DenseMatrix right = transposed(chopped_columns(transform, part.blocks, keep));
    std::vector<float> input(left.columns * right.rows);
    copy_out(square.data() + part.block_row * keep * square_width + part.block_column * keep,
             square_width, left.columns, right.rows, input.data());
    const auto product = two_products(gemm_, left, input, right);
    copy_in(product.data(), left.rows, right.columns,
            plane + part.block_row * points * width + part.block_column * points, width);
  });
}

void MatmulForm::square_to_layout(const std::vector<float>& square, float* values) const {
  if (!parameters_.triangle) {
    std::ranges::copy(square, values);
    return;
  }
  const auto keep = static_cast<std::size_t>(parameters_.chop_factor);
  const auto blocks = static_cast<std::size_t>(geometry_.blocks);
  for (std::size_t b = 0; b < geometry_.block_rows; ++b) {
    for (std::size_t x = 0; x < blocks; ++x) {
      for (std::size_t u = 0; u < keep; ++u) {
        values =
            std::copy_n(square.data() + ((b * keep + u) * blocks + x) * keep, keep - u, values);
      }
    }
  }
}

void MatmulForm::layout_to_square(const float* values, std::vector<float>& square) const {
  if (!parameters_.triangle) {
    std::copy_n(values, square.size(), square.data());
    return;
  }
  const auto keep = static_cast<std::size_t>(parameters_.chop_factor);
  const auto blocks = static_cast<std::size_t>(geometry_.blocks);
  for (std::size_t b = 0; b < geometry_.block_rows; ++b) {
    for (std::size_t x = 0; x < blocks; ++x) {
      for (std::size_t u = 0; u < keep; values += keep - u, ++u) {
        std::copy_n(values, keep - u, square.data() + ((b * keep + u) * blocks + x) * keep);
      }
    }
  }
}

}  // namespace tensorpress::dct_chop
