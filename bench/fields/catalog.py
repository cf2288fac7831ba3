"""The solvers that make large fields, one file each, and the split of solvers into two sets.

Tables and weights of codecs are trained, and defaults chosen, on fields of the training solvers.
Figures are quoted for the held-out ones: no field of these solvers may decide anything.
"""

import dataclasses
import importlib
from collections.abc import Iterator

import numpy as np

#: How fields differ for a compressor.
KINDS = {
    "smooth": "3-D, resolved by the grid",
    "turbulent": "3-D, with detail down to the grid",
    "layered": "3-D, regions with sharp sides",
    "sparse": "3-D, nearly all of it near one value",
    "plane": "2-D and smooth",
    "rough": "2-D, with detail down to the grid",
    "stepped": "few distinct values",
}


@dataclasses.dataclass(frozen=True)
class Solver:
    name: str  # of its module, whose `run(large)` yields fields with their names
    split: str  # "training" or "heldout"
    fields: dict[str, str]  # in the order in which they are made, with their kind, one of KINDS
    about: str

    def run(self, large: bool) -> Iterator[tuple[str, np.ndarray]]:
        return importlib.import_module(self.name).run(large)


SOLVERS = (
    Solver(
        "acoustic",
        "training",
        {
            "acoustic_velocity": "layered",
            "acoustic_early": "sparse",
            "acoustic_late": "smooth",
            "acoustic_late_double": "smooth",
        },
        "pressure wave on a layered model: finite differences of 8th order, and the model itself",
    ),
    Solver(
        "navier_stokes",
        "training",
        {
            "turbulence_velocity": "turbulent",
            "turbulence_vorticity": "turbulent",
            "turbulence_pressure": "turbulent",
        },
        "decaying incompressible turbulence: pseudo-spectral",
    ),
    Solver(
        "cahn_hilliard",
        "training",
        {"cahn_hilliard_early": "smooth", "cahn_hilliard_late": "smooth"},
        "separation of two phases: semi-implicit spectral",
    ),
    Solver(
        "terrain",
        "training",
        {"terrain_height": "rough", "terrain_stepped": "stepped"},
        "landscape evolution by stream power and diffusion, 2-D; and in whole steps of 20 m",
    ),
    Solver(
        "membrane",
        "training",
        {"membrane_early": "plane", "membrane_late": "plane"},
        "waves on a membrane of uneven thickness, 2-D: finite differences of 4th order",
    ),
    Solver(
        "gravity",
        "training",
        {
            "gravity_density": "sparse",
            "gravity_potential": "smooth",
            "gravity_potential_double": "smooth",
        },
        "collapse under gravity: particle-mesh, with Poisson's equation solved by FFT",
    ),
    Solver(
        "elastic",
        "heldout",
        {
            "elastic_velocity_early": "sparse",
            "elastic_velocity_late": "smooth",
            "elastic_stress_late": "smooth",
        },
        "elastic waves in rock: staggered grid of velocities and stresses, 4th order",
    ),
    Solver(
        "magnetohydrodynamics",
        "heldout",
        {"mhd_magnetic": "turbulent", "mhd_current": "turbulent"},
        "conducting fluid with a magnetic field: pseudo-spectral",
    ),
    Solver(
        "convection",
        "heldout",
        {"convection_temperature": "turbulent", "convection_vertical_velocity": "turbulent"},
        "Rayleigh-Benard convection between plates: finite volumes with pressure projection",
    ),
    Solver(
        "gray_scott",
        "heldout",
        {"gray_scott_concentration": "smooth"},
        "reaction and diffusion of two substances: explicit finite differences",
    ),
    Solver(
        "shallow_water",
        "heldout",
        {
            "shallow_water_height_double": "plane",
            "shallow_water_height": "plane",
            "shallow_water_vorticity": "plane",
        },
        "an unstable jet on a rotating plane, 2-D: enstrophy-conserving C grid",
    ),
    Solver(
        "plume",
        "heldout",
        {"plume_concentration": "sparse", "plume_counts": "stepped"},
        "a release in a sheared wind, nearly empty: advection, diffusion; and counts of a detector",
    ),
)


def select(names: list[str]) -> list[Solver]:
    """Solvers by name, by the name of one of their fields, by split, or all of them."""
    known = {"all", "training", "heldout"}
    known |= {solver.name for solver in SOLVERS}
    known |= {field for solver in SOLVERS for field in solver.fields}
    for name in names:
        if name not in known:
            raise SystemExit(f"fields: there is no solver, field or split {name!r}: see --list")
    wanted = set(names)
    return [s for s in SOLVERS if wanted & {"all", s.split, s.name, *s.fields}]
