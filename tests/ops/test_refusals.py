"""Nothing of the everyday families is missing but what is refused by name."""

from __future__ import annotations

from hostacl.ops import registry, usage
from hostacl.ops.refusals import refused

FAMILIES = frozenset({
    "elementwise_unary", "elementwise_unary_grad", "elementwise_binary", "compare", "logical", "bitwise", "cast_copy_assign",
    "fill_range_const", "reduce", "argminmax", "scan", "index_gather_scatter", "segment_embedding", "shape_slice_concat_pad",
    "sort_topk_search", "unique_nonzero",
})  # fmt: skip


def test_every_operator_that_programs_call_is_here_or_refused_by_name() -> None:
    called = [name for name, family in usage.families().items() if family in FAMILIES and usage.call_sites(name)]
    assert len(called) > 200
    assert [name for name in called if registry.find(name) is None and name not in refused()] == []
