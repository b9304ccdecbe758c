"""Trained models as single files, which work without the run's folder: exported, described and loaded again.

`file` is the format, `export` makes a file of a finished run, `card` writes its model card, `load` loads a model from a
file, the folder of a run, or the one in ``shipped/``. May import `bbgm.runs` and everything below it.
"""

from bbgm.models.export import export_run
from bbgm.models.file import ModelInfo, read_info, read_model_file, write_model_file
from bbgm.models.load import SHIPPED, LoadedModel, evaluate_model, load_model

__all__ = [
    "SHIPPED",
    "LoadedModel",
    "ModelInfo",
    "evaluate_model",
    "export_run",
    "load_model",
    "read_info",
    "read_model_file",
    "write_model_file",
]
