"""A Wasserstein GAN with a gradient penalty: the critic sees real, fake and mixed rows; the generator has every second step."""
import torch

torch.manual_seed(0)
generator = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
critic = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
generate = torch.compile(generator, backend="eager")
judge = torch.compile(critic, backend="eager")
of_generator = torch.optim.Adam(generator.parameters(), 1e-3)
of_critic = torch.optim.Adam(critic.parameters(), 1e-3)

for step, rows in enumerate((16, 16, 16, 9)):
    real = torch.randn(rows, 2) + 3
    fake = generate(torch.randn(rows, 4))
    share = torch.rand(rows, 1)
    mixed = (share * real + (1 - share) * fake.detach()).requires_grad_()
    slope, = torch.autograd.grad(judge(mixed).sum(), mixed, create_graph=True)
    loss = judge(fake.detach()).mean() - judge(real).mean() + 10 * (slope.norm(dim=1) - 1).pow(2).mean()
    of_critic.zero_grad()
    loss.backward()
    of_critic.step()
    if step % 2:
        of_generator.zero_grad()
        (-judge(generate(torch.randn(rows, 4))).mean()).backward()
        of_generator.step()
    print(f"{step}: {loss.item():.5f}")
with torch.no_grad():
    print(f"samples: {generate(torch.randn(5, 4)).sum().item():.5f}")
