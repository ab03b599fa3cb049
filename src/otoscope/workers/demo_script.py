"""Use the functions of a script that has no other way in: paths are written into it, and it ends by running a demo."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def load_demo(script: Path, **constants: str) -> dict[str, Any]:
    """Run a script up to its last function, and return its global names.

    Args:
        script: the script.
        constants: values for names that the script gives a constant at its top level, such as the path of the weights.

    Raises:
        ValueError: the script does not set one of the names; it is not the version that was expected.
    """
    tree = ast.parse(script.read_text("utf-8"))
    last = max(number for number, node in enumerate(tree.body) if isinstance(node, ast.FunctionDef))
    del tree.body[last + 1 :]
    missing = set(constants)
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.Assign) and isinstance(target, ast.Name) and target.id in constants:
            node.value = ast.copy_location(ast.Constant(constants[target.id]), node.value)
            missing.discard(target.id)
    if missing:
        raise ValueError(
            f"{script} does not set {', '.join(sorted(missing))}; check out the commit that the worker names"
        )
    names: dict[str, Any] = {"__name__": script.stem, "__file__": str(script)}
    exec(compile(tree, str(script), "exec"), names)  # noqa: S102 - the authors' own program, which the user installed
    return names


def decode_greedily(names: dict[str, Any]) -> None:
    """Make each ``GenerationConfig`` that the script's functions build one that takes the likeliest token."""
    config = names["GenerationConfig"]
    names["GenerationConfig"] = lambda **fields: config(**{**fields, "do_sample": False})
