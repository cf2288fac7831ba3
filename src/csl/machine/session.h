// What a host does with a running program: find names, copy, launch, stream. Commands run one after
// the other; a command that can never end is an error that says who waits for what.
#pragma once

#include <functional>
#include <span>

#include "csl/machine/fabric.h"
#include "tensorpress/result.h"

namespace tensorpress::csl {

struct Rectangle {
  int x = 0, y = 0, width = 1, height = 1;
};

class Session {
 public:
  Session(const Compilation& compilation, const Executable& executable)
      : compilation_(compilation), executable_(executable), fabric_(executable) {}

  /// The number of an exported name: its place in the layout's list.
  Result<int> id_of(const std::string& name) const;
  /// Calls an exported function on every PE that has it.
  Result<void> launch(const std::string& name, std::span<const std::uint32_t> arguments);
  /// Copies `elements` values to or from the variable of every PE of the rectangle. A value is 32
  /// bits in `data`, of which 16 count where `bits` is 16. Rows of PEs are the slow dimension; the
  /// values of a PE lie together.
  Result<void> copy_to(int id, const Rectangle& where, std::size_t elements, int bits,
                       std::span<const std::uint32_t> data);
  Result<void> copy_from(int id, const Rectangle& where, std::size_t elements, int bits,
                         std::span<std::uint32_t> data);
  /// The same as wavelets of a color.
  Result<void> stream_to(int color, const Rectangle& where, std::size_t elements, int bits,
                         std::span<const std::uint32_t> data);
  Result<void> stream_from(int color, const Rectangle& where, std::size_t elements, int bits,
                           std::span<std::uint32_t> data);
  /// Waits for the end of everything that is under way.
  Result<void> finish();

  std::uint64_t cycles() const { return fabric_.now(); }
  /// What simprint and debug wrote since the last call.
  std::vector<std::string> take_lines();

  std::uint64_t most_cycles = 200'000'000;  // of one command

 private:
  /// The bytes of one element in a PE's memory, and its number among all values.
  using CopyOfElement = std::function<void(std::span<std::uint8_t> element, std::size_t at)>;
  Result<void> for_each_copy(int id, const Rectangle& where, std::size_t elements, int bits,
                             std::size_t values, const CopyOfElement& copy);
  Result<void> check_rectangle(const Rectangle& where, std::size_t elements, int bits,
                               std::size_t given) const;
  Result<std::uint32_t> address(const Tile& tile, int id) const;
  Result<void> wait_for_commands();
  Error stuck(const std::string& what);

  const Compilation& compilation_;
  const Executable& executable_;
  Fabric fabric_;
};

}  // namespace tensorpress::csl
