"""tools/mutate.py: it makes the mistakes that it says, and leaves alone what no test can see."""

import ast
import importlib.util
from pathlib import Path

PATH = Path(__file__).parents[1] / "tools" / "mutate.py"
SPEC = importlib.util.spec_from_file_location("mutate", PATH)
mutate = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(mutate)

SOURCE = '''
@frozen(True)
def f(x: "Literal[3]" = 2.0) -> int:
    """Compare with 7."""
    if not x > 3 and x:
        raise ValueError(f"{x + 1}")
    return x - 1
'''


def test_every_small_mistake_is_made_once():
    found = {
        words.partition(":")[0]: ast.unparse(tree) for _, words, tree in mutate.mutants(ast.parse(SOURCE))
    }
    assert "x: 'Literal[3]'=3.1" in found["constant changed"]
    assert "if not x >= 3 and x" in found["comparison flipped"]
    assert "not not x > 3" in found["not dropped"]
    assert len(list(mutate.mutants(ast.parse(SOURCE)))) == 7
    assert all("frozen(True)" in text and "x + 1" in text for text in found.values())
