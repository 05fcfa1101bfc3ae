"""``hostacl ops``: the operators there are, or one operator's page."""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from hostacl.checks.rule import rules
from hostacl.cli.operator_page import Page, page
from hostacl.ops import registry, schema, usage
from hostacl.singleop import custom
from hostacl.singleop.nearest import similar


@click.command()
@click.argument("op_type", required=False)
@click.option("--all", "everything", is_flag=True, help="Also the operators that are known but not here.")
@click.option("--family", help="Only the operators of one family.")
@click.option("--families", "summary", is_flag=True, help="One line for each family.")
def ops(op_type: str | None, everything: bool, family: str | None, summary: bool) -> None:
    """Lists the operators with family, status and call sites, or prints what OP_TYPE takes, gives, means and refuses.

    Call sites: in how many places of published programs an operator is called one by one.
    """
    custom.load_all()
    console = Console(highlight=False)
    if op_type is None:
        console.print(title(set(registry.implemented())))
        console.print(by_family() if summary else listing(everything, family))
        return
    operator = registry.find(op_type)
    known = operator.prototype if operator else schema.prototype(op_type)
    if known is None:
        nearest = ", ".join(similar(op_type, {*schema.known_operators(), *registry.implemented()}))
        click.echo(f"hostacl ops: no operator {op_type}{'; nearest: ' + nearest if nearest else ''}", err=True)
        raise SystemExit(1)
    for part in rendered(page(known, operator)):
        console.print(part)


def listing(everything: bool, family: str | None = None) -> Table:
    """The operators by name; those without a kernel too when everything is asked for."""
    here = set(registry.implemented())
    table = Table("operator", "family", "status", box=None)
    table.add_column("call sites", justify="right")
    for name in sorted(here.union(schema.known_operators()) if everything else here):
        if family in (None, usage.family(name)):
            row = (name, usage.family(name), status(name in here), str(usage.call_sites(name) or ""))
            table.add_row(*row, style=None if name in here else "dim")
    return table


def by_family() -> Table:
    """One line for each family: how much of it is here."""
    here = set(registry.implemented())
    table = Table("family", box=None)
    for heading in ("operators", "of", "call sites covered"):
        table.add_column(heading, justify="right")
    for family in sorted({usage.family(name) for name in here} | set(usage.families().values())):
        names = [name for name in {*usage.families(), *here} if usage.family(name) == family]
        table.add_row(family, str(len(here.intersection(names))), str(len(names)), covered(names, here))
    return table


def title(here: set[str]) -> str:
    """How many operators are here, and what share of the call sites they are."""
    known = schema.known_operators()
    counts = f"{len(here.intersection(known))} of {len(known):,} known operators are here"
    return f"{counts}: {covered(known, here)} of the call sites in published programs"


def status(works: bool) -> str:
    """In a word or three."""
    return "works" if works else "known, not here"


def covered(names: tuple[str, ...] | list[str], here: set[str]) -> str:
    """The share of these operators' call sites that those which are here have: ``98.7 %``; empty when nobody calls them."""
    total = sum(map(usage.call_sites, names))
    return f"{100 * sum(usage.call_sites(name) for name in names if name in here) / total:.1f} %" if total else ""


def rendered(one: Page) -> Iterator[RenderableType]:
    """A page for the terminal."""
    here = "" if one.works else f", {status(False)}"
    yield f"[bold]{one.op_type}[/] ({one.family}{here}){', ' if one.call_sites else ''}{sites(one.call_sites)}"
    if one.meaning:
        yield Padding(escape(one.meaning), (1, 0, 1, 0))
    yield _table(("", "tensor", "", "data types"), [(side, name, kind, types) for side, name, kind, types in one.tensors])
    if one.attrs:
        yield _table(("attribute", "kind", "default"), list(one.attrs))
    yield from map(escape, one.notes)
    if one.refusals:
        known = rules()
        yield _table(("refuses", "", ""), [(code, known[code].title, text) for code, text in one.refusals])
    if one.example:
        yield _table(("example", "", "", ""), list(one.example))


def sites(count: int) -> str:
    """How often published programs call an operator, in words; empty when none does."""
    return f"{count} call site{'s' if count > 1 else ''} in published programs" if count else ""


def _table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> Table:
    table = Table(*headings, box=None, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(*map(escape, row))
    return table
