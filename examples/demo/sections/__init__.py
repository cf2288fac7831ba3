"""The sections of the page in their order. A new one is a file here and an entry in the list."""

from demonstration import Section

from . import accelerators, chop, climate, reproduction, simulation, training, wafer

SECTIONS: tuple[Section, ...] = (
    climate.SECTION,
    simulation.SECTION,
    chop.SECTION,
    training.SECTION,
    wafer.SECTION,
    accelerators.SECTION,
    reproduction.SECTION,
)
