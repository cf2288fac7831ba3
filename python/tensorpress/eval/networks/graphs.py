"""Graph networks: the convolutions of Kipf and Welling (2017) and GraphSAGE with the mean of the
neighbours (Hamilton et al. 2017). The adjacency matrix is in compressed rows."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class GraphConvolutions(nn.Module):
    """Takes a normalized adjacency matrix."""

    def __init__(self, features: int = 128, hidden: int = 256, classes: int = 40) -> None:
        super().__init__()
        self.conv1 = nn.Linear(features, hidden, bias=False)
        self.conv2 = nn.Linear(hidden, hidden, bias=False)
        self.conv3 = nn.Linear(hidden, classes, bias=False)

    def forward(self, adjacency: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        for layer in (self.conv1, self.conv2):
            x = F.relu(torch.sparse.mm(adjacency, layer(F.dropout(x, 0.5, self.training))))
        return torch.sparse.mm(adjacency, self.conv3(F.dropout(x, 0.5, self.training)))


class SageLayer(nn.Module):
    def __init__(self, features: int, outputs: int) -> None:
        super().__init__()
        self.lin_self = nn.Linear(features, outputs)
        self.lin_neighbour = nn.Linear(features, outputs, bias=False)

    def forward(self, adjacency: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        near = torch.sparse.mm(adjacency, x, "mean")
        return self.lin_self(x) + self.lin_neighbour(near)


class GraphSage(nn.Module):
    """Takes an adjacency matrix of ones."""

    def __init__(self, features: int = 128, hidden: int = 256, classes: int = 40) -> None:
        super().__init__()
        self.conv1 = SageLayer(features, hidden)
        self.conv2 = SageLayer(hidden, hidden)
        self.conv3 = SageLayer(hidden, classes)

    def forward(self, adjacency: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        for layer in (self.conv1, self.conv2):
            x = F.dropout(F.relu(layer(adjacency, x)), 0.5, self.training)
        return self.conv3(adjacency, x)
