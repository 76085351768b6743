# Two images from one file: `worker` has what a worker needs, `orchestrator` adds the model client, `flower` adds Flower.
FROM python:3.13-slim AS worker
RUN pip install --no-cache-dir uv && useradd --create-home errands
WORKDIR /srv/errands
COPY pyproject.toml requirements.lock README.md LICENSE ./
COPY config config
COPY workers workers
COPY orchestrator orchestrator
RUN uv pip install --system --no-cache --constraint requirements.lock .
USER errands
ENV ERRANDS_HOME=/home/errands/.errands
ENTRYPOINT ["errands"]

FROM worker AS orchestrator
USER root
RUN uv pip install --system --no-cache --constraint requirements.lock ".[orchestrator]"
USER errands

FROM worker AS flower
USER root
RUN uv pip install --system --no-cache --constraint requirements.lock ".[flower]"
USER errands
