"""Dynamic sets as datasets of torch, which is not needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Callable, Generic, Optional, TypeVar, Union

from trawl._sets import Member, Set

T = TypeVar("T")

Name = Union[str, "os.PathLike[str]"]


def named_bytes(member: Member[str]) -> tuple[str, bytes]:
    """Returns a member's name and content."""
    return member.name, member.read()


def _torch_data() -> Any:
    """The module torch.utils.data, if the program uses it."""
    return sys.modules.get("torch.utils.data")


class SetDataset(Generic[T]):
    """The members of a set as an iterable dataset: for torch.utils.data.DataLoader, or any loop.

        dataset = trawl.SetDataset("/data/train/*/*.jpg", decode=lambda member: (member.name, member.read()))
        for name, content in torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=4):
            ...

    In a worker process of a DataLoader it has that worker's share of the members; all shares together
    have each member once. Import torch before making it. It can be pickled if its functions can, and
    each iteration opens a set of its own, so it may be used after fork().

    names      one set name or several, as for trawl.Set
    decode     makes an item from an open member, which is closed afterwards: (name, content) by default
    transform  applied to what decode returns
    share      (index, count): this process's share, such as its rank and the number of ranks; workers
               divide it further
    options    those of trawl.Set; with errors="collect" or on_error, members that cannot be read are
               left out, otherwise they are raised together at the end, as SetError
    """

    def __init__(
        self,
        names: Union[Name, Iterable[Name]],
        transform: Optional[Callable[[Any], T]] = None,
        decode: Callable[[Member[str]], Any] = named_bytes,
        *,
        share: tuple[int, int] = (0, 1),
        **options: Any,
    ) -> None:
        self.names: list[Name] = [names] if isinstance(names, (str, os.PathLike)) else list(names)
        self.transform = transform
        self.decode = decode
        self.share = share
        self.options = options
        # An invalid name or option is reported here, and not by a worker.
        Set(*self.names, share=share, **options).close()
        self._register()

    def _register(self) -> None:
        """Tells torch that this is an IterableDataset."""
        data = _torch_data()
        if data is not None:
            data.IterableDataset.register(SetDataset)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._register()

    def __iter__(self) -> Iterator[T]:
        data = _torch_data()
        worker = None if data is None else data.get_worker_info()
        index, count = self.share
        if worker is not None:
            index, count = index * worker.num_workers + worker.id, count * worker.num_workers
        with Set(*self.names, share=(index, count), **self.options) as members:
            for member in members:
                with member:
                    item = self.decode(member)
                yield item if self.transform is None else self.transform(item)
