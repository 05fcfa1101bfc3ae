"""Networks and optimizers, trained on a device from the same start; run as a program, one training that prints its losses."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

STEPS = 20


class Attention(nn.Module):
    """Self-attention of several heads by matmul and softmax."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.queries = heads, nn.Linear(width, width)
        self.keys = nn.Linear(
            width, width, bias=False
        )  # softmax does not see a bias of the keys: its gradient is rounding
        self.values, self.out = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        query, key, value = (
            part(x).reshape(batch, length, self.heads, -1).transpose(1, 2)
            for part in (self.queries, self.keys, self.values)
        )
        weights = torch.softmax(query @ key.transpose(-1, -2) / (width // self.heads) ** 0.5, dim=-1)
        return self.out((weights @ value).transpose(1, 2).reshape(batch, length, width))


class Layer(nn.Module):
    """A Transformer encoder's layer, norms first."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention, self.before, self.after = Attention(width, heads), nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU("tanh"), nn.Linear(2 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.before(x))
        return x + self.feed(self.after(x))


class Encoder(nn.Module):
    """Tokens to class scores."""

    def __init__(self, words: int = 30, width: int = 16, heads: int = 4, classes: int = 5) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Parameter(torch.randn(6, width) * 0.1)
        self.layers = nn.Sequential(Layer(width, heads), Layer(width, heads))
        self.scores = nn.Linear(width, classes)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.scores(self.layers(self.words(tokens) + self.places).mean(1))


def mlp() -> tuple[nn.Module, Tensor]:
    """Two linear layers, and what they train on."""
    return nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 5)), torch.randn(16, 20)


def cnn() -> tuple[nn.Module, Tensor]:
    """Convolution, batch norm, ReLU, max pool, linear."""
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(8 * 16, 5),
    )
    return net, torch.randn(8, 3, 8, 8)


def encoder() -> tuple[nn.Module, Tensor]:
    """A small Transformer encoder without scaled_dot_product_attention."""
    return Encoder(), torch.randint(0, 30, (8, 6))


NETWORKS: dict[str, Callable[[], tuple[nn.Module, Tensor]]] = {"mlp": mlp, "cnn": cnn, "encoder": encoder}
OPTIMIZERS: dict[str, Callable[[Iterable[Tensor]], torch.optim.Optimizer]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9, foreach=False),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=1e-3, foreach=False),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=1e-3, foreach=False),
}


@dataclass(frozen=True)
class Trained:
    """What a training leaves."""

    losses: list[float]
    parameters: dict[str, Tensor]


def start(network: str, seed: int = 0) -> tuple[nn.Module, Tensor, Tensor]:
    """A network, its input and its targets, always the same for a seed."""
    torch.manual_seed(seed)
    net, x = NETWORKS[network]()
    return net, x, torch.randint(0, 5, (x.shape[0],))


def train(network: str, optimizer: str, device: str, steps: int = STEPS, seed: int = 0) -> Trained:
    """Trains on a device; losses of all steps, parameters and buffers of the last."""
    start_net, x, y = start(network, seed)
    net = copy.deepcopy(start_net).to(device)
    x, y = x.to(device), y.to(device)
    steps_of = OPTIMIZERS[optimizer](net.parameters())
    losses = []
    for _ in range(steps):
        steps_of.zero_grad()
        loss = functional.cross_entropy(net(x), y)
        loss.backward()
        steps_of.step()
        losses.append(loss.item())
    return Trained(losses, {name: value.detach().cpu() for name, value in net.state_dict().items()})


if __name__ == "__main__":
    print(*train(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])).losses)
