"""DCT+Chop as its users run it, two torch.matmul calls, beside `tensorpress bench`, on one array.

    ./dev bench --torch [--planes 32,256] [--cfs 2,4] [--megabytes 128] [--json]

Speeds are 1e9 uncompressed bytes per second on one thread, the best of several turns. PyTorch's
products run on memory that is already allocated (`out=`), which is the best case for it;
Tensorpress does all it does for a user: checks, checksums, container.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch


def chop_matrix(n: int, cf: int) -> torch.Tensor:
    """LHS of the paper's Eq. 4: CF rows of the 8-point DCT-II per block, (CF n / 8) x n."""
    transform = np.array(
        [
            [
                math.sqrt((1 if i == 0 else 2) / 8) * math.cos((2 * j + 1) * i * math.pi / 16)
                for j in range(8)
            ]
            for i in range(8)
        ]
    )
    return torch.from_numpy(np.kron(np.eye(n // 8), transform[:cf]).astype(np.float32))


def best_seconds(work, repetitions: int) -> float:
    best = math.inf
    for _ in range(repetitions):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def torch_speeds(batch: torch.Tensor, cf: int, repetitions: int) -> tuple[float, float, float]:
    """Compression and decompression in GB/s, and the RMS error of the round trip."""
    n = batch.shape[-1]
    lhs = chop_matrix(n, cf)
    rhs = lhs.T.contiguous()
    half = (*batch.shape[:-1], rhs.shape[1])
    inner, packed = torch.empty(half), torch.empty(*batch.shape[:-2], lhs.shape[0], rhs.shape[1])
    inner_back, back = torch.empty(*batch.shape[:-2], lhs.shape[0], n), torch.empty_like(batch)

    def compress():
        torch.matmul(batch, rhs, out=inner)
        torch.matmul(lhs, inner, out=packed)

    def decompress():
        torch.matmul(packed, lhs, out=inner_back)
        torch.matmul(rhs, inner_back, out=back)

    size = batch.numel() * 4
    pack, unpack = best_seconds(compress, repetitions), best_seconds(decompress, repetitions)
    return size / pack / 1e9, size / unpack / 1e9, float((batch - back).square().mean().sqrt())


def tensorpress_speeds(program: str, path: str, cf: int, repetitions: int) -> dict:
    command = [program, "bench", path, "--codec", "dct-chop", "--cf", str(cf), "--threads", "1"]
    command += ["--repetitions", str(repetitions), "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)[0]


def images(plane: int, megabytes: int) -> np.ndarray:
    count = -(-megabytes * 2**20 // (3 * plane * plane * 4))
    rng = np.random.default_rng(plane)
    y, x = np.mgrid[0:plane, 0:plane].astype(np.float32)
    waves = np.sin(x / 9) + np.cos(y / 13)
    noise = rng.standard_normal((count, 3, plane, plane), dtype=np.float32)
    return (waves + 0.05 * noise).astype(np.float32)


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--planes", type=numbers, default=[32, 64, 128, 256, 512])
    parser.add_argument("--cfs", type=numbers, default=[2, 4, 7])
    parser.add_argument("--megabytes", type=int, default=128)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--program", default=os.environ.get("TENSORPRESS", "build/bin/tensorpress"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    if not options.json:
        print(
            "plane cf   memcpy | compress: torch  tensorpress  times | "
            "decompress: torch  tensorpress  times"
        )
    with tempfile.TemporaryDirectory() as folder:
        for plane in options.planes:
            batch = images(plane, options.megabytes)
            path = os.path.join(folder, f"images_{plane}.npy")
            np.save(path, batch)
            for cf in options.cfs:
                pack, unpack, _ = torch_speeds(torch.from_numpy(batch), cf, options.repetitions)
                ours = tensorpress_speeds(options.program, path, cf, 2 * options.repetitions + 1)
                row = {
                    "plane": plane,
                    "cf": cf,
                    "memcpy_gb_per_s": ours["memcpy_gb_per_s"],
                    "torch_compress_gb_per_s": pack,
                    "torch_decompress_gb_per_s": unpack,
                    "compress_gb_per_s": ours["compress_gb_per_s"],
                    "decompress_gb_per_s": ours["decompress_gb_per_s"],
                }
                rows.append(row)
                if not options.json:
                    ratio, ratio_back = (
                        row["compress_gb_per_s"] / pack,
                        row["decompress_gb_per_s"] / unpack,
                    )
                    print(
                        f"{plane:5d} {cf:2d} {row['memcpy_gb_per_s']:8.2f} | {pack:15.2f} "
                        f"{row['compress_gb_per_s']:12.2f} {ratio:6.1f} | {unpack:17.2f} "
                        f"{row['decompress_gb_per_s']:12.2f} {ratio_back:6.1f}",
                        flush=True,
                    )
            os.remove(path)
    if options.json:
        print(json.dumps(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
