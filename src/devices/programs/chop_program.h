// DCT+Chop as an accelerator runs it (DCT+Chop, Eq. 4 to 7): two matrix products a plane, with
// partial serialization in s x s parts (Sec. 3.5.1) and gather or scatter for the triangle (3.5.2).
// The same operators on the same shapes as tensorpress.torch.ChopCompressor and ChopDecompressor.
#pragma once

#include "devices/programs/program.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress::devices {

struct ChopTask {
  Shape shape = {100, 3, 256, 256};  // of the uncompressed float32 tensor; planes are its last axes
  std::uint64_t cf = 4;
  bool triangle = false;
  std::uint64_t serialize = 1;
  bool decompress = false;
};

/// Refuses shapes without planes or elements, chop factors beyond 1 to 8, and parts beyond 1 to 64.
Result<void> check_task(const ChopTask& task);
std::string name_of(const ChopTask& task);

/// Sizes of a task; all in elements, as doubles.
struct ChopSizes {
  double planes = 0;
  double plane = 0;        // elements of an uncompressed plane
  double compressed = 0;   // elements of a compressed one
  double parts = 0;        // into which each plane is cut
  double flops = 0;        // of all planes: Eq. 5 or 7 for each part
  double added_steps = 0;  // serial steps that square, unserialized tasks do not have
};
ChopSizes sizes_of(const ChopTask& task);

Program chop_program(const ChopTask& task);

}  // namespace tensorpress::devices
