"""The app for Celery's own command line: `celery -A errands_workers control revoke ID`, `… inspect active`."""

from errands_config.settings import load_settings
from errands_workers.app import make_app

app = make_app(load_settings())
