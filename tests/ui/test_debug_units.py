"""Units of a debug directory on the screen."""

from __future__ import annotations

from opened import opened
from real import TRACES

from tltui.model.ref import diff_ref
from tltui.screens.compare import CompareScreen
from tltui.screens.provenance import ProvenanceScreen

MLP = TRACES / "inputs" / "mlp" / "torch_compile_debug"
BACKWARD = "+model__0_backward_3.1"


async def test_one_key_compares_a_graph_with_what_it_was_made_from() -> None:
    async with opened(MLP, size=(160, 30)) as driver:
        for name in ("fx_graph_transformed", "fx_graph_readable"):
            driver.browser.go(f"{BACKWARD}:{name}")
            await driver.shown(f"{BACKWARD}:{name}")
            await driver.press("D")
            await driver.until(lambda: isinstance(driver.app.screen, CompareScreen))
            screen = driver.app.screen
            assert isinstance(screen, CompareScreen)
            await driver.until(lambda screen=screen: screen.sides is not None)
            assert screen.ref == diff_ref(f"{BACKWARD}:fx_graph_readable", f"{BACKWARD}:fx_graph_transformed")
            await driver.press("escape")


async def test_a_unit_that_a_link_leads_to_opens_in_the_tree_with_its_files() -> None:
    async with opened(MLP, untouched=True) as driver:
        await driver.press("enter")
        await driver.until(lambda: driver.at == "+model__0_forward_1.0")
        tree = driver.browser.tree_view
        place = tree.outline.row_of(tree.node.key)
        assert place is not None and not tree.outline.is_open(place)
        driver.browser.go("+model__0_forward_1.0:ir_pre_fusion")
        await driver.shown("+model__0_forward_1.0:ir_pre_fusion")
        assert driver.at == "+model__0_forward_1.0:ir_pre_fusion"


async def test_provenance_stands_side_by_side() -> None:
    async with opened(MLP, size=(160, 30)) as driver:
        driver.browser.go("+model__0_forward_1.0:inductor_output_code")
        await driver.shown("+model__0_forward_1.0:inductor_output_code")
        await driver.press("p")
        await driver.until(lambda: isinstance(driver.app.screen, ProvenanceScreen))
