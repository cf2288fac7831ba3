"""The list of clients, and what is said if a package is missing."""

import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch")

from tensorpress.torch import clients

WITHOUT_PACKAGES = """
import sys
import tensorpress.torch
clients = tensorpress.torch.clients
print(*(package for package in clients.CLIENTS.values() if package in sys.modules))
for client, package in clients.CLIENTS.items():
    sys.modules[package] = None  # as if it were not installed
    try:
        getattr(clients, client)
    except ImportError as error:
        print(error)
"""


def test_a_missing_package_is_named_and_asked_for_only_by_its_client():
    run = [sys.executable, "-c", WITHOUT_PACKAGES]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    imported, *messages = done.stdout.splitlines()
    assert imported == ""
    assert len(messages) == len(clients.CLIENTS)
    for message, (client, package) in zip(messages, clients.CLIENTS.items(), strict=True):
        assert message.startswith(f"tensorpress.torch.clients.{client} needs the package {package}")
        assert f"pip install {package}" in message


def test_every_file_of_a_client_is_in_the_list():
    folder = pathlib.Path(clients.__file__).parent
    files = {path.stem for path in folder.glob("*.py")} - {"__init__", "training_steps"}
    assert files == set(clients.CLIENTS)


def test_an_unknown_client_is_an_error_with_the_known_ones():
    with pytest.raises(AttributeError, match="no keras; it has accelerate, huggingface"):
        clients.keras  # noqa: B018
