"""Two processes of torch.distributed with gloo, which run what a test gives them."""

import contextlib
import datetime
import traceback

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing


def serve(rank, world, rendezvous, seconds, pipe):
    """Runs (function, arguments) from the pipe until it is closed."""
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{rendezvous}",
        rank=rank,
        world_size=world,
        timeout=datetime.timedelta(seconds=seconds),
    )
    while True:
        try:
            function, arguments = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((True, function(rank, *arguments)))
        except Exception:
            pipe.send((False, traceback.format_exc()))


class Ranks:
    def __init__(self, rendezvous, world=2, seconds=60):
        context = multiprocessing.get_context("spawn")
        self.pipes, self.processes = [], []
        for rank in range(world):
            near, far = context.Pipe()
            process = context.Process(
                target=serve, args=(rank, world, rendezvous, seconds, far), daemon=True
            )
            process.start()
            far.close()
            self.pipes.append(near)
            self.processes.append(process)

    def start(self, function, *arguments):
        for pipe in self.pipes:
            pipe.send((function, arguments))

    def answer(self, rank):
        """(worked, result or traceback) of one rank."""
        return self.pipes[rank].recv()

    def run(self, function, *arguments):
        """What every rank returned, in their order."""
        self.start(function, *arguments)
        answers = [self.answer(rank) for rank in range(len(self.pipes))]
        for worked, result in answers:
            assert worked, result
        return [result for _, result in answers]

    def stop(self):
        for pipe in self.pipes:
            with contextlib.suppress(OSError):
                pipe.close()
        for process in self.processes:
            process.join(20)
            if process.is_alive():
                process.kill()
