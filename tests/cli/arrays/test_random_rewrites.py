"""Random files through whole-file rewrites; ./dev rewrites runs a thousand of them."""

import sys

from conftest import PROGRAM, ROOT
from netcdf_files import needs_plugin

sys.path.insert(0, str(ROOT / "tests" / "full"))
import random_rewrites


@needs_plugin
def test_random_files_keep_their_bounds_when_they_are_rewritten(capsys):
    assert random_rewrites.main(str(PROGRAM), 25, 20261, quiet=True) == 0, capsys.readouterr().out
