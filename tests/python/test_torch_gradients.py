"""Two processes with compressed gradients train as two processes with plain ones do."""

import copy
import os
import pickle

import pytest

torch = pytest.importorskip("torch")

from torch import nn
from torch.nn.parallel import DistributedDataParallel
from two_ranks import Ranks

import tensorpress
from tensorpress.torch import GradientCompression, compress_gradients


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    pair = Ranks(tmp_path_factory.mktemp("gloo") / "rendezvous")
    yield pair
    pair.stop()


def small_model(dtype=torch.float32):
    torch.manual_seed(3)
    layers = nn.Sequential(
        nn.Linear(40, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 3)
    )
    return layers.to(dtype)


def batch_of(rank, step, rows=16, dtype=torch.float32):
    generator = torch.Generator().manual_seed(1000 * step + rank)
    x = torch.randn(rows, 40, generator=generator).to(dtype)
    return x, x[:, :3].sin()


def train(rank, state, steps=6, rows=16, model=None, dtype=torch.float32, lr=0.2, **ddp):
    """Gradients of every step, and the weights at the end."""
    model = model or small_model(dtype)
    parallel = DistributedDataParallel(model, **ddp)
    if state is not None:
        parallel.register_comm_hook(state, compress_gradients)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=lr)
    gradients, losses = [], []
    for step in range(steps):
        x, y = batch_of(rank, step, rows[rank] if isinstance(rows, tuple) else rows, dtype)
        loss = nn.functional.mse_loss(parallel(x), y)
        optimizer.zero_grad()
        loss.backward()
        gradients.append([p.grad.clone() for p in model.parameters()])
        losses.append(loss.item())
        optimizer.step()
    return gradients, [p.detach().clone() for p in model.parameters()], losses


def flat(tensors):
    return torch.cat([each.flatten().double() for each in tensors])


def same(first, second):
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


# ---- Agreement with plain training ----


def plain(rank, *rest):
    return train(rank, None, *rest)


def with_codec(rank, name, settings, *rest):
    state = GradientCompression(name, **settings)
    return (*train(rank, state, *rest), state.report().to_dict())


def test_exact_gradients_give_the_bits_of_plain_training(ranks):
    """(a + b) / 2 is a / 2 + b / 2 to the bit, so two ranks see no other order of summation."""
    wanted = ranks.run(plain)[0]
    for name, settings in [("keep", {}), ("mask", {"min_elements": 0})]:
        for gradients, weights, _, report in ranks.run(with_codec, name, settings):
            assert all(same(a, b) for a, b in zip(gradients, wanted[0], strict=True))
            assert same(weights, wanted[1])
            assert report["residual_norm"] == 0


CODECS = [
    ("quantize", {"bits": 4}),
    ("quantize", {"bits": 4, "rounding": "stochastic"}),
    ("quantize", {"bits": 1}),
    ("cast", {"to": "bf16"}),
    ("cast", {"to": "e4m3"}),
    ("ceresz", {"relative": 0.02}),
    ("ceresz2", {"relative": 0.02}),
    ("dense", {"relative": 0.02}),
    ("dense", {"absolute": 1e-4, "effort": "fast"}),
    ("dct-chop", {"cf": 6, "error_feedback": False}),
]


@pytest.mark.parametrize("name, settings", CODECS, ids=str)
def test_all_ranks_end_with_the_same_bits_and_fewer_bytes_travel(ranks, name, settings):
    (first, weights, _, report), (second, other, _, _) = ranks.run(with_codec, name, settings)
    assert all(same(a, b) for a, b in zip(first, second, strict=True))
    assert same(weights, other)
    assert report["steps"] == 6
    assert report["bytes_sent"] < report["bytes_plain"]


def test_the_bytes_reported_are_those_of_the_streams_and_the_tables(ranks):
    """One bucket of 3 x 2 parameters; two of them are compressed."""
    report = ranks.run(with_codec, "quantize", {"bits": 4}, 1)[0][-1]
    model = small_model()
    streams = [
        tensorpress.compress(torch.ones(s), "quantize", bits=4) for s in ((64, 40), (64, 64))
    ]
    exact = sum(4 * p.numel() for p in model.parameters() if p.numel() < 1024)
    assert report["bytes_sent"] == sum(map(len, streams)) + exact + 6 * 8
    assert report["bytes_plain"] == 4 * sum(p.numel() for p in model.parameters())


def test_training_with_error_feedback_reaches_the_loss_of_plain_training(ranks):
    wanted = ranks.run(plain, 150)[0][2]
    for name, settings in [("quantize", {"bits": 2}), ("dense", {"relative": 0.05})]:
        losses = ranks.run(with_codec, name, settings, 150)[0][2]
        assert sum(wanted[-10:]) < 0.5 * sum(wanted[:10])
        assert sum(losses[-10:]) < 1.1 * sum(wanted[-10:])


# ---- Error feedback ----


def constant_gradient(rank, name, settings, steps):
    """The same gradient in every step; what has arrived in all of them, and the residual."""
    torch.manual_seed(rank)
    model = nn.Linear(64, 32, bias=False)
    wanted = torch.randn(32, 64, generator=torch.Generator().manual_seed(rank))
    state = GradientCompression(name, **settings)
    parallel = DistributedDataParallel(model)
    parallel.register_comm_hook(state, compress_gradients)
    total, sums = torch.zeros(32, 64, dtype=torch.float64), []
    for _ in range(steps):
        model.zero_grad()
        (parallel(torch.eye(64)).T * wanted).sum().backward()
        total += model.weight.grad.double()
        sums.append(total.clone())
    return wanted, sums, state.report().residual_norm


@pytest.mark.parametrize(
    "name, settings",
    [("quantize", {"bits": 1}), ("quantize", {"bits": 2}), ("dense", {"relative": 0.2})],
)
def test_with_error_feedback_the_sum_of_what_arrives_stays_near_the_sum_of_the_gradients(
    ranks, name, settings
):
    """Sent so far = gradients so far - residual, exactly in real numbers; a residual that does not
    grow makes the mean of what arrives converge to the gradient as 1 / steps."""
    steps = 80
    (g0, sums, norm0), (g1, _, norm1) = ranks.run(constant_gradient, name, settings, steps)
    truth = (g0.double() + g1.double()) / 2
    apart = [(sums[n] - (n + 1) * truth).norm() for n in range(steps)]
    assert apart[-1] <= (norm0 + norm1) / 2 * 1.0001 + 1e-3
    assert apart[-1] / steps < 0.1 * truth.norm()
    assert max(apart[40:]) < 1.5 * max(apart[:40])


def test_without_error_feedback_it_does_not(ranks):
    settings = {"bits": 1, "error_feedback": False}
    (g0, sums, _), (g1, _, _) = ranks.run(constant_gradient, "quantize", settings, 40)
    truth = (g0.double() + g1.double()) / 2
    assert (sums[-1] / 40 - truth).norm() > 0.3 * truth.norm()


def test_error_feedback_is_refused_where_the_residual_would_grow():
    with pytest.raises(ValueError, match="error_feedback=False"):
        GradientCompression("dct-chop", cf=4)
    with pytest.raises(ValueError, match="bits=2"):
        GradientCompression("quantize", bits=1, rounding="stochastic")


def test_where_it_is_refused_the_residual_does_grow(ranks):
    """2048 values, whose high frequencies dct-chop never sends."""
    norms = ranks.run(grown_residuals)[0]
    assert norms["dct-chop"][-1] > 5 * norms["dct-chop"][0]
    assert norms["1 bit at random"][-1] > 5 * norms["1 bit at random"][0]
    assert norms["2 bits at random"][-1] < 5 * norms["2 bits at random"][0]


def grown_residuals(rank):
    gradient = torch.randn(32, 64, generator=torch.Generator().manual_seed(1))
    codecs = {
        "dct-chop": {"codec": "dct-chop", "cf": 4},
        "1 bit at random": {"codec": "quantize", "bits": 1, "rounding": "stochastic"},
        "2 bits at random": {"codec": "quantize", "bits": 2, "rounding": "stochastic"},
    }
    norms = {}
    for name, fields in codecs.items():
        residual, norms[name] = torch.zeros(32, 64), []
        for step in range(20):
            seed = {"seed": step} if "rounding" in fields else {}
            wanted = gradient + residual
            arrived = torch.empty(32, 64)
            stream = tensorpress.compress(wanted, tensorpress.Codec.from_dict({**fields, **seed}))
            tensorpress.decompress(stream, arrived)
            residual = wanted - arrived
            norms[name].append(float(residual.norm()))
    return norms


def rebuilt_buckets(rank):
    """Many buckets, which DDP puts together anew after the first step: what was in them, what has
    arrived, what this rank's own gradients were and what it has kept back, by parameter."""
    state = GradientCompression("quantize", bits=2, min_elements=1)
    seen, gather = [], state._gather

    def watched(buffer, slots, group):
        seen.append([slot.name for slot in slots])
        return gather(buffer, slots, group)

    state._gather = watched
    torch.manual_seed(2)
    model = nn.Sequential(*[nn.Linear(40, 40) for _ in range(6)], nn.Linear(40, 3))
    alone = copy.deepcopy(model)
    gradients, _, _ = train(rank, state, model=model, steps=4, bucket_cap_mb=0.01, lr=0.0)
    for step in range(4):
        x, y = batch_of(rank, step)
        nn.functional.mse_loss(alone(x), y).backward()  # adds up
    kept = {id(slot.parameter): slot.residual for slot in state._slots.values()}
    return (
        seen,
        [sum(each) for each in zip(*gradients, strict=True)],
        [p.grad for p in alone.parameters()],
        [kept[id(p)].view(p.shape) for p in model.parameters()],
    )


def test_residuals_follow_their_parameters_into_other_buckets(ranks):
    (seen, arrived, own, kept), (_, second, other, kept_too) = ranks.run(rebuilt_buckets)
    steps = seen[: len(seen) // 2], seen[len(seen) // 2 :]
    assert steps[0] != steps[1] and len(seen) > 8
    assert same(arrived, second)
    for sent, a, b, left, right in zip(arrived, own, other, kept, kept_too, strict=True):
        torch.testing.assert_close(2 * sent + left + right, a + b, rtol=0, atol=1e-6)


# ---- Steps that are not like the others ----


def warmed_up(rank):
    state = GradientCompression("quantize", bits=1, warmup_steps=2)
    gradients, _, _ = train(rank, state, steps=3)
    return gradients, state.report().to_dict()


def test_warm_up_steps_are_plain(ranks):
    wanted = ranks.run(plain, 3)[0][0]
    gradients, report = ranks.run(warmed_up)[0]
    assert same(gradients[0], wanted[0]) and same(gradients[1], wanted[1])
    assert not same(gradients[2], wanted[2])
    assert 2 / 3 * report["bytes_plain"] < report["bytes_sent"] < report["bytes_plain"]


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
