// Training steps of the papers' networks from layer tables, for the reproduction of published
// figures and for tests; `model` makes them from real graphs.
#pragma once

#include <cstdint>

#include "devices/programs/workload.h"
#include "tensorpress/result.h"

namespace tensorpress::devices {

/// ResNet-34 on 3 x 32 x 32 (CIFAR-10), VGG-16 on the same, a U-Net on 9 x 256 x 256, an
/// encoder-decoder on 1 x 256 x 256: Table 3 of DCT+Chop. Names: resnet34, vgg16, unet, encoder.
std::vector<std::string> network_names();
Result<Workload> network(const std::string& name, double batch);

/// Plans DCT+Chop for every saved tensor with planes of 8 x 8 or more; the others stay.
void plan_chop(Workload& workload, std::uint64_t cf);

}  // namespace tensorpress::devices
