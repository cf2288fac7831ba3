#include "devices/programs/chop_program.h"

#include <algorithm>
#include <array>

#include "base/errors.h"

namespace tensorpress::devices {
namespace {

constexpr std::uint64_t kPoints = 8;
constexpr std::uint64_t kMostParts = 64;

std::uint64_t divided_up(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// One side of a plane, cut into parts of whole blocks; the last may be smaller.
struct Side {
  std::uint64_t extent;
  std::uint64_t cf;
  std::uint64_t step;  // blocks of a part

  Side(std::uint64_t elements, const ChopTask& task)
      : extent(elements),
        cf(task.cf),
        step(divided_up(divided_up(elements, kPoints), task.serialize)) {}

  std::uint64_t blocks() const { return divided_up(extent, kPoints); }
  std::uint64_t coefficients() const { return blocks() * cf; }
  std::uint64_t parts() const { return divided_up(blocks(), step); }
  std::uint64_t elements_of(std::uint64_t part) const {
    return std::min(step * kPoints, extent - part * step * kPoints);
  }
  std::uint64_t coefficients_of(std::uint64_t part) const {
    return std::min(step, blocks() - part * step) * cf;
  }
};

struct Sides {
  Side rows;
  Side columns;
};
Sides sides_of(const ChopTask& task) {
  const std::size_t rank = task.shape.rank();
  return {Side(task.shape[rank - 2], task), Side(task.shape[rank - 1], task)};
}

/// Builds the program plane axes in front, part by part.
class Builder {
 public:
  explicit Builder(const ChopTask& task) : task_(task), sides_(sides_of(task)) {
    program_.name = name_of(task);
    for (std::size_t i = 0; i + 2 < task.shape.rank(); ++i) front_.push_back(task.shape[i]);
  }

  Program build() {
    std::size_t planes =
        program_.add({.name = "input",
                      .shape = task_.decompress ? compressed_shape() : plane_shape(),
                      .role = TensorRole::input});
    const Side& rows = sides_.rows;
    const Side& columns = sides_.columns;
    add_matrices();
    if (task_.triangle && task_.decompress) planes = scattered(planes);
    const auto bands = split(planes, rows, -2);
    std::vector<std::size_t> done;
    for (std::uint64_t i = 0; i < rows.parts(); ++i) {
      const auto parts = split(bands[i], columns, -1);
      std::vector<std::size_t> products;
      for (std::uint64_t j = 0; j < columns.parts(); ++j)
        products.push_back(product(parts[j], i, j));
      done.push_back(joined(products, -1));
    }
    planes = joined(done, -2);
    if (task_.triangle && !task_.decompress) planes = gathered(planes);
    program_.tensors[planes].role = TensorRole::output;
    program_.tensors[planes].name = "output";
    return std::move(program_);
  }

 private:
  std::vector<std::uint64_t> with(std::uint64_t height, std::uint64_t width) const {
    std::vector<std::uint64_t> shape = front_;
    shape.push_back(height);
    shape.push_back(width);
    return shape;
  }
  std::vector<std::uint64_t> plane_shape() const {
    return with(sides_.rows.extent, sides_.columns.extent);
  }
  std::vector<std::uint64_t> square_shape() const {
    return with(sides_.rows.coefficients(), sides_.columns.coefficients());
  }
  std::vector<std::uint64_t> flat_square_shape() const {
    std::vector<std::uint64_t> shape = front_;
    shape.push_back(sides_.rows.coefficients() * sides_.columns.coefficients());
    return shape;
  }
  std::vector<std::uint64_t> compressed_shape() const {
    if (!task_.triangle) return square_shape();
    return with(sides_.rows.blocks() * sides_.columns.blocks(), task_.cf * (task_.cf + 1) / 2);
  }

  /// A side has a second matrix when its last part is smaller.
  void add_matrices() {
    const auto add_side = [&](const Side& side, const char* name, bool left,
                              std::array<std::size_t, 2>& places) {
      const auto add = [&](std::uint64_t part, const std::string& matrix_name) {
        const std::uint64_t to =
            task_.decompress ? side.elements_of(part) : side.coefficients_of(part);
        const std::uint64_t from =
            task_.decompress ? side.coefficients_of(part) : side.elements_of(part);
        std::vector<std::uint64_t> shape = {to, from};
        if (!left) std::swap(shape[0], shape[1]);
        return program_.add({.name = matrix_name, .shape = shape, .role = TensorRole::constant});
      };
      places[0] = add(0, name);
      const std::uint64_t last = side.parts() - 1;
      const bool smaller = side.elements_of(last) != side.elements_of(0);
      places[1] = smaller ? add(last, text(name, "_last")) : places[0];
    };
    add_side(sides_.rows, "left", true, left_);
    add_side(sides_.columns, "right", false, right_);
    if (task_.triangle) {
      const std::uint64_t kept =
          sides_.rows.blocks() * sides_.columns.blocks() * task_.cf * (task_.cf + 1) / 2;
      places_ = program_.add(
          {.name = "places", .shape = {kept}, .type = "int64", .role = TensorRole::constant});
    }
  }

  std::vector<std::size_t> split(std::size_t whole, const Side& side, int axis) {
    if (side.parts() == 1) return {whole};
    ProgramOperator cut{.name = "split", .inputs = {whole}};
    for (std::uint64_t i = 0; i < side.parts(); ++i) {
      std::vector<std::uint64_t> shape = program_.tensors[whole].shape;
      shape[shape.size() - static_cast<std::size_t>(-axis)] =
          task_.decompress ? side.coefficients_of(i) : side.elements_of(i);
      cut.outputs.push_back(
          program_.add({.name = text("part_", program_.tensors.size()), .shape = shape}));
    }
    program_.operators.push_back(cut);
    return cut.outputs;
  }

  /// left (part right)
  std::size_t product(std::size_t part, std::uint64_t i, std::uint64_t j) {
    const Side& rows = sides_.rows;
    const Side& columns = sides_.columns;
    const std::size_t left = left_[i + 1 == rows.parts() ? 1 : 0];
    const std::size_t right = right_[j + 1 == columns.parts() ? 1 : 0];
    const std::uint64_t height = task_.decompress ? rows.coefficients_of(i) : rows.elements_of(i);
    const std::uint64_t made_height =
        task_.decompress ? rows.elements_of(i) : rows.coefficients_of(i);
    const std::uint64_t made_width =
        task_.decompress ? columns.elements_of(j) : columns.coefficients_of(j);
    const std::size_t half = program_.apply(
        "matmul", {part, right},
        {.name = text("half_", program_.tensors.size()), .shape = with(height, made_width)});
    return program_.apply("matmul", {left, half},
                          {.name = text("product_", program_.tensors.size()),
                           .shape = with(made_height, made_width)});
  }

  std::size_t joined(const std::vector<std::size_t>& parts, int axis) {
    if (parts.size() == 1) return parts.front();
    std::vector<std::uint64_t> shape = program_.tensors[parts.front()].shape;
    const std::size_t at = shape.size() - static_cast<std::size_t>(-axis);
    shape[at] = 0;
    for (const std::size_t part : parts) shape[at] += program_.tensors[part].shape[at];
    return program_.apply("cat", parts,
                          {.name = text("joined_", program_.tensors.size()), .shape = shape});
  }

  std::vector<std::uint64_t> flat_kept_shape() const {
    std::vector<std::uint64_t> shape = front_;
    shape.push_back(program_.tensors[places_].shape.front());
    return shape;
  }
  std::size_t scattered(std::size_t kept) {
    const std::size_t zeros =
        program_.apply("new_zeros", {kept}, {.name = "zeros", .shape = flat_square_shape()});
    const std::size_t flat =
        program_.apply("flatten", {kept}, {.name = "flat", .shape = flat_kept_shape()});
    const std::size_t square = program_.apply("index_copy", {zeros, places_, flat},
                                              {.name = "scattered", .shape = flat_square_shape()});
    return program_.apply("unflatten", {square}, {.name = "square", .shape = square_shape()});
  }
  std::size_t gathered(std::size_t square) {
    const std::size_t flat =
        program_.apply("flatten", {square}, {.name = "flat", .shape = flat_square_shape()});
    const std::size_t kept = program_.apply("index_select", {flat, places_},
                                            {.name = "gathered", .shape = flat_kept_shape()});
    return program_.apply("unflatten", {kept}, {.name = "kept", .shape = compressed_shape()});
  }

  const ChopTask& task_;
  Sides sides_;
  std::vector<std::uint64_t> front_;
  Program program_;
  std::array<std::size_t, 2> left_{}, right_{};
  std::size_t places_ = 0;
};

}  // namespace

Result<void> check_task(const ChopTask& task) {
  if (task.shape.rank() < 2) {
    return bad_argument("`shape` ", task.shape.to_string(),
                        " has no planes; it needs two axes or more, for example 100x3x256x256");
  }
  if (task.shape.element_count() == 0) {
    return bad_argument("`shape` ", task.shape.to_string(), " has no elements");
  }
  constexpr std::uint64_t kMostElements = std::uint64_t{1} << 48;
  if (task.shape.element_count() > kMostElements) {
    return too_large("`shape` ", task.shape.to_string(), " has more than 2^48 elements");
  }
  if (task.cf < 1 || task.cf > kPoints) {
    return bad_argument("CF ", task.cf, " is not in 1..8");
  }
  if (task.serialize < 1 || task.serialize > kMostParts) {
    return bad_argument("`serialize` ", task.serialize, " is not in 1..", kMostParts);
  }
  return {};
}

std::string name_of(const ChopTask& task) {
  return text("dct-chop ", task.decompress ? "decompression" : "compression", ", CF ", task.cf,
              task.triangle ? ", triangle" : "",
              task.serialize > 1 ? text(", s = ", task.serialize) : std::string(), ", ",
              task.shape.to_string());
}

ChopSizes sizes_of(const ChopTask& task) {
  const Sides sides = sides_of(task);
  ChopSizes sizes;
  sizes.planes = 1;
  for (std::size_t i = 0; i + 2 < task.shape.rank(); ++i) {
    sizes.planes *= static_cast<double>(task.shape[i]);
  }
  const double rows = static_cast<double>(sides.rows.extent);
  const double columns = static_cast<double>(sides.columns.extent);
  const double cf = static_cast<double>(task.cf);
  const double blocks = static_cast<double>(sides.rows.blocks() * sides.columns.blocks());
  sizes.plane = rows * columns;
  sizes.compressed = blocks * (task.triangle ? cf * (cf + 1) / 2 : cf * cf);
  sizes.parts = static_cast<double>(sides.rows.parts() * sides.columns.parts());
  for (std::uint64_t i = 0; i < sides.rows.parts(); ++i) {
    for (std::uint64_t j = 0; j < sides.columns.parts(); ++j) {
      // (m x k)(k x n) takes m n (2 k - 1) flop; these are Eq. 5 and 7 for a square plane.
      const auto m = static_cast<double>(sides.rows.elements_of(i));
      const auto n = static_cast<double>(sides.columns.elements_of(j));
      const auto cm = static_cast<double>(sides.rows.coefficients_of(i));
      const auto cn = static_cast<double>(sides.columns.coefficients_of(j));
      sizes.flops += task.decompress ? cm * n * (2 * cn - 1) + m * n * (2 * cm - 1)
                                     : m * cn * (2 * n - 1) + cm * cn * (2 * m - 1);
    }
  }
  sizes.flops *= sizes.planes;
  sizes.added_steps = sizes.parts - 1;
  if (task.triangle) sizes.added_steps += task.decompress ? 4 : 3;
  return sizes;
}

Program chop_program(const ChopTask& task) {
  return Builder(task).build();
}

}  // namespace tensorpress::devices
