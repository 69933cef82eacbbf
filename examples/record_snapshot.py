"""Record a GPU memory snapshot of a PyTorch program, and one more if it runs out of memory.

    python record_snapshot.py                # trains a small model as a demonstration
    snapview report snapshot.pickle

In your own program: call start() before the model is built and dump() when you want to look.
A history that starts later still works, but cannot tell who allocated what came before it.
"""

import torch


def start(path_on_oom="oom.pickle", max_entries=1_000_000):
    """Begin recording. max_entries bounds the history: the oldest events are dropped beyond it."""
    torch.cuda.memory._record_memory_history(max_entries=max_entries)

    def observe(device, requested, device_total, device_free):
        # Called by the allocator before the error reaches Python, so the
        # snapshot still holds everything that filled the memory.
        torch.cuda.memory._dump_snapshot(path_on_oom)

    torch._C._cuda_attach_out_of_memory_observer(observe)


def dump(path="snapshot.pickle"):
    """Write what was recorded so far, and the state of the allocator now."""
    torch.cuda.memory._dump_snapshot(path)


def stop():
    """End recording; it costs a few microseconds an allocation while it is on."""
    torch.cuda.memory._record_memory_history(enabled=None)


def main():
    start()
    model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        x = torch.randn(64, 1024, device="cuda")
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    dump()
    stop()


if __name__ == "__main__":
    main()
