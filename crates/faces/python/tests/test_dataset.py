"""SetDataset in workers that know torch's interface, and with torch itself where it is installed."""

from __future__ import annotations

import abc
import collections
import glob
import multiprocessing
import os
import pickle
import sys
import threading
import types
from pathlib import Path
from typing import Any

import pytest
import trawl

WorkerInfo = collections.namedtuple("WorkerInfo", "id num_workers")


class FakeIterableDataset(abc.ABC):
    """Torch's class of datasets that are iterated; its metaclass is ABCMeta, too."""


def imitate_torch(worker: WorkerInfo | None) -> types.ModuleType:
    """Puts modules in torch's places, with what a DataLoader tells its workers."""
    data = types.ModuleType("torch.utils.data")
    data.IterableDataset = FakeIterableDataset  # type: ignore[attr-defined]
    data.get_worker_info = lambda: worker  # type: ignore[attr-defined]
    for name in ("torch", "torch.utils"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["torch.utils.data"] = data
    return data


@pytest.fixture
def torch_data(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    for name in ("torch", "torch.utils", "torch.utils.data"):
        # Restored afterwards.
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    return imitate_torch(None)


def length(item: tuple[str, bytes]) -> tuple[str, int]:
    return item[0], len(item[1])


def work(pickled: bytes, worker: int, workers: int) -> list[tuple[str, int]]:
    """What a worker process does."""
    imitate_torch(WorkerInfo(worker, workers))
    dataset: Any = pickle.loads(pickled)
    assert isinstance(dataset, FakeIterableDataset)
    items: Any = dataset
    return list(items)


def wanted(wide: Path) -> list[tuple[str, int]]:
    return sorted((name, os.stat(name).st_size) for name in glob.glob(f"{wide}/*/*/*"))


def test_without_torch(wide: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "torch.utils", "torch.utils.data"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    dataset = trawl.SetDataset(f"{wide}/*/*/*", length)
    for _ in range(2):
        assert sorted(dataset) == wanted(wide)
    sizes: trawl.SetDataset[int] = trawl.SetDataset([f"{wide}/d0*/*/*", Path(f"{wide}/d1*/*/*")], decode=lambda member: len(member.read()))
    assert len(list(sizes)) == len(glob.glob(f"{wide}/d[01]*/*/*"))
    assert "torch" not in sys.modules


def test_torch_takes_it_for_an_iterable_dataset(wide: Path, torch_data: types.ModuleType) -> None:
    assert not isinstance(object(), torch_data.IterableDataset)
    assert isinstance(trawl.SetDataset(f"{wide}/*"), torch_data.IterableDataset)


@pytest.mark.parametrize("workers", [1, 3, 8])
def test_workers_share_the_members(wide: Path, torch_data: Any, workers: int) -> None:
    dataset = trawl.SetDataset(f"{wide}/*/*/*", length)
    found = []
    for worker in range(workers):
        torch_data.get_worker_info = lambda worker=worker: WorkerInfo(worker, workers)
        share = list(dataset)
        assert len(share) >= 600 // workers // 2
        found += share
    assert sorted(found) == wanted(wide)


def test_ranks_and_workers(wide: Path, torch_data: Any) -> None:
    found = []
    for rank in range(2):
        dataset = trawl.SetDataset(f"{wide}/*/*/*", length, share=(rank, 2))
        for worker in range(3):
            torch_data.get_worker_info = lambda worker=worker: WorkerInfo(worker, 3)
            found += list(dataset)
    assert sorted(found) == wanted(wide)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_worker_processes(wide: Path, torch_data: types.ModuleType, method: str) -> None:
    pickled = pickle.dumps(trawl.SetDataset(f"{wide}/*/*/*", length))
    with multiprocessing.get_context(method).Pool(3) as pool:
        shares = pool.starmap(work, [(pickled, worker, 3) for worker in range(3)])
    assert sorted(item for share in shares for item in share) == wanted(wide)
    assert all(shares)


def test_errors_and_options(wide: Path) -> None:
    gone = f"{wide}/gone"
    found: list[Any] = []
    dataset = trawl.SetDataset([f"{wide}/*/*/*", gone], length)
    with pytest.raises(trawl.SetError) as caught:
        for item in dataset:
            found.append(item)
    assert sorted(found) == wanted(wide) and [error.filename for error in caught.value.exceptions] == [gone]
    assert sorted(trawl.SetDataset([f"{wide}/*/*/*", gone], length, errors="collect")) == wanted(wide)
    ordered: trawl.SetDataset[tuple[str, bytes]] = trawl.SetDataset(f"{wide}/*/*/*", ordered=True)
    names = [name for name, _ in ordered]
    assert names == sorted(names)
    with pytest.raises(ValueError, match="share"):
        trawl.SetDataset("/a", share=(1, 1))
    with pytest.raises(TypeError):
        trawl.SetDataset("/a", unknown=1)


def test_a_broken_off_iteration_frees_descriptors(wide: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in trawl.SetDataset(f"{wide}/*/*/*"):
        break
    # Reads of directories that have begun end by themselves.
    for _ in range(2000):
        if len(os.listdir("/proc/self/fd")) <= before:
            return
        threading.Event().wait(0.01)
    raise AssertionError(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_the_real_torch(wide: Path, method: str) -> None:
    data = pytest.importorskip("torch.utils.data")
    dataset = trawl.SetDataset(f"{wide}/*/*/*", length)
    for workers in (0, 3):
        context = method if workers else None
        loader = data.DataLoader(dataset, batch_size=None, num_workers=workers, multiprocessing_context=context)
        assert sorted((name, size) for name, size in loader) == wanted(wide)
