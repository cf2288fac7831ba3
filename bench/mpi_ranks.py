"""How much faster several MPI ranks are than one, on one tensor file.

    python bench/mpi_ranks.py big.raw --ranks 1 2 -- --shape 4100x128x128 --dtype f32 --rel 1e-4

Arguments after -- go to `tensorpress-mpi compress`. Rank counts alternate; the best of several
rounds counts. A round waits for a moment in which other programs take no more than --quiet of the
machine, and does not count if they took more while it ran; --patience says how many rounds may be
lost for each that counts.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


def busy_seconds() -> float:
    """Of all cores since the machine started."""
    fields = [int(field) for field in open("/proc/stat").readline().split()[1:]]
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def wait_for_quiet(share: float) -> None:
    while True:
        busy = busy_seconds()
        time.sleep(0.5)
        if (busy_seconds() - busy) / 0.5 / os.cpu_count() <= share:
            return


def run(ranks: int, program: str, arguments: list[str]) -> tuple[float, float]:
    """Seconds that the verb took, and the share of the machine that others took."""
    environment = {
        **os.environ,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    command = [
        "mpirun",
        "--oversubscribe",
        "--bind-to",
        "none",
        "-n",
        str(ranks),
        program,
        *arguments,
        "--json",
    ]
    begin, busy, own = time.monotonic(), busy_seconds(), own_seconds()
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    elapsed = time.monotonic() - begin
    foreign = (busy_seconds() - busy) - (own_seconds() - own)
    return json.loads(done.stdout)["seconds"], max(0.0, foreign / elapsed / os.cpu_count())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--quiet", type=float, default=0.1, help="share of the machine that others may take"
    )
    parser.add_argument("--patience", type=int, default=20)
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_args(sys.argv[1:at])
    compress_arguments = sys.argv[at + 1 :]
    program = os.environ.get("TENSORPRESS_MPI", str(ROOT / "build" / "bin" / "tensorpress-mpi"))

    best: dict[tuple[str, int], float] = {}
    quiet_rounds = 0
    with tempfile.TemporaryDirectory() as scratch:
        for attempt in range(options.rounds * options.patience):
            if quiet_rounds == options.rounds:
                break
            wait_for_quiet(options.quiet)
            times, foreign = {}, 0.0
            for ranks in options.ranks:
                stream, copy = f"{scratch}/{ranks}.tpz", f"{scratch}/{ranks}.raw"
                jobs = {
                    "compress": ["compress", options.file, *compress_arguments, "-o", stream],
                    "decompress": ["decompress", stream, "-o", copy],
                }
                for verb, arguments in jobs.items():
                    times[verb, ranks], load = run(ranks, program, arguments)
                    foreign = max(foreign, load)
            print(f"round {attempt}: others took {foreign:.0%}", file=sys.stderr)
            if foreign > options.quiet:
                continue
            quiet_rounds += 1
            for key, seconds in times.items():
                best[key] = min(seconds, best.get(key, seconds))

    print(
        f"best of {quiet_rounds} rounds in which others took at most "
        f"{options.quiet:.0%} of the machine"
    )
    for (verb, ranks), seconds in sorted(best.items()):
        first = best[verb, options.ranks[0]]
        print(f"{verb:<10}  {ranks} ranks  {seconds:8.3f} s  {first / seconds:5.2f} x")


if __name__ == "__main__":
    main()
