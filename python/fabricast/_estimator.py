"""The time of one call after another on the same machines."""

import operator
from functools import partial
from typing import NamedTuple

from . import _fabricast
from ._error import Error
from ._studies import STUDIES, words

# Names of other libraries for nccl-tests' datatypes.
_DATATYPES = {
    "float16": "half",
    "fp16": "half",
    "float32": "float",
    "fp32": "float",
    "float64": "double",
    "fp64": "double",
    "bf16": "bfloat16",
    "float8_e4m3fn": "f8e4m3",
    "float8_e5m2": "f8e5m2",
}


_BYTES_MAX = (1 << 63) - 1
_RANKS_MAX = (1 << 31) - 1


def _ranks(ranks):
    """As the library takes them: 0 = all."""
    if ranks is None:
        return 0
    count = operator.index(ranks)
    if count == 0 or abs(count) > _RANKS_MAX:
        raise Error("", 0, "", f"{count} ranks are no GPUs of a site", "from 1 on; None = all")
    return count


def _bytes(nbytes):
    count = operator.index(nbytes)
    if count > _BYTES_MAX:
        raise Error("", 0, "", f"a message of {count} B is too large", "at most 1 TiB")
    return max(count, -_BYTES_MAX)


class Estimate(NamedTuple):
    """us: microseconds of one call, as `bench` has them. lower, upper: 80 % of measured times lie
    between. algorithm, protocol: NCCL's names. nchannels: that get work. Of an array of sizes each
    is an array of its shape."""

    us: float
    lower: float
    upper: float
    algorithm: str
    protocol: str
    nchannels: int


class Estimator:
    """Machines that are loaded once, and every call on them simulated once.

    Estimator(topology="dgx-h100", nodes=16, nccl="2.30.7", env={"NCCL_ALGO": "Ring"}): the options
    of bench that say what machines there are and how NCCL is set; one number of nodes. Raises
    Error.
    Several threads may use one; each may have its own, too.
    """

    def __init__(self, topology, *, nodes=None, nccl=None, env=None, **site):
        self._asked = {"topology": topology, "nodes": nodes, "nccl": nccl, "env": env, **site}
        self._made = _fabricast.Estimator(words(STUDIES["bench"], self._asked))

    def __reduce__(self):
        """What has been estimated does not travel: it is found again."""
        return partial(Estimator, **self._asked), ()

    @property
    def ranks(self):
        """GPUs of the site."""
        return self._made.ranks

    @property
    def notes(self):
        """What the reader should know of the site, one sentence each."""
        return self._made.notes

    def estimate(self, collective, nbytes, ranks=None, dtype="float"):
        """The time of a call, as an Estimate.

        collective: nccl-tests' name, "all_reduce". nbytes: the size in bytes as nccl-tests counts
        it (of all_gather and reduce_scatter the larger buffer); of an array of sizes the Estimate
        is of arrays of its shape, which takes numpy. ranks: on so many GPUs of the site, whole
        nodes or within one; None = all. dtype: nccl-tests' name, or numpy's or torch's.
        Raises Error. Other threads of Python run meanwhile.
        """
        if not isinstance(collective, str):
            raise TypeError(f"a collective is named by a str, not {type(collective).__name__}")
        if type(dtype) is not str:
            dtype = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
        dtype = dtype.rpartition(".")[2]
        dtype = _DATATYPES.get(dtype, dtype)
        if type(nbytes) is not int:
            if getattr(nbytes, "ndim", None) or isinstance(nbytes, (list, tuple, range)):
                return self._many(collective, nbytes, ranks, dtype)
        size, ranks = _bytes(nbytes), _ranks(ranks)
        return Estimate._make(self._made.estimate(collective, size, dtype, ranks))

    def _many(self, collective, sizes, ranks, dtype):
        import numpy

        sizes = numpy.asarray(sizes)
        if sizes.dtype.kind not in "iu":
            raise TypeError(f"sizes are whole numbers of bytes, not {sizes.dtype}")
        if sizes.size > 0:
            _bytes(sizes.max())
        found = self._made.estimate_many(collective, sizes, dtype, _ranks(ranks))
        words_ = (numpy.array(one, dtype=object).reshape(sizes.shape) for one in found[3:5])
        return Estimate(*found[:3], *words_, found[5])
