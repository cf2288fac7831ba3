// Memory that runs out, from the caller's allocator or from the C++ runtime, is a status; nothing
// leaks and no thread waits for work that will not be done.
#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>

#include "sanitized.h"
#include "tensorpress/pack.h"
#include "unit/c_api/samples.h"

#if !TENSORPRESS_SANITIZED
namespace {

// How many calls of operator new still succeed, on all threads together; below 0: all of them do.
std::atomic<long> allowed{-1};

void* counted(std::size_t bytes, std::size_t alignment) {
  if (allowed >= 0) {
    long left = allowed;
    while (left > 0 && !allowed.compare_exchange_weak(left, left - 1)) {
    }
    if (left == 0) throw std::bad_alloc();
  }
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// NOLINTBEGIN(misc-new-delete-overloads)
void* operator new(std::size_t bytes) {
  return counted(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
// NOLINTEND(misc-new-delete-overloads)
#endif

namespace tensorpress {
namespace {

using c_samples::absolute_options;
using c_samples::default_decompress_options;
using c_samples::kCount;
using c_samples::mutable_view_of;
using c_samples::packed;
using c_samples::view_of;
using c_samples::waves;

// Counts what it gives and fails at the n-th call and after.
class Pool {
 public:
  explicit Pool(std::size_t calls_that_succeed) : left_(calls_that_succeed) {}
  tensorpress_allocator allocator() { return {&Pool::allocate, &Pool::release, this}; }
  std::size_t outstanding() const { return outstanding_; }
  bool failed() const { return failed_; }

 private:
  static void* allocate(void* self, std::size_t bytes) {
    auto& pool = *static_cast<Pool*>(self);
    if (pool.left_ == 0) {
      pool.failed_ = true;
      return nullptr;
    }
    --pool.left_;
    ++pool.outstanding_;
    return std::malloc(bytes);
  }
  static void release(void* self, void* memory) {
    --static_cast<Pool*>(self)->outstanding_;
    std::free(memory);
  }

  std::size_t left_, outstanding_ = 0;
  bool failed_ = false;
};

// Everything that allocates for the caller, one after the other; the first status that is not OK.
tensorpress_status use_everything(const tensorpress_allocator& allocator,
                                  tensorpress_error* error) {
  const auto values = waves();
  const auto view = view_of(values);
  auto options = absolute_options();
  options.allocator = allocator;
  auto back = default_decompress_options();
  back.allocator = allocator;
  tensorpress_compressor* compressor = nullptr;
  tensorpress_decompressor* decompressor = nullptr;
  const tensorpress_info* info = nullptr;
  void *stream = nullptr, *copy = nullptr;
  std::size_t bytes = 0, copy_bytes = 0;
  const std::function<tensorpress_status()> steps[] = {
      [&] { return tensorpress_compressor_create(&options, &compressor, error); },
      [&] {
        return tensorpress_compressor_compress_alloc(compressor, &view, &stream, &bytes, error);
      },
      [&] { return tensorpress_info_read(stream, bytes, &allocator, &info, error); },
      [&] { return tensorpress_decompressor_create(&back, &decompressor, error); },
      [&] {
        return tensorpress_decompressor_decompress_alloc(decompressor, stream, bytes, &copy,
                                                         &copy_bytes, error);
      },
  };
  tensorpress_status status = TENSORPRESS_OK;
  for (const auto& step : steps) {
    if (status == TENSORPRESS_OK) status = step();
  }
  tensorpress_free(&allocator, copy);
  tensorpress_decompressor_free(decompressor);
  tensorpress_info_free(&allocator, info);
  tensorpress_free(&allocator, stream);
  tensorpress_compressor_free(compressor);
  return status;
}

TEST(CApiMemory, AnAllocatorMayFailAtAnyCallAndNothingLeaks) {
  std::size_t calls = 0;
  for (;; ++calls) {
    Pool pool(calls);
    tensorpress_error error;
    const auto status = use_everything(pool.allocator(), &error);
    EXPECT_EQ(pool.outstanding(), 0u);
    if (!pool.failed()) {
      EXPECT_EQ(status, TENSORPRESS_OK) << error.message;
      break;
    }
    EXPECT_EQ(status, TENSORPRESS_OUT_OF_MEMORY);
    EXPECT_NE(std::strstr(error.message, "the allocator returned NULL"), nullptr);
  }
  EXPECT_EQ(calls, 6u);  // two contexts, room and result, an info, a tensor
}

TEST(CApiMemory, HalfAnAllocatorIsRefused) {
  Pool pool(10);
  tensorpress_allocator half = pool.allocator();
  half.release = nullptr;
  EXPECT_EQ(use_everything(half, nullptr), TENSORPRESS_BAD_ARGUMENT);
  const tensorpress_info* info = nullptr;
  EXPECT_EQ(tensorpress_info_read("", 0, &half, &info, nullptr), TENSORPRESS_BAD_ARGUMENT);
}

#if !TENSORPRESS_SANITIZED

// The call with n, n + 1, ... successful allocations until it succeeds; returns how many it took.
long until_it_succeeds(const std::function<tensorpress_status(tensorpress_error*)>& call) {
  for (long n = 0; n < 100000; ++n) {
    tensorpress_error error;
    allowed = n;
    const tensorpress_status status = call(&error);
    allowed = -1;
    if (status == TENSORPRESS_OK) return n;
    if (status != TENSORPRESS_OUT_OF_MEMORY && status != TENSORPRESS_TOO_LARGE) {
      ADD_FAILURE() << n << ": " << tensorpress_error_name(status) << ": " << error.message;
      return -1;
    }
  }
  ADD_FAILURE() << "it never succeeds";
  return -1;
}

TEST(CApiMemory, MemoryMayRunOutAnywhereInACompression) {
  const auto values = waves();
  const auto view = view_of(values);
  for (const char* codec : {"dense", "ceresz", "ceresz2", "dct-chop"}) {
    for (const std::size_t threads : {1u, 3u}) {
      auto options = absolute_options();
      options.codec = codec;
      options.threads = threads;
      options.bound_kind = codec == std::string_view("dct-chop") ? TENSORPRESS_BOUND_NONE
                                                                 : TENSORPRESS_BOUND_RELATIVE;
      std::vector<std::byte> output(200000);
      std::size_t bytes = 0;
      const long needed = until_it_succeeds([&](tensorpress_error* error) {
        return tensorpress_compress(&view, &options, output.data(), output.size(), &bytes, error);
      });
      EXPECT_GT(needed, 10) << codec;
      output.resize(bytes);
      options.threads = 1;
      EXPECT_EQ(output, packed(view, options)) << codec;
    }
  }
}

TEST(CApiMemory, MemoryMayRunOutAnywhereInADecompression) {
  const auto values = waves();
  std::vector<float> copy(kCount);
  const auto output = mutable_view_of(copy);
  const std::uint64_t origin[] = {0, 0, 0};
  const auto stream = packed(view_of(values), absolute_options());
  for (const std::size_t threads : {1u, 3u}) {
    auto options = default_decompress_options();
    options.threads = threads;
    EXPECT_GT(until_it_succeeds([&](tensorpress_error* error) {
                return tensorpress_decompress(stream.data(), stream.size(), &output, &options,
                                              error);
              }),
              5);
    EXPECT_GT(until_it_succeeds([&](tensorpress_error* error) {
                return tensorpress_decompress_region(stream.data(), stream.size(), origin, &output,
                                                     &options, error);
              }),
              5);
  }
  EXPECT_GT(until_it_succeeds([&](tensorpress_error* error) {
              const tensorpress_info* info = nullptr;
              const auto status =
                  tensorpress_info_read(stream.data(), stream.size(), nullptr, &info, error);
              tensorpress_info_free(nullptr, info);
              return status;
            }),
            5);
}

TEST(PackMemory, PackingAllocatesNothing) {
  const auto values = waves();
  const std::span<const std::byte> elements = std::as_bytes(std::span(values));
  std::vector<float> copy(values.size());
  const QuantizeOptions four_bits{.bits = 4};
  std::vector<std::byte> bytes(packed_size(values.size(), four_bits).value());
  allowed = 0;
  const bool packs = pack(DType::f32, elements, four_bits, bytes).ok();
  const bool unpacks =
      unpack(DType::f32, bytes, four_bits, std::as_writable_bytes(std::span(copy))).ok();
  allowed = -1;
  EXPECT_TRUE(packs && unpacks);
}

#endif

}  // namespace
}  // namespace tensorpress
