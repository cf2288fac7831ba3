"""The name of the CPU that a figure was measured on, for scripts with and without PyTorch."""

import pathlib
import platform


def cpu_name() -> str:
    """As the system calls it; where it does not say, the architecture."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
