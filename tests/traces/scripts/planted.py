"""A word of the user's wherever a trace can have one. All of them have zq in them or stand in WORDS of tests/unit/test_redact.py.

A copy of this called zqtrain.py in a directory of its own was run with TORCH_COMPILE_JOB_ID=zqjobid TORCHINDUCTOR_CACHE_DIR=…/torchinductor_zqcache;
neutralise.py put that directory at /home/zqaccount/zqcorp. Most timing events, configurations and framework stacks are left out.
"""
import dataclasses
import enum
import logging
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
os.makedirs(os.path.join(HERE, "zqpackage"), exist_ok=True)
with open(os.path.join(HERE, "zqpackage", "zqlayers.py"), "w") as out:
    out.write("def zqnormalise(zqtensor):\n    return zqtensor / zqtensor.abs().max()\n")
sys.path.insert(0, os.path.join(HERE, "zqpackage"))
import torch
import torch._logging._internal as logs
import zqlayers
from torch._logging import trace_structured


seen = []


def keep(record):
    said = record.metadata
    if "chromium_event" in said:
        return '"ph": "i"' in record.payload
    if "compilation_metrics" in said:
        metrics = said["compilation_metrics"]
        for name in [name for name, value in metrics.items() if value in (None, [], 0, "", False) or (name.endswith("_config") and seen)]:
            del metrics[name]
        seen.append(1)
        metrics["job_name"], metrics["tags"] = "nightly zqjobname", ["zqtag", "prod"]
    for event in ("create_symbol", "guard_added_fast", "symbolic_shape_specialization"):
        if event in said:
            said[event].pop("stack", None)
    return not any(name in said for name in ("describe_storage",))


logs.trace_log.addFilter(keep)

os.environ["ZQSECRETNAME"] = "zqsecretvalue"
log = logging.getLogger("zqcompany.zqfraud.scoring")
ZQGLOBAL = 3
torch.manual_seed(0)


@torch.library.custom_op("zqspace::zqblend", mutates_args=())
def zqblend(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x * 0.5 + y


@zqblend.register_fake
def _(x, y):
    return torch.empty_like(x)


@torch.library.custom_op("zqspace::blend", mutates_args=())
def blend(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@blend.register_fake
def _(x):
    return torch.empty_like(x)


class ZqMood(enum.Enum):
    ZQHAPPY = 1
    ZQSAD = 2


@dataclasses.dataclass
class ZqConfig:
    zqrate: float = 0.5
    zqlabel: str = "zqdefault-label 4711"


class ZqError(ValueError):
    pass


class ZqInner(torch.nn.Module):
    def __init__(self, zqwidth):
        super().__init__()
        self.zqproj = torch.nn.Linear(zqwidth, zqwidth)
        self.register_buffer("zqbuffer", torch.ones(zqwidth))

    def forward(self, zqinput):
        return self.zqproj(zqinput) * self.zqbuffer


class ZqScorer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.zqkey = "zqhunter-2 zebra"
        self.codename = "project-walrus"
        self.score_card = 7
        self.zqstack = torch.nn.ModuleList([ZqInner(4), ZqInner(4)])
        self.zqmap = torch.nn.ModuleDict({"zqleft": ZqInner(4)})
        self.zqconfig = ZqConfig()
        self.zqplain = torch.nn.Parameter(torch.ones(4))

    def forward(self, x, table, *, zqmode=ZqMood.ZQHAPPY, zqoption="zqfast"):
        for zqlayer in self.zqstack:
            x = zqlayer(x)
        zqhidden = self.zqmap["zqleft"](x) + self.zqplain
        if self.codename == "project-walrus" and self.zqkey.startswith("zqhunter"):
            zqhidden = zqhidden + table["zqband"] + table["salary band"] * self.score_card
        if zqmode is ZqMood.ZQHAPPY or zqoption == "zqfast":
            zqhidden = zqhidden * self.zqconfig.zqrate
        zqhidden = torch.ops.zqspace.zqblend(zqhidden, x)
        zqhidden = torch.ops.zqspace.blend(zqhidden) * ZQGLOBAL
        return zqlayers.zqnormalise(zqhidden).relu()


def zqwarns(x):
    log.warning("zqscored %s", "zqargument of mail zqjane.zqdoe@zqmail.example")
    return x + 1


def zqprints(zqvalue):
    y = zqvalue.sin()
    print("zqprinted https://zquser:zqpass@zqhost.example/zqpath?token=zqtoken")
    return y.cos()


def zqraises(x):
    raise ZqError("zqmessage: zqpatient 10.20.30.40 is not at fe80::1ff:fe23:4567:890a or 02:42:ac:11:00:02, Bearer zqbearer.abc123")


def zqcatches(x):
    try:
        zqraises(x)
    except ZqError as zqerror:
        return x + len(zqerror.args)


def zqmaker():
    zqclosed = 5

    def zqinside(x, zqscale=0.25):
        return x * zqclosed * zqscale
    return zqinside


def zqdata(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


def zqbackend(gm, example_inputs):
    raise ZqError("zqbackend failed in /data/zqmount/zqvolume/zqfile.zqext for 550e8400-e29b-41d4-a716-446655440000")


def attempt(fn, *args, **kwargs):
    try:
        fn(*args, **kwargs)
    except Exception as error:
        print(type(error).__name__)


def main():
    table = {"zqband": torch.randn(4), "salary band": torch.randn(4)}
    model = torch.compile(ZqScorer())
    with torch.no_grad():
        model(torch.randn(2, 4), table)
    eager = torch.compile(ZqScorer(), backend="eager")
    with torch.no_grad():
        eager(torch.randn(2, 4), table)
        eager._orig_mod.codename = "project-narwhal"
        eager(torch.randn(2, 4), table)
        eager(torch.randn(2, 4), table, zqmode=ZqMood.ZQSAD)
        eager(torch.randn(3, 4), table, zqoption="zqslow")
        eager._orig_mod.zqconfig.zqrate = 0.75
        eager(torch.randn(3, 4), table)
    x = torch.randn(8)
    for fn in (zqwarns, zqprints, zqcatches, zqmaker(), zqdata):
        attempt(torch.compile(fn, backend="eager"), x)
    attempt(torch.compile(zqraises, backend="eager"), x)
    attempt(torch.compile(zqdata, backend="eager", fullgraph=True), x)
    attempt(torch.compile(zqmaker(), backend=zqbackend), x)
    written()


def written():
    """What programs and launchers write themselves."""
    trace_structured("artifact", metadata_fn=lambda: {"name": "zqown_artifact", "encoding": "string"}, payload_fn=lambda: "zqbody of it")
    trace_structured("zq_event", metadata_fn=lambda: {"zqfield": "zqvalue", "n": 1})
    trace_structured("artifact", metadata_fn=lambda: {"name": "env", "encoding": "json"},
                     payload_fn=lambda: {"AWS_SECRET_ACCESS_KEY": "zqaws/Key+1", "HOSTNAME": "zqnode17", "USER": "zqaccount", "TORCH_LOGS": "+zqlogger",
                                         "SLURM_JOB_NAME": "zqslurm", "OMP_NUM_THREADS": "8"})
    trace_structured("link", metadata_fn=lambda: {"name": "zqlink", "url": "https://zqurl.example/a?token=zqurltoken"})
    trace_structured("chromium_event", payload_fn=lambda: {"name": "zqphase", "ts": 1795288987352006.2, "args": {"zqarg": "zqargvalue"},
                                                           "ph": "i", "cat": "zqcategory", "tid": 0, "pid": 0})


main()
