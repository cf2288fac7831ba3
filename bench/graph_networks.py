"""Graph networks as model texts, with the adjacency matrix in three forms, and graphs for them:
published ones of DATA/graphs and synthetic ones of the same mean degree. graph_forms.py has the
forms."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence

import numpy as np
import torch

NEAR = {
    "linear": "transpose(matmul(transpose(x, 0, 1), a, transposed = true), 0, 1)",
    "matmul": "matmul(a, x)",
    "csr": "spmm(a, x)",
}
LAYER = {
    "gcn": "return near(a, lin: linear(x, size, bias = false))",
    "graphsage": "return (lin_self: linear(x, size)) + "
    "(lin_near: linear(near(a, x), size, bias = false))",
}
FEATURES, HIDDEN, CLASSES = 128, 64, 40
DEGREE = 4.0  # of Cora, 3.9; CiteSeer has 2.7


def model_text(
    network: str, form: str, features: int, hidden: int, classes: int, dropout: bool = False
) -> str:
    """Two layers of `hidden` and the last; dropout as in the paper if it is asked for."""
    matrix = "csr f32[V, V] entries E" if form == "csr" else "f32[V, V]"
    drop = "dropout(relu(h), 0.5)" if dropout else "relu(h)"
    return f"""\
model {network}_{form}
input adjacency: {matrix}
input features: f32[V, {features}]
target labels: i64[V]

block near(a, x)
  return {NEAR[form]}
end

block layer(a, x, size)
  {LAYER[network]}
end

h = conv1: layer(adjacency, features, {hidden})
h = conv2: layer(adjacency, {drop}, {hidden})
h = conv3: layer(adjacency, {drop}, {classes})
loss cross_entropy(h, labels)
"""


def normalized(ends: torch.Tensor, count: int, network: str) -> torch.Tensor:
    """Both directions and every vertex itself; D^-1/2 A D^-1/2 for GCN, D^-1 A for the mean."""
    own = torch.arange(count).expand(2, count)
    both = torch.cat([ends, ends.flip(0), own], 1)
    ones = torch.sparse_coo_tensor(both, torch.ones(both.shape[1]), (count, count)).coalesce()
    rows, columns = ones.indices()
    degree = torch.bincount(rows, minlength=count).float()
    if network == "gcn":
        values = (degree[rows] * degree[columns]).rsqrt()
    else:
        values = degree[rows].reciprocal()
    return torch.sparse_coo_tensor(ones.indices(), values, (count, count)).to_sparse_csr()


def synthetic(count: int, network: str) -> tuple[torch.Tensor, ...]:
    ends = torch.randint(count, (2, round(DEGREE * count / 2)))
    matrix = normalized(ends, count, network)
    return matrix, torch.randn(count, FEATURES), torch.randint(CLASSES, (count,))


def published(path: pathlib.Path, network: str) -> tuple[torch.Tensor, ...]:
    """The adjacency matrix, features with rows that sum to one, and classes."""
    with np.load(path) as file:
        count, width = (int(extent) for extent in file["attr_shape"])
        rows = np.repeat(np.arange(count), np.diff(file["adj_indptr"]))
        ends = torch.from_numpy(np.stack([rows, file["adj_indices"]])).long()
        features = torch.zeros(count, width)
        places = np.repeat(np.arange(count), np.diff(file["attr_indptr"]))
        features[places, file["attr_indices"]] = torch.from_numpy(file["attr_data"])
        labels = torch.from_numpy(file["labels"].astype(np.int64))
    features /= features.sum(1, keepdim=True).clamp(min=1)
    return normalized(ends, count, network), features, labels


def in_form(graph: Sequence[torch.Tensor], form: str) -> tuple[torch.Tensor, ...]:
    return tuple(graph) if form == "csr" else (graph[0].to_dense(), *graph[1:])


class Graph:
    """Makes a graph when it is asked for; sizes: features, hidden, classes."""

    def __init__(self, source: pathlib.Path | int, sizes: tuple[int, int, int]) -> None:
        self.source, self.sizes = source, sizes

    def __call__(self, network: str) -> tuple[torch.Tensor, ...]:
        torch.manual_seed(0)
        if isinstance(self.source, int):
            return synthetic(self.source, network)
        return published(self.source, network)


def twenty_of_each_class(
    labels: torch.Tensor, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """The vertices to learn from, and the others in a random order."""
    order = torch.randperm(len(labels), generator=generator)
    classes = range(int(labels.max()) + 1)
    chosen = torch.cat([order[labels[order] == each][:20] for each in classes])
    return chosen, order[~torch.isin(order, chosen)]


def labels_of(vertices: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Those of these vertices; the others have -100, which the loss leaves out."""
    known = torch.full_like(labels, -100)
    known[vertices] = labels[vertices]
    return known
