# What bindings/python/ defines. tests/python/package/test_types.py compares this with the module.
from typing import Any

__version__: str

class CorruptError(ValueError):
    """The bytes are no whole .tpz stream: cut short, changed, or something else."""

class UnsupportedError(ValueError):
    """It makes sense, but this version cannot do it."""

class TooLargeError(ValueError):
    """More than max_bytes, or more than can be addressed."""

class LikelyFillError(ValueError):
    """A relative bound or PSNR was asked for, and one repeated extreme makes up most of the value
    range.

    It is likely a fill value that was not named, and a bound of such a range would allow errors
    larger than the other values. `value` is the extreme, `count` how many elements have it, and
    `value_range` (low, high) where all others lie. Pass fill_values=, value_range= or
    whole_range=True to compress().
    """

    value: float
    count: int
    value_range: tuple[float, float]

class Reader:
    @staticmethod
    def of_file(path: bytes) -> Reader: ...
    @staticmethod
    def of_buffer(stream: Any) -> Reader: ...
    def info(self) -> dict[str, Any]: ...
    def read(
        self, origin: list[int], out: Any, bits_of_bf16: bool, threads: int, max_bytes: int
    ) -> None: ...
    def compare(self, original: Any, bits_of_bf16: bool, threads: int) -> dict[str, Any]: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...

def add_hdf5_plugin_path(folder: bytes) -> int: ...
def check_codec(
    name: str, parameters: list[tuple[str, str]], bound: str | None
) -> dict[str, str]: ...
def codecs() -> list[dict[str, Any]]: ...
def compress(
    array: Any,
    bits_of_bf16: bool,
    codec: str,
    parameters: list[tuple[str, str]],
    bound: str | None,
    fill_values: list[float],
    value_range: tuple[float, float] | None,
    whole_range: bool,
    history: str | None,
    chunk_shape: list[int] | None,
    attributes: list[tuple[str, str]],
    threads: int,
    out: Any,
) -> Any: ...
def config() -> dict[str, Any]: ...
def decompress(stream: Any, out: Any, bits_of_bf16: bool, threads: int, max_bytes: int) -> None: ...
def hdf5_filter_words(
    codec: str,
    parameters: list[tuple[str, str]],
    bound: str | None,
    fill_values: list[float],
    threads: int,
) -> list[int]: ...
def quantize_size(count: int, bits: int, group: int) -> int: ...
def quantize_pack(
    values: Any, packed: Any, bits: int, group: int, rounding: str, seed: int, threads: int
) -> bool: ...
def quantize_unpack(
    packed: Any, values: Any, bits: int, group: int, signs: Any, threads: int
) -> None: ...
def cast_size(count: int, to: str) -> int: ...
def cast_pack(values: Any, packed: Any, to: str, threads: int) -> bool: ...
def cast_unpack(packed: Any, values: Any, to: str, threads: int) -> None: ...
def mask_size(count: int) -> int: ...
def mask_pack(values: Any, packed: Any) -> bool: ...
def mask_unpack(packed: Any, values: Any) -> None: ...
def sign_size(count: int) -> int: ...
def sign_pack(values: Any, packed: Any, threads: int) -> None: ...
def sign_unpack(packed: Any, values: Any, threads: int) -> None: ...
def restore_signs(signs: Any, values: Any, threads: int) -> None: ...
def dropout(values: Any, keep: float, seed: int, threads: int) -> None: ...
def window_size(count: int, kernel: tuple[int, int]) -> int: ...
def window_pack(
    indices: Any,
    packed: Any,
    extent: tuple[int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
) -> bool: ...
def window_unpack(
    packed: Any,
    indices: Any,
    extent: tuple[int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
) -> bool: ...
