"""The lines of docs/api.md, made by tools/make_api.py: mypy reads them as a user's program."""

import tltui
run = tltui.demo()                      # the trace that comes with tltui; yours: tltui.open("/tmp/tracedir")
run
run.ranks
run.goes_on                             # '': the run is complete
[(rank.ref, len(rank.compiles)) for rank in run.ranks]
compile_ = run.compile("0:4/1")          # like run["0:4/1"], with a type for type checkers
compile_.status, compile_.function, compile_.line, compile_.is_recompile
compile_.artifacts
code = run.artifact("0:0/0:inductor_output_code#1")
code.unit, code.language, len(code.bytes), code.md5_ok
code.text.splitlines()[0]
"0:99/0" in run
found = tltui.problems(run)
found
found[0].kind, found[0].headline, found[0].function, found[0].first_ref
[(row.kind, row.count) for row in found if row.kind == "break"]
found.data.breaks[0].graph_break.explanation[:60]     # the complete result of the analysis
print(tltui.check(run, fail_on="error,recompiles=10"))
row = tltui.summary(run)[0]
row.compiles, row.errors, row.breaks, row.recompiles, round(row.compile_s, 1)
why = tltui.recompiles(run)
why[0].ref, why[0].cause, why[0].source, why[0].expected, why[0].actual
print(why.data.frames[0].variations[0].advice)
seconds: dict[str, float] = {}
for part in tltui.timing(run):
    seconds[part.phase] = seconds.get(part.phase, 0.0) + part.self_s
[phase for phase in sorted(seconds, key=lambda phase: -seconds[phase])][:3]
[(side.function, side.ranks, side.description) for side in tltui.ranks(run)[:2]]
len(tltui.stragglers(run)), tltui.where(run)[0].state
mlp = tltui.open("tests/traces/profiler/mlp")
kernel = tltui.provenance(mlp, "0/0")[0]
kernel.kernel, kernel.lines
[(layer.layer, layer.kernels) for layer in tltui.layers(mlp, "0/0")[:3]]
slowest = max(tltui.runtime(mlp), key=lambda row: row.total_us)
slowest.kernel, slowest.calls, slowest.lines
[(row.name, row.left, row.right) for row in tltui.diff(run, "0:4/0", "0:4/1") if row.kind == "guard"][:1]
hits = tltui.grep(run, "addmm", artifact="inductor_output_code", rank=0)
hits[0].ref, hits[0].line
[(row.kind, row.text) for row in tltui.source(mlp, "mlp.py:24")[:2]]
[(row.name, row.reason) for row in tltui.absent(run) if not row.is_routine][:1]
len(tltui.damage(run))
if not tltui.check(run, fail_on="error,break"):
    print("no")
try:
    run["0:4/99"]
except tltui.BadAddress as error:
    print(error)
try:
    tltui.open("/no/such/directory")
except tltui.NothingFound as error:
    print(error)
run.close(); mlp.close()
