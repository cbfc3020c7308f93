"""Words that a redacted trace keeps: those of Python, of torch and of the logs themselves.

A trace reads only while its own words are left: `forward`, `layer_norm`, `dynamo_start`. A name of the user's that is
one of them says nothing about the user either.
"""

from __future__ import annotations

import builtins
import keyword
import re

from tltui.model.kinds import all_kinds

_TORCH = """
abs acc accessed activation adam adamw add addmm alias all allgather amax any aot api arange arg args argmax arguments array
asm aten attempt attention attr attrs autocast autograd autotune avg backend backward base batch before after bfloat bias bmm
bool bounds break broadcast bucket buf buffer buffers build bundle bypass bytecode bytes cache call cat cast cell ceil chunk
clamp class clone closure code codegen col collective column comm commit compile compiled compiler complex compute config
const constant contiguous conv convolution copy cos count cpp cpu ctx cublas cuda cudagraph cudagraphs cuda_graph data debug
decoder def default defaults deterministic device dim dims dict dist distributed div divide dot double dropout dtype dump
dynamic dynamo eager einsum element elements embedding empty encoding end entire entry enum envs epilogue eps eq erf error
eval event exp expand export expr extern fail fake false file fill filename fill_ first flag flags flash flatten float floor
fn forward frame from full func function functional functions functorch fused fusion fwd bwd gather gelu gemm generator get
global globals gpu grad graph graphs group guard guards half handle hash head heads helper hidden hint hit hook hooks idx
index indices inductor inference info inf init inline inp inplace input inputs int item iter joint json kernel kernels key
keys kind kwargs kwonly label lambda last layer layers layernorm layout len length level lib like linear linspace list load
loc local locals lock log logger logging logits logs long loop loss lowering main make manager map mask masked matmul max
maximum mean mem memory meta method metrics min minimum mask miss missing mod mode model models module modules mse mul multi
name names nan native neg nested net new next nll nn node nodes none norm not num numel numpy obj object ones opt optim
optimizer optimize option options order original out output outputs overlap package pad param parameter parameters params
partition pass passes patch path pattern permute pid placeholder point pool pos position post pow pre precision prim prims
print process profile project prod property proxy py python query rand randn range rank reason record recompile reduce
reduction ref region relu repeat replay repro reshape reset result results return rms rng root run runnable runtime safe
sample save scalar scale schedule scheduler scope script seed select self cls seq sequence sequential set setup shape shapes
side sigmoid sign silu sin size sizes slice softmax sort source span split sqrt square squeeze src stack start starts state
static stats std step storage str stride strides string struct sub submod sum super sym symbol symbolic symint table tag tags
tail tangent tangents tanh target tensor tensors test tile time timestamp title tmp token tokens top torch total trace train
training transform transformer transpose triton true tuple type types unbacked uint unit unpack unsqueeze update use user util
utils val value values var variable variables version view views void wait weak weight weights where wrap wrapped wrapper
write xnumel xpu zero zeros home work user users opt usr etc var root bin src lib app apps dev mnt data srv workspace workdir
projects repo repos code git content nobody site packages torchinductor torchrun https http www org com github html
"""

_PACKAGES = """
torch torchvision torchaudio torchtext torchao torchtune torchrec triton numpy scipy transformers vllm diffusers accelerate
deepspeed flash_attn xformers  einops functorch sympy networkx pytest peft timm lightning pytorch_lightning safetensors
tokenizers datasets huggingface_hub jax pandas
"""
PUBLIC = frozenset(_PACKAGES.split())
"""Packages whose own files and lines are no secret."""

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")


def kept_words() -> set[str]:
    """The words that are never replaced; of names with underscores also their parts."""
    words = {*_TORCH.split(), *keyword.kwlist, *keyword.softkwlist, *dir(builtins), *PUBLIC}
    for kind in all_kinds():
        words.update((kind.name, *_WORD.findall(kind.name)))
    return words
