// A training step as the cost model sees it: operators in the order of the forward pass with what
// they compute and move, and the tensors that wait for the backward pass. `model` makes one from a
// graph with its shapes, liveness and plan; networks.h makes some from layer tables. All amounts
// are per sample, so a batch only multiplies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tensorpress::devices {

struct WorkloadOperator {
  std::string name;
  double forward_flops = 0;
  double backward_flops = 0;
  double moved_bytes = 0;      // read and written in both passes
  double parameter_bytes = 0;  // not per sample
  double output_bytes = 0;
  std::vector<std::size_t> inputs =
      {};  // operators whose outputs it reads; empty: the batch itself
};

/// Lives from the forward pass of `made_by` to the backward pass of `used_by`.
struct SavedTensor {
  std::string name;
  double bytes = 0;
  std::vector<std::uint64_t> shape = {};  // of one sample; planes are the last two axes
  std::size_t made_by = 0;
  std::size_t used_by = 0;
  // What the plan does with it.
  std::string codec = {};  // empty: kept as it is
  double ratio = 1;
  double codec_flops = 0;  // compression and decompression together
};

struct Workload {
  std::string name;
  double batch = 1;             // samples of a step on one replica
  double parameter_copies = 3;  // weights, gradients, momentum
  std::vector<WorkloadOperator> operators = {};
  std::vector<SavedTensor> saved = {};
};

}  // namespace tensorpress::devices
