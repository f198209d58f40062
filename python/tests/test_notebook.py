import pathlib
import shutil

import nbclient
import nbformat

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_tour_runs(work):
    """Every cell runs, and what it shows of the data is public."""
    shutil.copytree(ROOT / "examples", work / "examples")
    (work / "out").mkdir()
    shutil.copy(work / "test.key", work / "out" / "demo.key")
    notebook = nbformat.read(ROOT / "python" / "notebooks" / "tour.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "it is kept without outputs"
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(work)}}).execute()
    shown = [str(output) for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("<iframe" in text for text in shown)
    assert any("the gate refused the release" in text for text in shown)
    assert not any("18777.2" in text for text in shown), "the largest wage"
