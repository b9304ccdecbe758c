"""What other programs hand over, and what to do with it."""


def why_not_an_array(name: str, value: object, reason: str) -> str:
    """The message about an argument that numpy cannot read.

    Args:
        name: of the argument.
        value: what was given. A tensor of PyTorch gets all of its obstacles named, and the calls that remove them.
        reason: what numpy says.
    """
    faults, calls = _obstacles(value)
    if not faults:
        return f"{name} is not an array ({reason})"
    what = f"{name} is a tensor that {' and '.join(faults)}, which numpy cannot read: give {name}{''.join(calls)}"
    return what + (" (the solver passes no gradient on)" if ".detach()" in calls else "")


def _obstacles(value: object) -> tuple[list[str], list[str]]:
    """Why a tensor is not readable, and how to make it so. PyTorch is not imported: it may not be installed."""
    if type(value).__module__.partition(".")[0] != "torch" or not hasattr(value, "requires_grad"):
        return [], []
    faults, calls = [], []
    if value.requires_grad:
        faults.append("needs a gradient")
        calls.append(".detach()")
    if not str(getattr(value, "layout", "")).endswith("strided"):
        faults.append(f"has the layout {getattr(value, 'layout', '?')}")
        calls.append(".to_dense()")
    device = str(getattr(value, "device", "cpu"))
    if device != "cpu":
        faults.append(f"is on the device {device}")
        calls.append(".cpu()")
    dtype = str(getattr(value, "dtype", ""))
    if "bfloat16" in dtype or "float8" in dtype:
        faults.append(f"has the type {dtype}")
        calls.append(".float()")
    return faults, calls
