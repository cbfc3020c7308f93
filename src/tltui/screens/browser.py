"""The main screen's commands, and the browser that reads the run and answers its keys with them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.dom import DOMNode

from tltui.commands import BY_ID, PLACE_NAMES, Command, Situation, Where
from tltui.documents.format import ends, plural, seconds
from tltui.documents.scope import DOES, in_output, place_of
from tltui.messages import Again, Scanned
from tltui.model.ref import BadAddress, Ref, parse_ref
from tltui.model.run import Run, has_break, has_error, next_compile
from tltui.model.torch_version import torch_version
from tltui.questions.index import BY_NAME, Entry
from tltui.screens.child_processes import ExternalPrograms, JobControl, Processes
from tltui.screens.compile_navigation import CompareCommands, CompileWalk
from tltui.screens.live_updates import LiveUpdates
from tltui.screens.main_screen import HELP, NARROW, WHOLE, MainScreen, Window, moved, zoomed
from tltui.screens.marks import MarkCommands
from tltui.screens.requests import has_outputs
from tltui.screens.workbench import AppContext, Workbench
from tltui.sources.discover import Discovery, NothingFound
from tltui.sources.discovery_results import FoundLog
from tltui.text import tokens
from tltui.text.document import Document, Options, Piece, TextDocument
from tltui.text.safe_files import quoted
from tltui.text.torch_names import is_graph_break_page
from tltui.tree.header import header, reading_document
from tltui.widgets.bars import RunBar
from tltui.widgets.document_view import DocumentView
from tltui.widgets.key_input import bindings
from tltui.widgets.trace_tree import TraceTree
from tltui.work.scheduler import Place, Steps


class BrowserCommands(MainScreen):
    """The `action_…` methods of `Where.EVERYWHERE`. What takes more than a line is done by a part of its self."""

    def __init__(self, around: AppContext, faulted: Callable[[BaseException], object]) -> None:
        super().__init__(around, faulted)
        self.walking = CompileWalk(self)
        self.comparing = CompareCommands(self)
        self.marking = MarkCommands(self)
        self.outside = ExternalPrograms(self)
        self.attending = JobControl(self)
        self.processes = Processes(self)
        self._before_help = False
        """Whether the document had the focus before help was asked for."""
        self._helped = Situation(), PLACE_NAMES["tree"]
        """The situation in which help was asked for, and the name of the focused pane."""
        self.own_pages[HELP] = self._help

    # panes

    def action_other_pane(self) -> None:
        """Move the focus between tree and document."""
        (self.tree_view if self.document_view.has_focus else self.document_view).focus()

    def action_other_down(self) -> None:
        """Move a line down in the other pane."""
        self._other().action_cursor_down()

    def action_other_up(self) -> None:
        """Move a line up in the other pane."""
        self._other().action_cursor_up()

    def _other(self) -> TraceTree | DocumentView:
        return self.tree_view if self.document_view.has_focus else self.document_view

    def action_zoom(self) -> None:
        """Give one pane the whole screen."""
        if self.has_class("-narrow"):
            self.show_message(f"one pane already has the whole screen; {self.key_of('app.other_pane')} shows the other pane")
            return
        self.toggle_class("-zoomed")
        self.name_panes()
        self.details.lay_out(self.beside_tree)

    def action_close(self) -> None:
        """Close the innermost of help, selection, filter, search and zoom."""
        view = self.document_view
        if self.attending.stays():
            return
        if self.shown_ref == HELP and not view.filter_text and view.selected_lines() is None:
            self._leave_help()  # a search may have come along from elsewhere
        elif view.has_focus and view.close_innermost():
            return
        elif self.tree_view.outline.filter:
            self.tree_view.set_filter("")
        elif self.has_class("-zoomed"):
            self.remove_class("-zoomed")
            self.name_panes()
            self.details.lay_out(self.beside_tree)
        elif self.has_class("-narrow") and view.has_focus:
            self.tree_view.focus()  # the document covers it
        else:
            self.stop_profiles()

    # walking

    def action_next_error(self) -> None:
        """Go to the next error."""
        self.walking.error(back=False)

    def action_previous_error(self) -> None:
        """Go to the error before."""
        self.walking.error(back=True)

    def action_next_break(self) -> None:
        """Go to the next graph break."""
        self.walking.graph_break(back=False)

    def action_previous_break(self) -> None:
        """Go to the graph break before."""
        self.walking.graph_break(back=True)

    def action_next_recompile(self) -> None:
        """Go to the next compile of this frame."""
        self.walking.recompile(back=False)

    def action_previous_recompile(self) -> None:
        """Go to the compile of this frame before."""
        self.walking.recompile(back=True)

    def action_next_rank(self) -> None:
        """Go to the same code on the next rank."""
        self.walking.rank(back=False)

    def action_previous_rank(self) -> None:
        """Go to the same code on the rank before."""
        self.walking.rank(back=True)

    def action_next_artifact(self) -> None:
        """Go to the next artifact of the compile."""
        self.walking.artifact(back=False)

    def action_generated_code(self) -> None:
        """Go to the generated code of the compile, or of its next unit."""
        self.walking.generated_code()

    def action_previous_artifact(self) -> None:
        """Go to the artifact of the compile before."""
        self.walking.artifact(back=True)

    # pages

    def action_view(self, name: str) -> None:
        """Show a page about the whole run; with the same key again about the node under the tree's cursor."""
        here = parse_ref(self.current_node.ref)
        part = str(replace(here, attempt=None, artifact=None, n=None, view=""))
        if self.shown_ref == f"@{name}" and part:
            self._open(f"@{name}:{part}")
        elif name == "summary":
            self._open("")
            self.reveal(None)
        else:
            self._open(f"@{name}")
            if part:
                key = self.key_of(f"app.view_{name}")
                self.show_message(f"press {key} again for {name} of {part} only" if key else "")

    def _open(self, ref: str) -> None:
        """Show a page."""
        self.show_ref(ref)
        self.bring_document()

    @property
    def shown_view(self) -> Entry | None:
        """The view that is shown; None for other pages and for an address that cannot be read."""
        try:
            return BY_NAME.get(parse_ref(self.shown_ref).view)
        except BadAddress:
            return None

    def action_sort(self) -> None:
        """Sort the tables of this page by the next order."""
        from tltui.questions.question import SORTED  # not before the first frame

        view = self.shown_view
        if view is None or not view.sorts:
            self.show_message("this page has only one sort order")
            return
        document = self.document_view.document
        sortable = document.orders if isinstance(document, TextDocument) else []
        if view.sort_label == SORTED and document.complete and not sortable:
            self.show_message("this page has no table to sort")
            return
        orders = [order for order in view.sorts if order in sortable] or view.sorts
        first = 0 if orders[0] == view.sorts[0] else -1  # tables without the default order come in none of these
        place = orders.index(self.sort) if self.sort in orders else first
        self.sort = orders[(place + 1) % len(orders)]
        self.reload()
        self.show_message(f"{view.sort_label} {self.sort}")

    def action_zoom_in(self) -> None:
        """Show half of the time in the charts of this page."""
        self._show_window(zoomed(self.window, inward=True))

    def action_zoom_out(self) -> None:
        """Show twice the time."""
        self._show_window(zoomed(self.window, inward=False))

    def action_earlier(self) -> None:
        """Show an earlier part of the time."""
        self._show_window(moved(self.window, later=False))

    def action_later(self) -> None:
        """Show a later part of the time."""
        self._show_window(moved(self.window, later=True))

    def action_whole_time(self) -> None:
        """Show all of the time."""
        self._show_window(WHOLE)

    def _show_window(self, window: Window) -> None:
        document = self.document_view.document
        charts = document.chart_seconds if isinstance(document, TextDocument) else []
        if not charts:
            self.show_message("this page has no chart over time")
        elif window == self.window:
            self.show_message("the chart shows all of the time" if window == WHOLE else "the chart shows no more on this side")
        else:
            self.window = window
            self.lay_out_again()
            low, high = ends(*(share * max(charts) for share in window))
            self.show_message("all of the time" if window == WHOLE else f"{low} to {high} of {seconds(max(charts))}")

    def action_damage(self) -> None:
        """Show the page of damaged records."""
        self._open("@damage")

    def action_records(self) -> None:
        """Show the records of the selected node."""
        ref = parse_ref(self.current_node.ref)
        self._open(str(place_of(ref).at("records")))

    def action_output(self) -> None:
        """Show the output of the job; for an artifact from there, its lines."""
        artifact = self.current_artifact
        if artifact is not None and (ref := in_output(self.trace, artifact.owner.process, artifact.record)):
            self._open(ref)
            self.document_view.focus()
            return
        self.attending.show()

    def action_processes(self) -> None:
        """Show where the processes of the job are."""
        self.processes.show()

    def action_all_views(self) -> None:
        """Show the list of pages."""
        self._open("@pages")

    @property
    def _has_stored_text(self) -> bool:
        """Whether the document is a text of the job, not a page about it."""
        is_artifact = self.current_artifact is not None and not self.shown_ref.startswith("@")
        return is_artifact or bool(self.document_view.document.language)

    def action_raw(self) -> None:
        """Show artifacts as stored, or laid out."""
        if not self._has_stored_text:
            self.show_message("only artifacts and the output of the job have a stored text")
            return
        self.raw = not self.raw
        self.reload()
        self.show_message("as it was stored" if self.raw else "laid out")

    def situation(self) -> Situation:
        """Return the state that commands depend on."""
        from tltui.questions.passes.page import has_counterpart

        run, compile_, view = self.trace, self.current_compile, self.document_view
        page = self.shown_view
        return Situation(
            Where.DOCUMENT if view.has_focus else Where.TREE,
            shows_both=self.tree_view.display and view.display,
            has_compile=compile_ is not None and compile_.is_compile,
            has_recompiles=compile_ is not None and len(compile_.frame.compiles) > 1,
            shows_graph=(artifact := self.current_artifact) is not None and has_counterpart(artifact),
            has_stored_text=self._has_stored_text,
            has_errors=next_compile(run, None, has_error) is not None,
            has_breaks=next_compile(run, None, has_break) is not None,
            has_ranks=len(run.ranks) > 1,
            has_output=self.around.job is not None or bool(run.discovered.outputs) or has_outputs(run),
            is_live=bool(run.goes_on),
            has_orders=page is not None and bool(page.sorts),
            has_chart=bool(getattr(view.document, "chart_seconds", ())),
            has_sections=view.has_sections,
            has_hits=bool(view.hits),
            has_past=self.has_past,
            has_future=bool(self._future),
        )

    def owner(self, command: Command) -> DOMNode:
        """Return the widget that has the method of a command."""
        owners: dict[Where, DOMNode] = {Where.TREE: self.tree_view, Where.DOCUMENT: self.document_view}
        return owners.get(command.where, self)

    def action_go_to(self) -> None:
        """Type where to go."""
        from tltui.screens.palette import COMMAND, GoTo

        def chosen(ref: str) -> None:
            if ref.startswith(COMMAND):
                self.perform(BY_ID[ref.removeprefix(COMMAND)])
            else:
                self.go(ref)

        before = [request.ref for request in reversed(self._past)]
        compile_, names = self.current_compile, self.names
        self.prompt.open(GoTo(self.trace, self.scheduler, chosen, compile_, names, self.shown_ref, before, self.ascii_only))

    def action_search(self) -> None:
        """Search everywhere."""
        def answered(text: str) -> None:
            if text:
                self.show_ref(str(Ref(view="grep", artifact=text)))
                self.document_view.focus()

        self.ask("search everywhere", answered, "", "a regular expression", "search")

    def action_help(self) -> None:
        """Show all keys and marks; again, or esc, goes back."""
        if self.shown_ref == HELP:
            self._leave_help()
            return
        self._before_help = self.document_view.has_focus
        self._helped = self.situation(), PLACE_NAMES[self._place]
        self.show_ref(HELP)
        self.document_view.focus()

    def _help(self, run: Run, options: Options) -> Document:
        from tltui.screens.palette import help_document

        return help_document(self.ascii_only, self.config, options.width, *self._helped)

    def _leave_help(self) -> None:
        self.step_back()
        if not self._before_help:
            self.tree_view.focus()

    # comparing, marks

    def action_provenance(self) -> None:
        """Show graphs and code side by side."""
        self.comparing.provenance()

    def action_compare(self) -> None:
        """Mark what is shown, or compare it with what was marked."""
        self.comparing.mark_or_compare()

    def action_compare_previous(self) -> None:
        """Compare with the previous compile of the frame, by artifact if one is shown."""
        self.comparing.with_previous()

    def action_mark(self) -> None:
        """Mark the line, or the node of the tree; a mark that is there goes."""
        self.marking.mark()

    def action_marks(self) -> None:
        """Show the list of marks."""
        self.marking.show()

    # out

    def action_copy(self) -> None:
        """Copy the selection or the line; in the tree the address."""
        if self.tree_view.has_focus:
            self.copy(self.current_node.ref or self.trace.discovered.paths[0])
        else:
            self.copy_lines(self.document_view)

    def action_copy_address(self) -> None:
        """Copy address and file, as words for a shell."""
        compile_ = self.current_compile
        path = compile_.process.log.path if compile_ else self.trace.discovered.paths[0]
        self.copy(" ".join(quoted(word) for word in (path, self.shown_ref) if word))

    def action_export(self) -> None:
        """Export the selection, else the filtered lines, to a file."""
        self.export_lines(self.document_view)

    def action_pager(self) -> None:
        """Show the page in $PAGER."""
        self.outside.pager()

    def action_editor(self) -> None:
        """Open a copy of the page in $EDITOR."""
        self.outside.editor()

    def action_suspend(self) -> None:
        """Suspend to the shell."""
        self.app.action_suspend_process()

    def action_leave(self) -> None:
        """Leave tltui, or help: who reads it presses q as in a pager."""
        if self.shown_ref == HELP:
            self._leave_help()
        else:
            self.attending.leave()

    # what the panes ask

    @on(TraceTree.Entered)
    def _entered(self, message: TraceTree.Entered) -> None:
        self.follow()
        if message.node.ref != self.shown_ref:  # a page is shown that was called by name
            self.show_ref(message.node.ref)
        self.document_view.focus()

    @on(TraceTree.Notified)
    def _tree_notified(self, message: TraceTree.Notified) -> None:
        self.show_message(message.text)

    @on(TraceTree.AskFilter)
    def _tree_filter(self) -> None:
        tree = self.tree_view
        hint = "error, break … or a name, file or reason; ! excludes; empty: all"
        self.ask("show only", lambda text: tree.set_filter(text.strip()), tree.outline.filter, hint)

    @on(DocumentView.Followed)
    def _followed(self, message: DocumentView.Followed) -> None:
        target = message.target
        if target.startswith("file:"):
            # a line of somebody's source: all that was born of it
            self.go(str(Ref(view="source", artifact=target.removeprefix("file:"))))
        elif is_graph_break_page(target):
            self.show_message(target)  # never opened from here
        elif target.startswith("@diff:"):
            self.comparing.open(target)
        elif target.startswith(DOES):
            self.perform(BY_ID[target.removeprefix(DOES)])
        else:
            self.go(target)

    @on(DocumentView.NameFollowed)
    def _name_followed(self, message: DocumentView.NameFollowed) -> None:
        """Go to the definition of a name; on the definition itself, or without one, to the next use."""
        names = self.names
        line = names.definition(message.name, message.line) if names is not None else None
        if line is None or line == message.line:
            message.view.action_search_word()
        else:
            message.view.goto_line(line + 1)
            message.view.move_to(line, max(self._column_of(message.name, line), 0))

    def _column_of(self, name: str, line: int) -> int:
        return self.current_document.line(line).text.find(name)


class Browser(BrowserCommands):
    """Reads the run and draws what it has become."""

    AUTO_FOCUS = ""  # `on_mount` sets the focus: another one before it would have all styles resolved twice more
    BINDINGS: ClassVar[list[BindingType]] = bindings(Where.EVERYWHERE)

    def __init__(self, around: AppContext, faulted: Callable[[BaseException], object], before: Browser | None = None) -> None:
        """Create the screen.

        `before`: the screen that this one replaces to read everything again. It follows as that one did, and shows the same page
        when all has been read.
        """
        super().__init__(around, faulted)
        self.following: LiveUpdates = LiveUpdates(self, faulted, before=None if before is None else before.following)
        self._version = ""
        self._back_to = before.shown_ref if before is not None else None
        self._is_on_document = before is None or before.document_view.has_focus
        self.set_class(self._is_on_document, "-on-document")
        self.is_replaced = False
        self.no_log_reason = ""
        """Why there is nothing to show, where that turned out."""

    def on_mount(self) -> None:
        """Draw the screen once, then begin to read."""
        self.document_view.show(reading_document(self.trace))
        self.document_view.on_position = self._moved
        self.document_view.on_rest = self._rested
        self.document_view.trail_of = self.trail_of
        self.set_focus(self.document_view if self._is_on_document else self.tree_view)
        self.say_run()
        self.say_keys()
        for problem in self.config.problems:
            self.show_message(problem, tokens.WARN)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """Start reading, after the first frame."""
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        self.attending.begin()
        if not self.shown_ref:
            self.await_first_page()
        self.following.start()

    def on_unmount(self) -> None:
        """Stop all work after the pending writes, unless another screen takes over."""
        self.following.stop()
        self.attending.end()
        if self.is_replaced:
            return
        self.end_work()

    # the run

    def on_scanned(self, message: Scanned) -> None:
        """Take over a batch of records."""
        self.following.take_over(message.events)

    def read_also(self, logs: Sequence[FoundLog], then: Callable[[], object]) -> None:
        """Read logs that were left out; then do something."""
        self.following.read_also(logs, then)

    def stop_profiles(self) -> None:
        """Read no profiles any more that nobody waits for."""
        self.following.profiling.stop()

    def exit_without_log(self, reason: str) -> None:
        """Exit with the reason why there is no log."""
        self.no_log_reason = reason
        self.app.exit()

    def run_changed(self, is_new: bool, is_read: bool) -> None:
        """Update counts, nodes and the page. `is_read`: everything initially present has been read."""
        self.tree_view.run_changed(is_new)
        self.say_run()
        self.say_keys()
        self.renew()
        if is_read and self._back_to is None:
            self.show_first_page()
        if is_read and self._back_to is not None:
            self.keep_cursor()
            if self._back_to in self.own_pages:
                self.show_ref(self._back_to)
            else:
                self.arrive(self._back_to)
            self.show_message("read again")

    def _rested(self) -> None:
        """Put the caret on the worst problem of the complete summary, until the first key press."""
        if not (self._steered or self.shown_ref):
            self.document_view.to_start()
        super()._rested()

    def _is_overview(self) -> bool:
        return not self.document_view.document.language

    def user_acts(self) -> None:
        """Note that the user pressed a key or used the mouse."""
        self._steered = self.tree_view.is_held = True
        for screen in self.app.screen_stack:
            if isinstance(screen, Workbench) and screen.is_whole:
                screen.status.quiet()
        self.following.noticing.read()

    def job_changed(self, remark: str) -> None:
        """Show a remark on the state of the job."""
        self.following.remark = remark
        self.say_run()
        self.renew()

    def action_follow(self) -> None:
        """Follow what the job writes, or do not."""
        self.following.toggle()

    def action_news(self) -> None:
        """Go to the latest problem."""
        self.following.noticing.go()

    def action_read_again(self) -> None:
        """Read all logs from their beginning."""
        self.show_message("reading again …")
        self.scheduler.do(self._discover_again(), place=Place.LONG)

    def _discover_again(self) -> Steps:
        discovered = self.trace.discovered
        latest = discovered.discovery is not None and discovered.discovery.latest
        try:
            profiles = discovered.discovery.profiles if discovered.discovery is not None else ()
            again = replace(Discovery(discovered.paths, latest, profiles=profiles).discover(), is_over=discovered.is_over)
        except NothingFound as error:
            self.answer(partial(self.show_message, f"{str(error).splitlines()[0]}; the earlier content remains", tokens.WARN))
            return
        self.answer(partial(self.post_message, Again(again)))
        yield None

    # what the bars say

    def say_run(self) -> None:
        """Update the line above."""
        run = self.trace
        if not self._version:
            self._version = next((v for process in run.processes() if (v := torch_version(process))), "")
        key = self.key_of("app.follow")
        left, right = header(run, self._version, self.following.live(), self.size.width, self.ascii_only, key)
        self.query_one(RunBar).set([*self.comparing.sign, *left], right)

    def _moved(self, moved: DocumentView.Moved) -> None:
        parts: list[Piece] = []
        left, compiles = self.tree_view.outline.filter_counts
        if compiles:
            parts.append((f"{left:,} of {plural(compiles, 'compile')} shown  ", tokens.WARN))
        if moved.selected:
            parts.append((f"{plural(moved.selected, 'line')} selected  ", tokens.STRONG))
        if moved.hits:
            parts.append((f"{moved.hits}  ", tokens.BREAK))
        if self.has_class("-on-document") or not self.has_one_pane:  # otherwise the page is out of sight
            parts.append((f"{moved.position} ", tokens.DIM))
        self._say_name(moved.line)
        self.status.place(parts)
        self.details.follow()

    def name_panes(self) -> None:
        """Show which keys lead to a pane out of sight, and the position in a page in sight."""
        super().name_panes()
        self._moved(self.document_view.whereabouts())

    def _say_name(self, line: int) -> None:
        """Describe the name under the caret, else the node that the line defines."""
        sentence = ""
        if self.names is not None and self.document_view.has_focus:
            stop = self.document_view.stop_at_caret()
            sentence = self.names.about(stop.text, line) if stop is not None else ""
            sentence = sentence or self.names.about_line(line)
        self.describe(sentence)

    # layout

    def fit(self, width: int) -> None:
        """Show one pane at a time on a narrow screen."""
        self.set_class(width < NARROW, "-narrow")

    def on_resize(self) -> None:
        """Lay out what depends on the width."""
        self.fit(self.size.width)
        if self.is_mounted:
            self.name_panes()
            self.call_after_refresh(self.attending.resized)
            self.say_run()
            if self._is_overview():
                self.call_after_refresh(self.lay_out_again)

    def on_descendant_focus(self) -> None:
        """Show the focused pane on a narrow or zoomed screen."""
        self.set_class(self.document_view.has_focus, "-on-document")
        self.say_keys()
        self._moved(self.document_view.whereabouts())
