"""The exercises of the notebooks: each checks itself, and waits while it is not answered."""

__all__ = ["check"]


def check(answer, holds, hint=""):
    """Say whether an answer is right.

    Parameters
    ----------
    answer : object
        What the reader wrote; ``...`` where nothing was written yet.
    holds : callable
        Whether an answer is right.
    hint : str
        What to think of next, for an answer that is not.
    """
    if answer is ...:
        print("Not answered yet: put your answer where the dots are, and run the cell again.")
        return
    try:
        right = bool(holds(answer))
    except Exception as error:
        print(f"Not yet: the check could not use {answer!r} ({type(error).__name__}: {error}).")
        return
    print("Right!" if right else f"Not yet: {answer!r} is not it. {hint}".rstrip())
