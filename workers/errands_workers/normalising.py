"""What a tool said, in the form in which it may be stored and sent: clean, and within its bounds. Pure."""

from __future__ import annotations

from errands_config.text import clean, fits, head_and_tail
from errands_config.wire import Outcome

MAX_ERROR_BYTES = 16_384


def normalised(outcome: Outcome, max_stored_bytes: int) -> Outcome:
    """What may be stored. JSON that is too large is text once its middle is cut out."""
    result = clean(outcome.result).text
    whole = fits(result, max_stored_bytes)
    return outcome.model_copy(
        update={
            "result": result if whole else head_and_tail(result, max_stored_bytes),
            "result_type": outcome.result_type if whole else "text",
            "error": head_and_tail(clean(outcome.error).text, MAX_ERROR_BYTES),
        }
    )
