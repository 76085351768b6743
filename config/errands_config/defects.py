"""What a log may say of an unexpected error: never its text, which may quote arguments, results or secrets."""

from __future__ import annotations


def where_raised(error: BaseException) -> str:
    """File and line where an error was raised; empty if it was not raised."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
