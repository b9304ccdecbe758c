# The packages of requirements.lock, the compiled solver and the checkout:
#   docker build --tag bbgm .
#   docker run --rm --volume bbgm-results:/bbgm/results bbgm               # what `make` does
#   docker run --rm bbgm bbgm plan --budget demo                           # any command
FROM python:3.11-slim-bookworm

SHELL ["/bin/bash", "-o", "pipefail", "-c"]

# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --no-install-recommends --yes g++ git make procps \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 bbgm \
    && install --directory --owner=bbgm /bbgm /bbgm/results

USER 1000
WORKDIR /bbgm
ENV PATH="/bbgm/.venv/bin:$PATH" BBGM_ROOT=/bbgm

# Packages first: the layer of 6 GB is made again only if the lock has changed. `make setup` finds them installed.
COPY --chown=1000 requirements.lock ./
RUN python -m venv .venv && pip install --no-cache-dir --require-hashes --requirement requirements.lock

COPY --chown=1000 . .
RUN make setup

CMD ["make"]
