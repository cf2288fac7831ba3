#include "files/tensor/stored_tensor.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/bytes.h"
#include "base/errors.h"
#include "files/bytes/input_watch.h"
#include "files/tensor/region_runs.h"

namespace tensorpress::files {
namespace {

// Short runs with small gaps are read together with the gaps, a window at a time: a system call
// costs about as much as copying a few KiB.
constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kShortRunBytes = std::uint64_t{1} << 16;
constexpr std::uint64_t kSmallGapBytes = std::uint64_t{1} << 14;

template <class T>
void swap_all(std::span<std::byte> bytes) {
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    value = swap_bytes(value);
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
}

void to_native(const StoredLayout& layout, std::span<std::byte> bytes) {
  if (layout.big_endian == (std::endian::native == std::endian::big)) return;
  switch (size_of(layout.dtype)) {
    case 2:
      return swap_all<std::uint16_t>(bytes);
    case 4:
      return swap_all<std::uint32_t>(bytes);
    case 8:
      return swap_all<std::uint64_t>(bytes);
    default:
      return;
  }
}

// Fortran order is C order with the axes reversed.
Shape reversed(const Shape& shape) {
  Shape result = shape;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    result[axis] = shape[shape.rank() - 1 - axis];
  }
  return result;
}

Region reversed(const Region& region) {
  Region result{{}, reversed(region.extent)};
  const std::size_t rank = region.extent.rank();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    result.origin[axis] = region.origin[rank - 1 - axis];
  }
  return result;
}

class RandomAccessTensor : public stream::TensorSource {
 public:
  RandomAccessTensor(FileDescriptor file, std::string name, const StoredLayout& layout)
      : file_(std::move(file)), name_(std::move(name)), layout_(layout), watch_(file_) {}

  DType dtype() const override { return layout_.dtype; }
  const Shape& shape() const override { return layout_.shape; }
  bool random_access() const override { return true; }

  Result<TensorView> read(const Region& region, AlignedBuffer& scratch) override {
    RETURN_IF_ERROR(check_region(layout_.shape, region));
    const auto elements = scratch.reserve(region.extent.element_count() * size_of(layout_.dtype));
    auto view = TensorView::contiguous(elements.data(), layout_.dtype, region.extent);
    if (layout_.fortran_order) {
      RETURN_IF_ERROR(read_runs(RegionRuns(reversed(layout_.shape), reversed(region)), elements));
      const Strides strides = contiguous_strides(reversed(region.extent), size_of(layout_.dtype));
      const std::size_t rank = region.extent.rank();
      for (std::size_t axis = 0; axis < rank; ++axis) {
        view.strides[axis] = strides[rank - 1 - axis];
      }
    } else {
      RETURN_IF_ERROR(read_runs(RegionRuns(layout_.shape, region), elements));
    }
    RETURN_IF_ERROR(watch_.check(file_, name_));
    to_native(layout_, elements);
    return view;
  }

 private:
  // Fills `into` with the runs, one behind the other.
  Result<void> read_runs(const RegionRuns& runs, std::span<std::byte> into) {
    const std::size_t element = size_of(layout_.dtype);
    const std::uint64_t run_bytes = runs.run() * element;
    const bool together =
        runs.count() > 1 && run_bytes <= kShortRunBytes && runs.gap() * element <= kSmallGapBytes;
    const std::uint64_t end = runs.end() * element;
    std::uint64_t window_begin = 0;
    std::uint64_t window_end = 0;
    std::size_t filled = 0;
    return runs.for_each([&](std::uint64_t first) -> Result<void> {
      const std::uint64_t at = first * element;
      const auto target = into.subspan(filled, static_cast<std::size_t>(run_bytes));
      filled += target.size();
      if (!together) return read_bytes(at, target);
      if (at + run_bytes > window_end) {
        window_begin = at;
        window_end = std::min(at + kWindowBytes, end);
        RETURN_IF_ERROR(read_bytes(at, window_.reserve(window_end - window_begin)));
      }
      std::memcpy(target.data(), window_.data() + (at - window_begin), target.size());
      return {};
    });
  }

  Result<void> read_bytes(std::uint64_t at, std::span<std::byte> into) const {
    const auto count = read_fully_at(file_, layout_.first_byte + at, into);
    if (!count.ok()) return while_doing(text("cannot read ", name_), count.error());
    if (*count < into.size()) {
      return truncated(name_, " became shorter while it was read: it now ends at byte ",
                       layout_.first_byte + at + *count);
    }
    return {};
  }

  FileDescriptor file_;
  std::string name_;
  StoredLayout layout_;
  OpenFileWatch watch_;
  AlignedBuffer window_;
};

class SequentialTensor : public stream::TensorSource {
 public:
  SequentialTensor(FileInput input, const StoredLayout& layout)
      : input_(std::move(input)), layout_(layout) {}

  DType dtype() const override { return layout_.dtype; }
  const Shape& shape() const override { return layout_.shape; }
  bool random_access() const override { return false; }

  Result<TensorView> read(const Region& region, AlignedBuffer& scratch) override {
    RETURN_IF_ERROR(check_region(layout_.shape, region));
    const RegionRuns runs(layout_.shape, region);
    if (runs.count() > 1 || (runs.count() == 1 && runs.begin() != next_)) {
      return bad_argument(input_.name(),
                          " is a pipe and gives its elements in order only: element ", next_,
                          " is next, but a region from element ", runs.begin(), " was asked for");
    }
    const auto elements = scratch.reserve(runs.count() * runs.run() * size_of(layout_.dtype));
    TRY(const std::size_t bytes, input_.read(elements));
    if (bytes < elements.size()) {
      return truncated(input_.name(), " ends after ", next_ * size_of(layout_.dtype) + bytes,
                       " bytes of elements, but ", layout_.shape.to_string(), " of ",
                       name_of(layout_.dtype), " needs ", layout_.element_bytes());
    }
    next_ += runs.count() * runs.run();
    if (next_ == layout_.shape.element_count()) RETURN_IF_ERROR(expect_end());
    to_native(layout_, elements);
    return TensorView::contiguous(elements.data(), layout_.dtype, region.extent);
  }

 private:
  Result<void> expect_end() {
    std::byte extra{};
    TRY(const std::size_t bytes, input_.read({&extra, 1}));
    if (bytes == 0) return {};
    return corrupt(input_.name(), " goes on after the ", layout_.element_bytes(),
                   " bytes of elements that ", layout_.shape.to_string(), " of ",
                   name_of(layout_.dtype), " needs; check the shape and the type");
  }

  FileInput input_;
  StoredLayout layout_;
  std::uint64_t next_ = 0;
};

}  // namespace

std::unique_ptr<stream::TensorSource> random_access_tensor(FileDescriptor file, std::string name,
                                                           const StoredLayout& layout) {
  return std::make_unique<RandomAccessTensor>(std::move(file), std::move(name), layout);
}

std::unique_ptr<stream::TensorSource> sequential_tensor(FileInput input,
                                                        const StoredLayout& layout) {
  return std::make_unique<SequentialTensor>(std::move(input), layout);
}

}  // namespace tensorpress::files
