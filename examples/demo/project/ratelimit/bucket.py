"""The bucket."""

import time
from collections.abc import Callable


class TokenBucket:
    """Holds up to `burst` tokens and gains `rate` of them a second; an action takes one."""

    def __init__(
        self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError("rate must be positive and burst at least 1")
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._tokens = float(burst)
        self._looked = clock()

    def take(self) -> bool:
        """Take a token if there is one."""
        self._refill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def wait(self, timeout: float) -> bool:
        """Take a token as soon as there is one; False if there is none for `timeout` seconds."""
        give_up = self._clock() + timeout
        while not self.take():
            missing = (1 - self._tokens) / self._rate
            if self._clock() + missing > give_up:
                return False
            time.sleep(missing)
        return True

    def _refill(self) -> None:
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._looked) * self._rate)
        self._looked = now
