"""Two processes with compressed gradients train as two processes with plain ones do."""

import copy

import pytest

torch = pytest.importorskip("torch")

from gradient_training import batch_of, plain, same, small_model, train, with_codec
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import tensorpress
from tensorpress.torch import GradientCompression, compress_gradients

# ---- Agreement with plain training ----


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
