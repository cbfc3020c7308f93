"""A compiled model called by several threads, with an own batch size and dtype in each."""
import threading

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4)).eval()
compiled = torch.compile(model, backend="aot_eager")
results = {}
lock = threading.Lock()


def serve(number):
    with lock, torch.no_grad():
        x = torch.ones(2 + number % 3, 8)
        if number == 4:
            x = x.requires_grad_()
        results[number] = compiled(x).sum().item()


for number in range(6):
    thread = threading.Thread(target=serve, args=(number,))
    thread.start()
    thread.join()
for number in sorted(results):
    print(f"thread {number}: {results[number]:.5f}")
