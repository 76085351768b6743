"""A token bucket: so many actions a second, and a few at once."""

from ratelimit.bucket import TokenBucket

__all__ = ["TokenBucket"]
