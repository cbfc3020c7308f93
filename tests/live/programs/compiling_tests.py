"""Tests of a user's, for `-p tltui.pytest`: what each is to end with says its name."""

import logging
import os
import subprocess
import sys
import warnings

import pytest
import torch


@torch.compile(backend="eager")
def f(x):
    return x.sin() + 1


@pytest.fixture
def warm():
    f(torch.ones(3))


@pytest.mark.torch_compile(recompiles=0, breaks=0, errors=0)
def test_a_passes():
    f(torch.ones(3))
    f(torch.ones(3))


@pytest.mark.torch_compile
def test_b_fails_recompiled():
    f(torch.ones(3))
    f(torch.ones(3, 2))


@pytest.mark.torch_compile("error,recompiles=1")
def test_c_passes_as_much_as_allowed():
    f(torch.ones(3))
    f(torch.ones(3, 2))


def test_d_passes_all_by_itself(torch_compiles, warm):
    """Each test compiles anew, and what its fixtures compile is its own."""
    assert (torch_compiles.compiles, torch_compiles.count("recompiles")) == (1, 0)
    f(torch.ones(3, 2))
    assert (torch_compiles.compiles, torch_compiles.count("recompiles")) == (2, 1)
    torch_compiles.assert_no_breaks()
    torch_compiles.assert_no_errors()
    with pytest.raises(AssertionError, match="tensor rank x: 1 → 2"):
        torch_compiles.assert_no_recompiles()


def test_e_fails_broken(torch_compiles):
    @torch.compile(backend="eager")
    def g(x):
        x = x + 1
        torch._dynamo.graph_break()
        return x * 2

    g(torch.ones(3))
    torch_compiles.assert_no_breaks()


@pytest.mark.torch_compile(errors=0)
def test_f_fails_by_itself():
    @torch.compile(backend="eager", fullgraph=True)
    def g(x):
        torch._dynamo.graph_break()
        return x * 2

    g(torch.ones(3))


def test_g_passes_unrecorded():
    assert not [handler for handler in logging.getLogger("torch.__trace").handlers if "tltui" in type(handler).__module__]
    assert "TORCH_TRACE" not in os.environ or os.environ.get("USERS_TRACE") == os.environ["TORCH_TRACE"]
    f(torch.ones(3))
    f(torch.ones(3, 2))


@pytest.mark.torch_compile(recompiles=1)
def test_h_passes_with_torch_logging_set_up_anew():
    torch._logging.set_logs(dynamo=logging.WARNING)
    f(torch.ones(3))
    f(torch.ones(3, 2))


@pytest.mark.torch_compile
def test_i_fails_in_a_process_of_its_own():
    program = "import torch\nf = torch.compile(lambda x: x + 1, backend='eager')\nf(torch.ones(3)), f(torch.ones(3, 2))"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.torch_compile
def test_j_fails_unlogged():
    logging.getLogger("torch.__trace").disabled = True
    try:
        f(torch.ones(3))
    finally:
        pass


def test_k_passes_with_logging_again(torch_compiles):
    logging.getLogger("torch.__trace").disabled = False
    with warnings.catch_warnings(record=True) as said:
        torch_compiles.assert_no_recompiles()
    assert "torch compiled nothing in" in str(said[0].message)


@pytest.mark.torch_compile(guard_overhead="5%")
def test_l_errors():
    """What a test cannot record cannot be limited."""
