"""`python -m errands_workers`: a worker without the command line of the orchestrator's side."""

from __future__ import annotations

import sys

from cyclopts import App, CycloptsError

from errands_config.errors import ConfigError, ErrandsError, StoreUnreachable
from errands_workers.worker_command import worker

_USAGE, _CONFIG, _STORE = 2, 3, 7


def main(words: list[str]) -> int:
    """Run `worker`; answers the exit code. An error is one line on stderr."""
    app = App(name="python -m errands_workers", help_format="plaintext")
    app.default(worker)
    try:
        return app(words, exit_on_error=False, print_error=False, result_action="return_value") or 0
    except CycloptsError as wrong:
        return _complain(wrong, _USAGE)
    except ConfigError as wrong:
        return _complain(wrong, _CONFIG)
    except StoreUnreachable as away:
        return _complain(away, _STORE)
    except ErrandsError as error:
        return _complain(error, 1)


def _complain(error: Exception, code: int) -> int:
    print(f"errands: {error}", file=sys.stderr)  # noqa: T201 - a command speaks on stderr
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
