"""Compressed gradients in the ways that DistributedDataParallel is used: uneven batches, unused
parameters, scalers, other types, runs that go on, ranks that die."""

import copy
import os
import pickle

import pytest

torch = pytest.importorskip("torch")

from gradient_training import batch_of, flat, plain, same, small_model, train, with_codec
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from two_ranks import Ranks

from tensorpress.torch import GradientCompression, compress_gradients


def uneven(rank, name):
    state = GradientCompression(name) if name else None
    return train(rank, state, rows=(16, 5))


def test_an_uneven_last_batch_gives_what_it_gives_plain_training(ranks):
    wanted, found = ranks.run(uneven, None)[0], ranks.run(uneven, "keep")[0]
    assert all(same(a, b) for a, b in zip(wanted[0], found[0], strict=True))


def otherwise(rank, name, ddp):
    state = GradientCompression(name) if name else None
    return train(rank, state, **ddp)


@pytest.mark.parametrize(
    "ddp", [{"gradient_as_bucket_view": True}, {"static_graph": True}], ids=str
)
def test_other_ways_of_ddp_give_what_they_give_plain_training(ranks, ddp):
    wanted, found = ranks.run(otherwise, None, ddp)[0], ranks.run(otherwise, "keep", ddp)[0]
    assert all(same(a, b) for a, b in zip(wanted[0], found[0], strict=True))


def accumulated(rank, name):
    model = small_model()
    parallel = DistributedDataParallel(model)
    state = GradientCompression(name) if name else None
    if state:
        parallel.register_comm_hook(state, compress_gradients)
    with parallel.no_sync():
        for step in range(2):
            x, y = batch_of(rank, step)
            nn.functional.mse_loss(parallel(x), y).backward()
    x, y = batch_of(rank, 2)
    nn.functional.mse_loss(parallel(x), y).backward()
    return [p.grad for p in model.parameters()], state.steps if state else 1


def test_gradients_that_were_added_up_without_synchronization_travel_once(ranks):
    wanted, found = ranks.run(accumulated, None)[0], ranks.run(accumulated, "keep")[0]
    assert same(wanted[0], found[0])
    assert found[1] == 1


def joined(rank):
    """Rank 1 has two batches fewer; DDP's Join lets it shadow the others."""
    model = small_model()
    state = GradientCompression("quantize", bits=4)
    parallel = DistributedDataParallel(model)
    parallel.register_comm_hook(state, compress_gradients)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1)
    with parallel.join():
        for step in range(5 - 2 * rank):
            x, y = batch_of(rank, step)
            optimizer.zero_grad()
            nn.functional.mse_loss(parallel(x), y).backward()
            optimizer.step()
    return [p.detach().clone() for p in model.parameters()], state.steps


def test_ranks_with_fewer_batches_may_join_early(ranks):
    (first, steps), (second, _) = ranks.run(joined)
    assert same(first, second)
    assert steps == 5


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.used = nn.Linear(40, 40)
        self.left = nn.Linear(40, 40)
        self.right = nn.Linear(40, 40)
        self.never = nn.Linear(40, 40)
        self.last = nn.Linear(40, 3)

    def forward(self, x):
        x = self.used(x)
        branch = self.left if x.shape[0] % 2 else self.right
        return self.last(branch(x))


def unused(rank, name, settings):
    torch.manual_seed(1)
    model = Branches()
    state = GradientCompression(name, **settings) if name else None
    parallel = DistributedDataParallel(model, find_unused_parameters=True)
    if state:
        parallel.register_comm_hook(state, compress_gradients)
    results = []
    for step in range(4):
        x, y = batch_of(rank, step, rows=15 + rank)
        model.zero_grad()
        nn.functional.mse_loss(parallel(x), y).backward()
        results.append([None if p.grad is None else p.grad.clone() for p in model.parameters()])
    return results


@pytest.mark.parametrize("name, settings", [("keep", {}), ("quantize", {"bits": 4})])
def test_unused_parameters_get_what_they_get_in_plain_training(ranks, name, settings):
    wanted = ranks.run(unused, None, {})[0]
    first, second = ranks.run(unused, name, settings)
    for step, found in enumerate(first):
        for gradient, other, plain_one in zip(found, second[step], wanted[step], strict=True):
            assert (gradient is None) == (plain_one is None)
            if gradient is None:
                continue
            assert torch.equal(gradient, other)
            if name == "keep":
                assert torch.equal(gradient, plain_one)
            else:
                torch.testing.assert_close(gradient, plain_one, rtol=0, atol=0.05)


def zeros_in_between(rank):
    """A gradient, a step without one, and what waits meanwhile."""
    model = nn.Linear(64, 32, bias=False)
    state = GradientCompression("quantize", bits=1)
    parallel = DistributedDataParallel(model)
    parallel.register_comm_hook(state, compress_gradients)
    norms = []
    for factor in (1.0, 0.0, 0.0):
        model.zero_grad()
        (parallel(torch.eye(64)).T.sin() * factor).sum().backward()
        norms.append(state.report().residual_norm)
    return norms, model.weight.grad


def test_a_parameter_without_a_gradient_sends_nothing_and_its_residual_waits(ranks):
    norms, gradient = ranks.run(zeros_in_between)[0]
    assert norms[0] > 0 and norms == [norms[0]] * 3
    assert not gradient.any()


# ---- Mixed precision ----


def scaled(rank):
    """Infinities on rank 1 in the second step."""
    model = small_model()
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=1000)
    state = GradientCompression("quantize", bits=4, scaler=scaler)
    parallel = DistributedDataParallel(model)
    parallel.register_comm_hook(state, compress_gradients)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1)
    scales, weights, norms = [], [], []
    for step in range(4):
        x, y = batch_of(rank, step)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(parallel(x), y)
        if step == 1 and rank == 1:
            loss = loss * float("inf")
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        weights.append(flat(p.detach() for p in model.parameters()))
        norms.append(state.report().residual_norm / state._scale)
    return scales, weights, norms, state.report().nonfinite


def test_infinities_of_one_rank_reach_the_scaler_of_every_rank(ranks):
    for rank, (scales, weights, norms, nonfinite) in enumerate(ranks.run(scaled)):
        assert scales == [1024, 512, 512, 512]
        assert torch.equal(weights[0], weights[1])  # the step was left out
        assert not torch.equal(weights[1], weights[2])
        assert all(torch.isfinite(each).all() for each in weights)
        assert (nonfinite > 0) == (rank == 1)
        assert all(0 < norm < 1 for norm in norms)  # in units of the unscaled gradient


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64], ids=str)
def test_other_floating_types_are_compressed_too(ranks, dtype):
    wanted = ranks.run(typed, "keep", {}, dtype)[0][0]
    for name, settings in [
        ("quantize", {"bits": 8}),
        ("cast", {"to": "e5m2"}),
        ("dense", {"relative": 0.01}),
    ]:
        (first, report), (second, _) = ranks.run(typed, name, settings, dtype)
        assert same(first, second)
        assert first[0].dtype == dtype
        assert report["ratio"] > 1
        # e5m2 has 2 bits after the point: half of 2^-2 of the value
        torch.testing.assert_close(flat(first), flat(wanted), rtol=0.14, atol=0.01)


def typed(rank, name, settings, dtype):
    state = GradientCompression(name, **settings)
    gradients, _, _ = train(rank, state, steps=1, dtype=dtype)
    return gradients[0], state.report().to_dict()


# ---- Going on after a stop ----


def continued(rank, way, stop_at):
    """Trains in two halves; the second starts from what the first left."""
    settings = dict(codec="quantize", bits=2, rounding="stochastic")
    model = small_model()
    gradients = []

    def half(state, steps):
        parallel = DistributedDataParallel(model)
        parallel.register_comm_hook(state, compress_gradients)
        for step in steps:
            x, y = batch_of(rank, step)
            model.zero_grad()
            nn.functional.mse_loss(parallel(x), y).backward()
            gradients.append([p.grad.clone() for p in model.parameters()])

    names = model.named_parameters() if way == "names" else None
    state = GradientCompression(**settings, named_parameters=names)
    half(state, range(stop_at))
    if stop_at < 6:
        if way == "pickle":
            state = pickle.loads(pickle.dumps(state))
        else:
            kept = copy.deepcopy(state.state_dict())
            names = model.named_parameters() if way == "names" else None
            state = GradientCompression(**settings, named_parameters=names)
            state.load_state_dict(kept)
        half(state, range(stop_at, 6))
    return gradients, sorted(state.state_dict()["residuals"])


@pytest.mark.parametrize("way", ["names", "order", "pickle"])
def test_a_run_goes_on_from_its_state_as_if_it_had_not_stopped(ranks, way):
    whole, _ = ranks.run(continued, way, 6)[0]
    parts, names = ranks.run(continued, way, 3)[0]
    assert all(same(a, b) for a, b in zip(whole, parts, strict=True))
    if way == "names":
        assert names == ["0.weight", "2.weight"]


def of_another_model(rank):
    state = GradientCompression("quantize")
    state.load_state_dict({"steps": 4, "scale": None, "residuals": {"parameter 3": torch.zeros(7)}})
    train(rank, state, steps=1)


def test_the_state_of_another_model_is_refused(ranks):
    ranks.start(of_another_model)
    for rank in range(2):
        worked, text = ranks.answer(rank)
        assert not worked and "belongs to another model" in text


# ---- Trouble ----


def die_in_the_second_step(rank):
    state = GradientCompression("quantize", bits=4)
    parallel = DistributedDataParallel(small_model())
    parallel.register_comm_hook(state, compress_gradients)
    for step in range(3):
        if rank == 1 and step == 1:
            os._exit(3)
        x, y = batch_of(rank, step)
        nn.functional.mse_loss(parallel(x), y).backward()


def test_a_rank_that_dies_is_an_error_for_the_others(tmp_path):
    pair = Ranks(tmp_path / "rendezvous", seconds=20)
    try:
        pair.start(die_in_the_second_step)
        worked, text = pair.answer(0)
        assert not worked and "Error" in text
    finally:
        pair.stop()


def test_three_ranks_end_with_the_same_bits_near_those_of_plain_training(tmp_path):
    """Thirds are added up in another order than gloo's."""
    three = Ranks(tmp_path / "rendezvous", world=3)
    try:
        wanted = three.run(plain, 2)[0][0]
        for name, settings, apart in [("keep", {}, 1e-7), ("quantize", {"bits": 8}, 1e-3)]:
            found = three.run(with_codec, name, settings, 2)
            assert same(found[0][1], found[1][1]) and same(found[0][1], found[2][1])
            torch.testing.assert_close(flat(found[0][0][0]), flat(wanted[0]), rtol=0, atol=apart)
    finally:
        three.stop()


def test_bad_settings_say_what_is_wrong():
    with pytest.raises(ValueError, match="keeps an error bound and none is given"):
        GradientCompression("dense")
    with pytest.raises(ValueError, match="there is no codec 'brotli'"):
        GradientCompression("brotli")
    with pytest.raises(ValueError, match="takes no bits"):
        GradientCompression("keep", bits=4)
    with pytest.raises(ValueError, match="must not be negative"):
        GradientCompression("quantize", warmup_steps=-1)
