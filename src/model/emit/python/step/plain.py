# What happens to a gradient when it is complete, without an optimizer: it goes to .grad.
import torch


# members: bits
class Step(torch.nn.Module):
    def __init__(self):
        super().__init__()

    def tensors(self):
        """Parameters and buffers by their names."""
        return dict(self.named_parameters(remove_duplicate=False)), dict(self.named_buffers())

    def give(self, P):
        def add_gradient(name, gradient):
            if P[name].requires_grad:
                P[name].grad = gradient if P[name].grad is None else P[name].grad.add_(gradient)

        return add_gradient
