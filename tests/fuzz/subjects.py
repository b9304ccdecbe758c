"""Every reader that is fuzzed, by name: a module of ``readers/`` and, where it has several, the attribute."""

from importlib import import_module

from tests.fuzz.check import Subject

SUBJECTS = {
    "voc_keypoints": "voc:KEYPOINTS",
    "voc_objects": "voc:OBJECTS",
    "voc_split": "voc:SPLIT_FILE",
    "willow": "willow:SUBJECT",
    "spair_pair": "spair:PAIR",
    "spair_genuine": "spair:GENUINE",
    "spair_layout": "spair:LAYOUT",
    "coco": "folder:COCO",
    "own_images": "folder:OWN",
    "pictures": "pictures:SUBJECT",
    "dd": "dd:SUBJECT",
    "run_config": "config:RUN",
    "experiment": "config:EXPERIMENT",
    "budget": "config:BUDGET",
    "pipeline_config": "config:PIPELINE",
    "predictions": "predictions:SUBJECT",
    "history": "runs:HISTORY",
    "metrics": "runs:METRICS",
    "split": "runs:SPLIT",
    "test_pairs": "runs:TEST_PAIRS",
    "model": "tensors:MODEL",
    "optimiser": "tensors:OPTIMISER",
    "weights": "tensors:WEIGHTS",
    "weights_pth": "tensors:CHECKPOINT",
    "features": "tensors:FEATURES",
    "exported_model": "models:EXPORTED",
    "points": "models:POINTS",
    "archive": "archives:SUBJECT",
    "manifest": "archives:MANIFEST",
}


def load(name: str) -> Subject:
    """A subject, imported on demand: some need torch."""
    module, _, attribute = SUBJECTS[name].partition(":")
    subject: Subject = getattr(import_module(f"tests.fuzz.readers.{module}"), attribute)
    return subject
