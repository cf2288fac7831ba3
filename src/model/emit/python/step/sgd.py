# torch.optim.SGD in the backward pass.
import torch


# members: lr, momentum, weight_decay, state
class Step(torch.nn.Module):
    def __init__(self, lr=0.01, momentum=0.9, weight_decay=0.0):
        super().__init__()
        self.lr, self.momentum, self.weight_decay = lr, momentum, weight_decay
        self.state = {}

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
