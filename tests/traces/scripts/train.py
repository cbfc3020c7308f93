import torch, torch.nn as nn
class Block(nn.Module):
    def __init__(s, d):
        super().__init__(); s.ln=nn.LayerNorm(d); s.q=nn.Linear(d,3*d); s.o=nn.Linear(d,d); s.m=nn.Sequential(nn.Linear(d,4*d), nn.GELU(), nn.Linear(4*d,d))
    def forward(s,x):
        B,T,D=x.shape
        q,k,v=s.q(s.ln(x)).chunk(3,-1)
        q,k,v=[t.view(B,T,4,D//4).transpose(1,2) for t in (q,k,v)]
        a=torch.nn.functional.scaled_dot_product_attention(q,k,v,is_causal=True)
        x=x+s.o(a.transpose(1,2).reshape(B,T,D))
        return x+s.m(x)
class M(nn.Module):
    def __init__(s,L=1,d=16):
        super().__init__(); s.e=nn.Embedding(100,d); s.b=nn.ModuleList(Block(d) for _ in range(L)); s.h=nn.Linear(d,100)
    def forward(s,i):
        x=s.e(i)
        for b in s.b: x=b(x)
        return s.h(x)
m=M(); c=torch.compile(m)
for bs in (2,2):
    i=torch.randint(0,100,(bs,16)); l=nn.functional.cross_entropy(c(i).view(-1,100), i.view(-1)); l.backward(); m.zero_grad()
