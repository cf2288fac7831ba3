// What somebody else's program does with Tensorpress, through the public headers only.
#include <tensorpress/tensor_view.h>
#include <tensorpress/version.h>

#include <array>
#include <cstdio>
#include <cstring>

int main() {
  const std::array<float, 6> values = {0, 1, 2, 3, 4, 5};
  std::array<float, 6> copy{};
  const auto shape = tensorpress::Shape::parse("2x3");
  if (!shape.ok()) return 1;
  tensorpress::copy_elements(tensorpress::view_of(values, *shape),
                             tensorpress::view_of(std::span<float>(copy), *shape));
  if (copy != values) return 1;
  std::puts("tensorpress " TENSORPRESS_VERSION_STRING);
  return 0;
}
