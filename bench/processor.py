"""The CPU that a figure was measured on, for scripts with and without PyTorch."""

import pathlib
import platform

NUMBERS = {"family": "cpu family", "model": "model"}  # -> what /proc/cpuinfo calls them


def cpu_name() -> str:
    """As the system calls it; where it does not say, the architecture."""
    return _told_by_the_system().get("model name", platform.machine())


def cpu_model() -> str:
    """The name and, where the system tells them, family and model: virtual machines call CPUs of
    very different speed by one name."""
    told = _told_by_the_system()
    numbers = [f"{key} {told[name]}" for key, name in NUMBERS.items() if name in told]
    return cpu_name() + (f" ({', '.join(numbers)})" if numbers else "")


def _told_by_the_system() -> dict[str, str]:
    try:
        first = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}
