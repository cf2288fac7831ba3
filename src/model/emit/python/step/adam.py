# torch.optim.Adam in the backward pass.
import math

import torch


# members: lr, betas, eps, steps, state
class Step(torch.nn.Module):
    def __init__(self, lr=0.001, betas=(0.9, 0.999), eps=1e-8):
        super().__init__()
        self.lr, self.betas, self.eps, self.steps = lr, betas, eps, 0
        self.state = {}

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
