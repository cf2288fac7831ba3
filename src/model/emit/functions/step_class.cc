#include "model/emit/functions/step_class.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace tensorpress::model {
namespace {

constexpr std::string_view kRegistration = R"(

def owner(module, name):
    """The submodule that a dotted name stands in, made if it is not there."""
    *path, leaf = name.split(".")
    for part in path:
        if part not in module._modules:
            module.add_module(part, torch.nn.Module())
        module = module._modules[part]
    return module, leaf


@torch.no_grad()
def parameter(module, name, tensor, fill):
    fill(tensor)
    place, leaf = owner(module, name)
    place.register_parameter(leaf, torch.nn.Parameter(tensor))


@torch.no_grad()
def buffer(module, name, tensor, fill):
    fill(tensor)
    place, leaf = owner(module, name)
    place.register_buffer(leaf, tensor)


def expect(x, name, shape):
    """None stands for an open size."""
    right = x.dim() == len(shape) and all(b in (None, a) for a, b in zip(x.shape, shape))
    if not right:
        raise ValueError(f"{name} has the shape {tuple(x.shape)}; the model's text says {shape}")


def tie(module, name, other):
    """One parameter under a second name."""
    place, leaf = owner(module, name)
    place.register_parameter(leaf, module.get_parameter(other))
)";

constexpr std::string_view kTensors = R"(
    def tensors(self):
        """Parameters and buffers by their names."""
        return dict(self.named_parameters(remove_duplicate=False)), dict(self.named_buffers())

)";

constexpr std::string_view kGive = R"(
    def give(self, P):
        def add_gradient(name, gradient):
            if P[name].requires_grad:
                P[name].grad = gradient if P[name].grad is None else P[name].grad.add_(gradient)

        return add_gradient
)";

constexpr std::string_view kSgd = R"(
    def give(self, P):
        """The update of torch.optim.SGD as soon as a gradient is complete; none is kept."""

        def update(name, gradient):
            if not P[name].requires_grad:
                return
            if self.weight_decay:
                gradient = gradient.add(P[name], alpha=self.weight_decay)
            if self.momentum and name in self.state:
                gradient = self.state[name].mul_(self.momentum).add_(gradient)
            elif self.momentum:
                self.state[name] = gradient = gradient.clone()
            P[name].add_(gradient, alpha=-self.lr)

        return update
)";

constexpr std::string_view kAdam = R"(
    def give(self, P):
        """The update of torch.optim.Adam as soon as a gradient is complete; none is kept."""
        self.steps += 1
        first, second = (1 - beta**self.steps for beta in self.betas)

        def update(name, gradient):
            if not P[name].requires_grad:
                return
            if name not in self.state:
                self.state[name] = torch.zeros_like(gradient), torch.zeros_like(gradient)
            mean, square = self.state[name]
            mean.lerp_(gradient, 1 - self.betas[0])
            square.mul_(self.betas[1]).addcmul_(gradient, gradient, value=1 - self.betas[1])
            deviation = (square.sqrt() / math.sqrt(second)).add_(self.eps)
            P[name].addcdiv_(mean, deviation, value=-self.lr / first)

        return update
)";

constexpr std::string_view kPure = R"(

class PureStep:
    """The same two passes over tensors from outside."""

    def __init__(self, params, seed):
        self.params, self.seed, self.saved, self.gradients = params, seed, {}, {}

    def tensors(self):
        return self.params, self.params

    def draw_seed(self):
        return self.seed

    def give(self, P):
        return self.gradients.__setitem__

    forward, backward = Step.forward, Step.backward
)";

}  // namespace

const GradientGiving* find_giving(std::string_view optimizer) {
  static const std::array<GradientGiving, 3> kGivings = {{
      {"", "    def __init__(self):\n", "", kGive, {"bits"}},
      {"sgd",
       "    def __init__(self, lr=0.01, momentum=0.9, weight_decay=0.0):\n",
       "        self.lr, self.momentum, self.weight_decay = lr, momentum, weight_decay\n"
       "        self.state = {}\n",
       kSgd,
       {"lr", "momentum", "weight_decay", "state"}},
      {"adam",
       "    def __init__(self, lr=0.001, betas=(0.9, 0.999), eps=1e-8):\n",
       "        self.lr, self.betas, self.eps, self.steps = lr, betas, eps, 0\n"
       "        self.state = {}\n",
       kAdam,
       {"lr", "betas", "eps", "steps", "state"}},
  }};
  const auto* found = std::find_if(kGivings.begin(), kGivings.end(),
                                   [&](const auto& each) { return each.optimizer == optimizer; });
  return found == kGivings.end() ? nullptr : found;
}

std::vector<std::string_view> member_names(const GradientGiving& giving) {
  std::vector<std::string_view> names{"saved", "give", "tensors", "backward", "draw_seed"};
  names.insert(names.end(), giving.names.begin(), giving.names.end());
  return names;
}

std::string_view registration_functions() {
  return kRegistration;
}

std::string_view tensors_method() {
  return kTensors;
}

std::string draw_seed_method(std::size_t streams) {
  if (streams == 0) return {};
  return text("    def draw_seed(self):\n",
              "        \"\"\"For rounding and dropout, which add a number of their own; follows ",
              "torch.manual_seed.\"\"\"\n        return int(torch.randint(2**40, ())) * ", streams,
              "\n\n");
}

std::string pure_step(std::size_t streams, const std::string& arguments) {
  const bool random = streams > 0;
  std::string out =
      text(kPure, "\n\ndef train_step(params", arguments.empty() ? "" : ", ", arguments,
           random ? ", seed=0):\n    \"\"\"Every step has a seed of its own: a whole "
                    "number, or a tensor with one.\"\"\"\n"
                  : "):\n");
  out += text("    step = PureStep(params, ", random ? text("seed * ", streams) : std::string("0"),
              ")\n");
  out += text("    loss = step.forward(", arguments, ")\n    step.backward()\n");
  return out + "    return loss, step.gradients\n";
}

}  // namespace tensorpress::model
