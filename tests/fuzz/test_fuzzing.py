"""A few hundred of the damaged files and some of the command lines that the fuzzers make; more by hand."""

import fuzz_commands
import fuzz_files
import pytest


@pytest.mark.parametrize("part", range(3))
def test_damaged_files(part, tmp_path):
    kinds = fuzz_files.KINDS[part::3]
    outcome = fuzz_files.fuzz(105, seed=part, folder=tmp_path, kinds=kinds)
    assert not outcome.broken
    assert {what for _, what in outcome.counts} == {"read", "refused"}
    assert sum(outcome.counts.values()) == 105


def test_command_lines(tmp_path):
    outcome = fuzz_commands.fuzz(60, seed=5, folder=tmp_path)
    assert not outcome.broken
    assert {code for _, code in outcome.counts} == {0, 1, 2}
