"""What NVIDIA's compiler makes of the kernels of devices: registers, spills, local memory of a
group, and whether a product was fused with a sum. Nothing is run. Needs nvcc.

    python3 bench/device_kernels.py > bench/results/device-kernels.md
"""

import pathlib
import re
import subprocess
import tempfile

KERNELS = pathlib.Path(__file__).resolve().parents[1] / "src" / "device" / "kernels"
COMMON = ("sums", "halves", "doubles")
ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "sm_120")


def nvcc(*arguments):
    """Its report; an error ends the program."""
    done = subprocess.run(
        ["nvcc", "-fmad=false", *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return done.stdout + done.stderr


def facts_of(source, architecture):
    """(kernel, registers, spilled bytes, bytes of shared memory) of each kernel."""
    told = nvcc(f"-arch={architecture}", "-cubin", "-Xptxas", "-v", source, "-o", "/dev/null")
    entries = re.split(r"Compiling entry function '(\w+)'", told)[1:]
    for kernel, text in zip(entries[::2], entries[1::2], strict=True):
        registers = re.search(r"Used (\d+) registers", text)
        spilled = re.search(r"(\d+) bytes spill stores", text)
        shared = re.search(r"(\d+) bytes smem", text)
        yield kernel, int(registers[1]), int(spilled[1]), int(shared[1]) if shared else 0


def fused_in(source, architecture):
    """How many instructions multiply and add at once."""
    ptx = source.with_suffix(".ptx")
    nvcc(f"-arch={architecture}", "-ptx", source, "-o", ptx)
    return len(re.findall(r"\bfma\.", ptx.read_text()))


def main():
    version = re.search(r"release ([\d.]+)", nvcc("--version"))[1]
    print("# Kernels of devices, as NVIDIA's compiler takes them\n")
    print(f"`python3 bench/device_kernels.py`, nvcc {version}. Compiled only: nothing has run.\n")
    print("Registers of a thread, bytes spilled to memory, shared memory of a group of 256")
    print("threads, fused multiply-adds in the file's code.\n")
    print("| kernel | file | architecture | registers | spilled | shared memory | fused |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(KERNELS.glob("*.inl")):
            if path.stem in COMMON:
                continue
            parts = ["language.h", "chunks.h", *(f"{name}.inl" for name in (*COMMON, path.stem))]
            source = pathlib.Path(folder) / f"{path.stem}.cu"
            source.write_text("".join((KERNELS / part).read_text() for part in parts))
            for architecture in ARCHITECTURES:
                fused = fused_in(source, architecture)
                for kernel, registers, spilled, shared in facts_of(source, architecture):
                    print(
                        f"| `{kernel}` | {path.stem} | {architecture} | {registers} | {spilled} "
                        f"| {shared} | {fused} |"
                    )


if __name__ == "__main__":
    main()
