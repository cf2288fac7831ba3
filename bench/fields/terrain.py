"""A landscape that rises and is cut by rivers: stream power erosion and diffusion of hillslopes.

    dh/dt = uplift - erodibility A^0.5 |slope along the flow| + diffusivity laplace h

A is the area upstream, by steepest descent to one of eight neighbours; the implicit scheme in order
of the drainage tree is Braun and Willett's (2013). Pits drain over their lowest rim, which a flood
from the sides finds (Barnes et al., 2014). Coarse grids first: their rivers are the start of finer
ones.
"""

import heapq
import math
from collections.abc import Iterator

import numba
import numpy as np
from scipy import ndimage

STEP_ROW = np.array([-1, -1, -1, 0, 0, 1, 1, 1])
STEP_COLUMN = np.array([-1, 0, 1, -1, 1, -1, 0, 1])


@numba.njit(cache=True)
def flood(height):
    """Cells in the order in which water from the sides floods them, for each the neighbour that the
    water came from, and its level."""
    rows, columns = height.shape
    order = np.empty(rows * columns, np.int32)
    source = np.empty(rows * columns, np.int32)
    level = np.full((rows, columns), np.inf)
    heap = [(height[0, 0], np.int32(0))]
    heap.clear()
    for i in range(rows):
        for j in range(columns):
            if i == 0 or j == 0 or i == rows - 1 or j == columns - 1:
                level[i, j] = height[i, j]
                source[i * columns + j] = i * columns + j
                heap.append((height[i, j], np.int32(i * columns + j)))
    heapq.heapify(heap)
    count = 0
    while len(heap) > 0:
        water, cell = heapq.heappop(heap)
        order[count] = cell
        count += 1
        i, j = cell // columns, cell % columns
        for n in range(8):
            a, b = i + STEP_ROW[n], j + STEP_COLUMN[n]
            if a < 0 or b < 0 or a >= rows or b >= columns or level[a, b] < np.inf:
                continue
            level[a, b] = max(water, height[a, b])
            source[a * columns + b] = cell
            heapq.heappush(heap, (level[a, b], np.int32(a * columns + b)))
    return order, source, level


@numba.njit(cache=True)
def receivers(level, receiver):
    """Instead of the neighbour that a cell was flooded from, the one steepest down, if any.
    Both were flooded before the cell, so the order of flooding is one from mouths to springs."""
    rows, columns = level.shape
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            steepest = 0.0
            for n in range(8):
                a, b = i + STEP_ROW[n], j + STEP_COLUMN[n]
                length = 1.0 if STEP_ROW[n] == 0 or STEP_COLUMN[n] == 0 else np.sqrt(2.0)
                slope = (level[i, j] - level[a, b]) / length
                if slope > steepest:
                    steepest = slope
                    receiver[i * columns + j] = a * columns + b


@numba.njit(cache=True)
def erode(height, order, receiver, cell, strength):
    """`strength` is erodibility times the time step. Heights in metres, `cell` in metres."""
    rows, columns = height.shape
    area = np.full(rows * columns, cell * cell)
    for position in range(order.size - 1, -1, -1):
        upstream = order[position]
        if receiver[upstream] != upstream:
            area[receiver[upstream]] += area[upstream]
    flat = height.ravel()
    for upstream in order:
        below = receiver[upstream]
        if below == upstream:
            continue
        straight = abs(upstream - below) == 1 or abs(upstream - below) == columns
        length = cell if straight else cell * np.sqrt(2.0)
        factor = strength * np.sqrt(area[upstream]) / length
        if flat[upstream] > flat[below]:
            flat[upstream] = (flat[upstream] + factor * flat[below]) / (1 + factor)


def evolve(height: np.ndarray, cell: float, years: float, steps: int) -> np.ndarray:
    time_step = years / steps
    for _ in range(steps):
        height[1:-1, 1:-1] += 1e-3 * time_step  # 1 mm a year
        order, receiver, level = flood(height)
        receivers(level, receiver)
        erode(height, order, receiver, cell, 3e-6 * time_step)
        spread = 0.02 * time_step / cell**2
        parts = math.ceil(spread / 0.2)  # an explicit step is stable below 0.25
        for _ in range(parts):
            height[1:-1, 1:-1] += spread / parts * ndimage.laplace(height)[1:-1, 1:-1]
    return height


def run(large: bool) -> Iterator[tuple[str, np.ndarray]]:
    points, cell = (257, 480.0) if large else (33, 480.0)
    rng = np.random.default_rng(41)
    height = 20 * rng.random((points, points))
    height = evolve(height, cell, years=3e6, steps=40)
    while points < (2049 if large else 65):
        points, cell = 2 * points - 1, cell / 2
        height = ndimage.zoom(height, points / height.shape[0], order=1, grid_mode=False)
        height[1:-1, 1:-1] += 2 * rng.random((points - 2, points - 2))
        height = evolve(height, cell, years=2e5, steps=8 if points < 2000 else 4)
    yield "terrain_height", height.astype(np.float32)
    yield "terrain_stepped", (20 * np.round(height / 20)).astype(np.float32)
