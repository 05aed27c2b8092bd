"""`--config run.toml`: the options of a command from a file; and `--save-config`, which writes one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from neardup.errors import InputError, OutputError, nearest_name
from neardup.output import reason, whole_file

CONFIG = "neardup.config"  # in the context: the file that options came from
SAVED = "neardup.save_config"  # in the context: where options are to be saved, and as what
NAMES = ("config", "save_config")
MOST_BYTES = 1 << 20


def config_options() -> list[click.Option]:
    """--config and --save-config, which no callback sees."""
    helps = {
        "--config FILE": ("Input", "Take options from a TOML file; the command line wins over it."),
        "--save-config FILE": ("Output", "Write the options of this run to a TOML file."),
    }
    options = []
    for declared, (group, text) in helps.items():
        flag, metavar = declared.split()
        options.append(click.Option([flag], metavar=metavar, help=text, expose_value=False))
        vars(options[-1]).update(group=group, seldom=True)
    return options


def named_file(words: Sequence[str], flag: str) -> str | None:
    """The value of an option among words, the last one."""
    found = None
    for place, word in enumerate(words):
        if word == "--":
            break
        if word == flag and place + 1 < len(words):
            found = words[place + 1]
        elif word.startswith(f"{flag}="):
            found = word.partition("=")[2]
    return found


def read_config(path: str) -> dict[str, Any]:
    """The options of a file, by the names of parameters; an InputError says what is wrong with it."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # a name that no file can have is a ValueError
        raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > MOST_BYTES:
        raise InputError(f"{path} is no file of options: it has more than {MOST_BYTES >> 20} MB")
    import tomllib

    try:
        found = tomllib.loads(data.decode())
    except UnicodeDecodeError:
        raise InputError(f"{path} is not TOML: it is not UTF-8") from None
    except RecursionError:
        raise InputError(f"{path} is not TOML: it is nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, or a number of thousands of digits
        raise InputError(f"{path} is not TOML: {error}") from None
    for key, value in found.items():
        if isinstance(value, dict) or not _is_plain(value):
            raise InputError(f"{path}: {key} must be a text, a number, true, false or a list of these")
    return {key.lstrip("-").replace("-", "_"): value for key, value in found.items()}


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(one, (str, int, float)) for one in value)
    return isinstance(value, (str, int, float))


def config_words(
    path: str, options: dict[str, Any], parameters: Iterable[click.Parameter], given: set[str]
) -> list[str]:
    """The options of a file as words of the command line, without those that the command line gives."""
    known = _by_name(parameters)
    words: list[str] = []
    for key, value in options.items():
        parameter = known.get(key)
        if parameter is None or key in NAMES:
            _refuse_unknown(path, key, known)
        if (name := parameter.name if parameter else key) in given or name == "inputs":
            continue
        words += _as_words(path, key, value, parameter)
    return words


def _by_name(parameters: Iterable[click.Parameter]) -> dict[str, click.Parameter]:
    """Options by every name that they have on the command line."""
    found: dict[str, click.Parameter] = {}
    for parameter in parameters:
        flags = [flag for flag in parameter.opts if flag.startswith("--")] or [parameter.name or ""]
        for flag in flags:
            found[flag.lstrip("-").replace("-", "_")] = parameter
    return found


def _refuse_unknown(path: str, key: str, known: dict[str, click.Parameter]) -> None:
    """Raises for a key that is no option; one of another method is refused later, with its methods."""
    from neardup.registry import ALIASES, methods

    if any(ALIASES.get(key, key) in method.parameters for method in methods().values()):
        return
    hint = nearest_name(key, [name for name in known if name not in NAMES])
    raise InputError(f"{path}: unknown key {key!r}.{hint or ' No option has a name like it.'}")


def _as_words(path: str, key: str, value: Any, parameter: click.Parameter | None) -> list[str]:
    """One option as it would be typed."""
    flag = f"--{key.replace('_', '-')}"
    if isinstance(parameter, click.Option) and parameter.is_flag:
        if not isinstance(value, bool):
            raise InputError(f"{path}: {key} must be true or false")
        off = parameter.secondary_opts
        return [flag] if value else off[:1]
    if isinstance(value, bool):
        raise InputError(f"{path}: {key} takes a value, not {str(value).lower()}")
    if isinstance(value, list) and isinstance(parameter, click.Option) and parameter.multiple:
        return [word for one in value for word in (flag, str(one))]
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return [f"{flag}={text}"]


def config_text(path: str, context: click.Context) -> str:
    """Every option of a run: those that were given as keys, the others as comments with their defaults."""
    lines = [f"# {context.command_path} --config {Path(path).name}"]
    for parameter in context.command.get_params(context):
        name = parameter.name or ""
        if name in (*NAMES, "help", "force", "resume") or name not in context.params:
            continue
        value = context.params[name]
        usual = context.get_parameter_source(name) in (ParameterSource.DEFAULT, None)
        if isinstance(value, tuple) and isinstance(parameter, click.Option) and not parameter.multiple:
            value = "-".join(map(str, value))  # a range, as it is typed
        shown = _toml(value)
        key = _key(parameter)
        if not usual and value is not None:
            lines.append(f"{key} = {shown}")
        else:
            lines.append(f"# {key} = {shown}" if value is not None and value != () else f"# {key}")
    return "\n".join(lines) + "\n"


def save_config(path: str, text: str, force: bool) -> None:
    """Writes the file of options; one that exists is overwritten with `force` only."""
    target = Path(path)
    if target.exists() and not force:
        raise OutputError(f"{path} exists already: choose another name, or overwrite with --force")
    try:
        with whole_file(target) as aside:
            aside.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {reason(error)}") from None
    except UnicodeEncodeError:
        raise OutputError(f"{path} cannot hold a file name that is not Unicode: rename the file") from None


def _key(parameter: click.Parameter) -> str:
    flags = [flag for flag in parameter.opts if flag.startswith("--")]
    return flags[0].lstrip("-") if flags else str(parameter.name)


def _toml(value: Any) -> str:
    """A value as TOML has it; a number that was typed is a number again."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str):
        try:
            return value if repr(float(value)) == value or str(int(value)) == value else json.dumps(value)
        except ValueError:
            return json.dumps(value, ensure_ascii=False)
    return str(value)
