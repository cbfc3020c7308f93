"""A small video model: clips of several lengths, a stride in time that is an argument, and still images as clips of one frame."""
import torch

torch.manual_seed(0)


class Video(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.space, self.time = torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.Linear(4, 4)

    def forward(self, clip, stride=1):
        frames = clip[:, ::stride]
        x = self.space(frames.flatten(0, 1)).mean((2, 3)).unflatten(0, frames.shape[:2])
        return self.time(x).softmax(1).sum((1, 2))


video = torch.compile(Video().eval(), backend="aot_eager")
with torch.no_grad():
    for rows, count, stride in ((2, 6, 1), (2, 8, 1), (2, 8, 2), (3, 8, 2), (1, 1, 1)):
        print(f"{rows} x {count} by {stride}: {video(torch.randn(rows, count, 1, 8, 8), stride).sum().item():.5f}")
