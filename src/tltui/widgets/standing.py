"""How a pane stands still while what it shows grows: another size and another place without a repaint.

Textual repaints a whole widget that scrolled. When rows came in above, the widget must scroll so that what is seen stays where it
is, and hardly a row looks otherwise: the widget repaints those itself.
"""

from __future__ import annotations

from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.widget import Widget


def stand(view: ScrollView, size: Size, top: int) -> None:
    """Give a view as many rows and columns as `size` says, and show it from row `top` on, as far as it has so many rows."""
    if (size.height > view.size.height) > view.show_vertical_scrollbar:  # its scroll bar appears: that is laid out, once
        view.virtual_size = size
        view.scroll_to(y=top, animate=False, force=True, immediate=True)
        return
    view.set_reactive(Widget.virtual_size, size)
    top = min(max(top, 0), max(int(view.max_scroll_y), 0))
    view.set_reactive(Widget.scroll_y, float(top))
    view.set_reactive(Widget.scroll_target_y, float(top))
    bar = view.vertical_scrollbar
    before = _look(bar)
    bar.set_reactive(ScrollBar.window_virtual_size, size.height)
    bar.set_reactive(ScrollBar.position, bar.validate_position(top))
    if _look(bar) != before:
        bar.refresh()


def _look(bar: ScrollBar) -> list[tuple[str, object]]:
    """What a scroll bar draws."""
    drawn = ScrollBarRender.render_bar(
        size=bar.size.height,
        virtual_size=bar.window_virtual_size,
        window_size=bar.window_size if bar.window_size < bar.window_virtual_size else 0,
        position=bar.position,
    )
    return [(segment.text, segment.style) for segment in drawn.segments]
