"""``hostacl atc``: single-operator models from a JSON file, as the card's compiler of that name makes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

import click

from hostacl.errors import AclError
from hostacl.singleop import modelfile, singleop_json
from hostacl.singleop.models import Model

BAD_OPTION, BAD_OPERATOR = "E10001", "E40021"
"""What the lines of errors begin with: an option or file, an operator that cannot be built."""

OURS = ("singleop", "output", "soc_version")
PASSED_OVER = (
    "log",
    "core_type",
    "aicore_num",
    "precision_mode",
    "op_select_implmode",
    "optypelist_for_implmode",
    "debug_dir",
    "op_compiler_cache_mode",
)
"""Options that only steer the card's compiler, and say nothing about an operator's values."""
GRAPH = ("model", "framework", "mode", "om", "weight", "input_shape")
"""Options that compile whole networks."""


class Options(NamedTuple):
    """What the command line says: the options of ours, and the names of the others."""

    singleop: str
    output: str
    soc_version: str
    others: tuple[str, ...]


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="--singleop=FILE --output=DIR [--soc_version=NAME]")
def atc(arguments: tuple[str, ...]) -> None:
    """Builds a model file (.om) in DIR for each operator of a single-op JSON.

    --soc_version takes any product's name and is kept in the file. Options of the card's compiler that change nothing
    here are accepted.
    """
    if not arguments or {"-h", "--help"} & set(arguments):
        click.echo(click.get_current_context().get_help())
        return
    try:
        options = read_options(arguments)
        notes = [f"--{name} changes nothing here" for name in options.others if name not in PASSED_OVER]
        parsed = singleop_json.parse(_text(options.singleop))
        notes += parsed.notes
        for index, op in enumerate(parsed.ops):
            notes += _check(op.model, f"operator {index} of {options.singleop}")
        paths = _write(parsed.ops, options)
    except AclError as error:
        _end(error)
    for note in notes:
        click.echo(f"[WARNING] {note}", err=True)
    for path in paths:
        click.echo(path)
    click.echo("ATC run success")


def read_options(arguments: Sequence[str]) -> Options:
    """The options in either spelling, ``--name=value`` or ``--name value``.

    AclError when one of ours is missing or a network is asked for.
    """
    given = dict(_pairs(arguments))
    for name in GRAPH:
        if name in given:
            raise AclError(
                100000,
                "HA614",
                f"--{name}={given[name]}: hostacl runs single operators, not networks; give --singleop=FILE.json.",
            )
    for name in ("singleop", "output"):
        if not given.get(name):
            raise AclError(100000, "HA614", f"--{name} is missing; needed are --singleop=FILE.json and --output=DIR.")
    others = tuple(name for name in given if name not in OURS)
    return Options(given["singleop"], given["output"], given.get("soc_version", ""), others)


def _pairs(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            raise AclError(100000, "HA614", f"{word!r} belongs to no option; options are --name=value or --name value.")
        name, equals, value = word[2:].partition("=")
        if not equals and rest and not rest[0].startswith("--"):
            value = rest.pop(0)
        yield name, value


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise AclError(100003, "HA614", f"--singleop={path}: {error}") from error


def _check(model: Model, where: str) -> list[str]:
    """What is to be said about an operator that can be built; AclError when it cannot."""
    from hostacl.singleop.execute import bind

    try:
        call = bind(model.op_type, model.inputs, model.outputs, model.attrs)
    except AclError as error:
        raise AclError(error.code, error.rule, f"{where}: {error.text}") from error
    return [f"{where}: {model.op_type}: {text} ({rule})" for rule, text in call.reports]


def _write(ops: Sequence[singleop_json.SingleOp], options: Options) -> list[Path]:
    folder = Path(options.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for op in ops:
            modelfile.write(folder / op.file_name, op.model, soc_version=options.soc_version)
    except OSError as error:
        raise AclError(100004, "HA614", f"--output={options.output}: {error}") from error
    return [folder / op.file_name for op in ops]


def _end(error: AclError) -> NoReturn:
    kind = BAD_OPERATOR if error.code == 500002 else BAD_OPTION
    click.echo(f"{kind}: {error.rule}: {error.text}", err=True)
    click.echo("ATC run failed")
    raise SystemExit(1)
