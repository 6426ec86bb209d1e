"""Client of the API of `trawl web` and `trawl serve --http`."""

from . import models
from .client import Incomplete, PageOf, Problem, Rows
from .questions import Client

__all__ = ["Client", "Incomplete", "PageOf", "Problem", "Rows", "models"]
