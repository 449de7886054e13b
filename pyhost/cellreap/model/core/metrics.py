# SPDX-License-Identifier: BSD-2-Clause
"""RSI and FR by the C core."""

from __future__ import annotations

from cellreap.model.core.library import CoreError, allocator
from cellreap.model.core.planner import CoreModel
from cellreap.model.graph import Model
from cellreap.model.metrics import Metrics, weight_of


class CoreMetrics:
    """Measures PDs of a model with the root task's own code.

    with_root: the root task may be the PD that both reach. UsageError for an id that is not there,
    CoreError if the core refuses.
    """

    def __init__(self, model: Model, *, with_root: bool = False) -> None:
        self.core = CoreModel.from_model(model)
        self.ffi, self.lib = self.core.ffi, self.core.lib
        self._types = sorted({node.type for node in model.nodes.values()})
        nodes = max(1, len(model.nodes))
        size = self.lib.cr_metrics_bytes(nodes, len(self._types) + 1)
        self._memory = allocator()("uint64_t[]", (size + 7) // 8)
        out = self.ffi.new("cr_metrics **")
        status = self.lib.cr_metrics_init(self._memory, size, nodes, len(self._types) + 1, out)
        self._try(status, "making metrics")
        self._metrics = out[0]
        self._resources = self.ffi.new("cr_metric_resource[]", nodes)
        for res in model.space_of:
            counted_as = self._resources[self.core.ref(res).index]
            counted_as.type = self.core.type_number(model.nodes[res].type)
            counted_as.weight = weight_of(model.nodes[res])
        status = self.lib.cr_metrics_begin(
            self._metrics, self.core.model, self._resources, int(with_root)
        )
        self._try(status, "reading the types that map to each other")
        self._first: str | None = None

    def measure(self, a: str, b: str) -> Metrics:
        """The metrics of two PDs. Many pairs with the same `a` in succession are cheaper."""
        if self._first != a:
            self._first = None
            self._try(self.lib.cr_metrics_first(self._metrics, self.core.ref(a)), f"searching {a}")
            self._first = a
        self._try(self.lib.cr_metrics_second(self._metrics, self.core.ref(b)), f"searching {b}")
        fr = self.ffi.new("uint32_t *")
        self._try(self.lib.cr_metrics_fr(self._metrics, fr), "measuring FR")
        pair = self.ffi.new("cr_rsi *")
        rsi = {}
        for name in self._types:
            number = self.core.type_number(name)
            self._try(self.lib.cr_metrics_rsi(self._metrics, number, pair), "measuring RSI")
            if pair.all:
                rsi[name] = (pair.shared, pair.all)
        return Metrics((a, b), None if fr[0] == self.lib.CR_FR_INF else fr[0], rsi)

    def _try(self, status: int, doing: str) -> None:
        if status != self.lib.CR_OK:
            raise CoreError(self.ffi.typeof("cr_status").elements[status], doing)
