#include "devices/programs/networks.h"

#include "base/errors.h"
#include "base/near_names.h"
#include "devices/programs/chop_program.h"

namespace tensorpress::devices {
namespace {

constexpr double kBytes = 4;

/// Channels and the side of a plane, as they flow from layer to layer.
struct Extent {
  std::uint64_t channels;
  std::uint64_t side;
  double bytes() const { return static_cast<double>(channels * side * side) * kBytes; }
};

/// Adds layers one after the other. A convolution saves its input, a batch normalization too, and a
/// ReLU its output, which is the next layer's input and is saved once.
class Tower {
 public:
  explicit Tower(std::string name, double batch) {
    workload_.name = std::move(name);
    workload_.batch = batch;
  }

  /// Convolution, normalization, ReLU. `stride` 2 halves the side, `up` doubles it.
  Extent convolution(Extent in, std::uint64_t channels, std::uint64_t kernel,
                     std::uint64_t stride = 1, bool up = false) {
    const Extent out{channels, up ? in.side * 2 : (in.side + stride - 1) / stride};
    const double weights = static_cast<double>(in.channels * channels * kernel * kernel);
    const double flops = 2 * weights * static_cast<double>(out.side * out.side);
    const std::string name = text("conv_", workload_.operators.size());
    save(name + "_input", in);
    // Gradients of input and of weights: twice the forward pass.
    add({.name = name,
         .forward_flops = flops,
         .backward_flops = 2 * flops,
         .moved_bytes = 3 * (in.bytes() + out.bytes()),
         .parameter_bytes = weights * kBytes,
         .output_bytes = out.bytes()});
    const double values = out.bytes() / kBytes;
    save(text("norm_", workload_.operators.size(), "_input"), out);
    add({.name = text("norm_", workload_.operators.size()),
         .forward_flops = 5 * values,
         .backward_flops = 10 * values,
         .moved_bytes = 6 * out.bytes(),
         .parameter_bytes = 2 * static_cast<double>(channels) * kBytes,
         .output_bytes = out.bytes()});
    return out;
  }

  void dense(std::uint64_t in, std::uint64_t out) {
    const double weights = static_cast<double>(in * out);
    save(text("dense_", workload_.operators.size(), "_input"), {in, 1});
    add({.name = text("dense_", workload_.operators.size()),
         .forward_flops = 2 * weights,
         .backward_flops = 4 * weights,
         .moved_bytes = 3 * static_cast<double>(in + out) * kBytes,
         .parameter_bytes = weights * kBytes,
         .output_bytes = static_cast<double>(out) * kBytes});
  }

  /// The last operator also reads the output of `other`: a residual or a skip connection.
  void join(std::size_t other) { workload_.operators.back().inputs.push_back(other); }
  std::size_t last() const { return workload_.operators.size() - 1; }

  Workload take() { return std::move(workload_); }

 private:
  void add(WorkloadOperator each) {
    if (!workload_.operators.empty()) each.inputs.push_back(workload_.operators.size() - 1);
    workload_.operators.push_back(std::move(each));
  }
  /// Before `add`: what the operator to come will need again.
  void save(const std::string& name, Extent extent) {
    const std::size_t place = workload_.operators.size();
    workload_.saved.push_back({.name = name,
                               .bytes = extent.bytes(),
                               .shape = {extent.channels, extent.side, extent.side},
                               .made_by = place == 0 ? 0 : place - 1,
                               .used_by = place});
  }

  Workload workload_;
};

Workload resnet34(double batch) {
  Tower tower("resnet34", batch);
  Extent x = tower.convolution({3, 32}, 64, 3);
  const std::pair<std::uint64_t, int> groups[] = {{64, 3}, {128, 4}, {256, 6}, {512, 3}};
  for (const auto& [channels, blocks] : groups) {
    for (int block = 0; block < blocks; ++block) {
      const std::size_t entry = tower.last();
      x = tower.convolution(x, channels, 3, block == 0 && channels != 64 ? 2 : 1);
      x = tower.convolution(x, channels, 3);
      tower.join(entry);
    }
  }
  tower.dense(512, 10);
  return tower.take();
}

Workload vgg16(double batch) {
  Tower tower("vgg16", batch);
  Extent x{3, 32};
  const std::pair<std::uint64_t, int> groups[] = {{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}};
  for (const auto& [channels, layers] : groups) {
    for (int layer = 0; layer < layers; ++layer) {
      x = tower.convolution(x, channels, 3, layer == 0 && channels != 64 && x.side > 2 ? 2 : 1);
    }
  }
  tower.dense(512, 512);
  tower.dense(512, 10);
  return tower.take();
}

Workload unet(double batch) {
  Tower tower("unet", batch);
  Extent x{9, 256};
  std::vector<std::size_t> skips;
  for (const std::uint64_t channels : {32, 64, 128, 256}) {
    x = tower.convolution(x, channels, 3, channels == 32 ? 1 : 2);
    x = tower.convolution(x, channels, 3);
    skips.push_back(tower.last());
  }
  for (const std::uint64_t channels : {128, 64, 32}) {
    x = tower.convolution(x, channels, 2, 1, true);
    skips.pop_back();
    x = tower.convolution({x.channels * 2, x.side}, channels, 3);
    tower.join(skips.back());
    x = tower.convolution(x, channels, 3);
  }
  tower.convolution(x, 1, 1);
  return tower.take();
}

Workload encoder(double batch) {
  Tower tower("encoder", batch);
  Extent x{1, 256};
  for (const std::uint64_t channels : {32, 64, 128}) x = tower.convolution(x, channels, 3, 2);
  for (const std::uint64_t channels : {128, 64, 32}) x = tower.convolution(x, channels, 3, 1, true);
  tower.convolution(x, 1, 3);
  return tower.take();
}

struct Known {
  const char* name;
  Workload (*make)(double batch);
};
constexpr Known kNetworks[] = {
    {"resnet34", resnet34}, {"vgg16", vgg16}, {"unet", unet}, {"encoder", encoder}};

}  // namespace

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  for (const Known& each : kNetworks) names.emplace_back(each.name);
  return names;
}

Result<Workload> network(const std::string& name, double batch) {
  std::string list;
  for (const Known& each : kNetworks) {
    if (name == each.name) return each.make(batch);
    list += text(list.empty() ? "" : ", ", each.name);
  }
  return bad_argument("there is no network '", name, "'", did_you_mean(name, network_names()),
                      "; there is ", list);
}

void plan_chop(Workload& workload, std::uint64_t cf) {
  for (SavedTensor& saved : workload.saved) {
    const auto shape = Shape::make(saved.shape);
    if (!shape.ok() || shape->rank() < 2) continue;
    const std::size_t rank = shape->rank();
    if ((*shape)[rank - 2] < 8 || (*shape)[rank - 1] < 8) continue;
    ChopTask task{.shape = *shape, .cf = cf};
    const ChopSizes there = sizes_of(task);
    task.decompress = true;
    saved.codec = text("dct-chop:", cf);
    saved.ratio = there.plane / there.compressed;
    saved.codec_flops = there.flops + sizes_of(task).flops;
  }
}

}  // namespace tensorpress::devices
