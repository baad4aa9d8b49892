"""The exception that means "your input", never "our bug"."""


class InputError(ValueError):
    """What came, what was expected and what to do, in one message.

    The command line prints it as a single line; anything else that escapes is a bug and keeps its traceback.

    Examples
    --------
    >>> from trackless import InputError
    >>> issubclass(InputError, ValueError)
    True
    """


class TimeStepNeeded(InputError):
    """The file counts frames or steps, and nobody has said how long one is; ``counted`` is the word for one."""

    def __init__(self, message: str, counted: str = "frame") -> None:
        super().__init__(message)
        self.counted = counted


class TimeStepRefused(InputError):
    """A time between frames was given for a file that has times of its own; ``compared`` says whether with these."""

    def __init__(self, message: str, compared: bool = True) -> None:
        super().__init__(message)
        self.compared = compared


class NotAResult(InputError):
    """The file is none that a fit was saved to."""
