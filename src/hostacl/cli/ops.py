"""``hostacl ops``: the operators there are, or one operator's page."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hostacl.ops import registry, schema
from hostacl.ops.schema import AttrDecl, Prototype, TensorDecl
from hostacl.singleop import custom
from hostacl.singleop.nearest import similar
from hostacl.tensors.dtypes import dtype_name


@click.command()
@click.argument("op_type", required=False)
@click.option("--all", "everything", is_flag=True, help="Also those that are known but not here.")
def ops(op_type: str | None, everything: bool) -> None:
    """Lists the operators with their family, or prints what OP_TYPE takes, gives and means."""
    custom.load_all()
    console = Console(highlight=False)
    if op_type is None:
        console.print(listing(everything))
        return
    known = schema.prototype(op_type)
    if known is None:
        nearest = ", ".join(similar(op_type, schema.known_operators()))
        click.echo(f"hostacl ops: no operator {op_type}{'; nearest: ' + nearest if nearest else ''}", err=True)
        raise SystemExit(1)
    for part in page(known):
        console.print(part)


def listing(everything: bool) -> Table:
    """The operators by name, each with its family; those without a kernel too when everything is asked for."""
    families = registry.families()
    here = set(registry.implemented())
    table = Table(
        "operator",
        "family",
        "status",
        box=None,
        title=f"{len(here)} of {len(schema.known_operators())} known operators are here",
    )
    for name in schema.known_operators() if everything else sorted(here):
        table.add_row(name, families.get(name, "").rpartition(".")[2], "works" if name in here else "known, not here")
    return table


def page(known: Prototype) -> Iterator[str | Table]:
    """What an operator is: its meaning, then tables of its tensors and attributes."""
    operator = registry.find(known.op_type)
    family = registry.families().get(known.op_type, "").rpartition(".")[2]
    yield f"[bold]{known.op_type}[/] ({family or 'known, not here'})"
    if operator is not None and (meaning := inspect.getdoc(operator.kernel)):
        yield escape(meaning)
    for title, tensors in (("inputs", known.inputs), ("outputs", known.outputs)):
        yield _tensors(title, tensors)
    yield _attrs(list(known.attrs.values()))


def _tensors(title: str, tensors: tuple[TensorDecl, ...]) -> Table:
    table = Table(title, "", "dtypes", box=None)
    for tensor in tensors:
        table.add_row(tensor.name, tensor.kind, ", ".join(map(dtype_name, tensor.dtypes)) or "any")
    return table


def _attrs(attrs: list[AttrDecl]) -> Table:
    table = Table("attributes", "kind", "default", box=None)
    for attr in attrs:
        table.add_row(attr.name, attr.kind, "required" if attr.required else escape(repr(attr.default)))
    return table
