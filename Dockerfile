# The image of every service, and with `--target anvil` that of a development chain.
#
#   docker build -t swap .
#   docker run swap python -m swap_settler        (or swap_api, swap_quoter, …, swapctl)
#
# It runs as user 10001, needs no writable file system, and is told everything by SWAP_… variables.

ARG PYTHON_IMAGE=python:3.11-slim-bookworm
ARG NODE_IMAGE=node:22-bookworm-slim
# Equal sources and bases make an equal image: nothing in it depends on when it is built. This is
# 1980-01-01, the earliest time that a wheel can store.
ARG SOURCE_DATE_EPOCH=315532800


FROM ${NODE_IMAGE} AS foundry
WORKDIR /evm
COPY evm/package.json evm/package-lock.json evm/.npmrc ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund


FROM ${PYTHON_IMAGE} AS anvil
RUN groupadd --system --gid 10001 swap \
    && useradd --system --uid 10001 --gid swap --no-create-home swap \
    && install -d -o swap -g swap -m 700 /chain
# The program itself: killing the wrapper of its package would leave the chain alive.
COPY --from=foundry /evm/node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil /usr/local/bin/anvil
COPY deploy/compose/healthy.py /healthy.py
USER 10001:10001
# Where a killed chain's half-written files would go.
ENV HOME=/chain
EXPOSE 8545
HEALTHCHECK --interval=5s --timeout=30s --start-period=300s \
    CMD ["python", "-I", "-S", "/healthy.py", "node", "8545"]
# On SIGINT it writes its state before it goes.
STOPSIGNAL SIGINT
ENTRYPOINT ["anvil", "--host", "0.0.0.0"]


# A stage of its own: as long as its file says the same, what comes after is not installed again.
FROM ${PYTHON_IMAGE} AS requirements
WORKDIR /source
COPY . .
RUN python tools/runtime_requirements.py libs/* services/* cli >/runtime.txt


FROM ${PYTHON_IMAGE} AS build
ARG SOURCE_DATE_EPOCH
ENV SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH} PYTHONHASHSEED=0 \
    PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
# Byte code without the time of its source: builders set other times in the image, and Python would
# compile again.
ENV COMPILE="python -m compileall -q --invalidation-mode unchecked-hash"
WORKDIR /source
RUN python -m venv --without-pip /opt/venv
COPY deploy/compose/build.lock ./
RUN python -m pip install --quiet --require-hashes --only-binary=:all: -r build.lock
COPY --from=requirements /runtime.txt ./
RUN python -m pip --python /opt/venv/bin/python install --quiet --no-compile \
    --require-hashes --no-deps --only-binary=:all: -r runtime.txt \
    && /opt/venv/bin/${COMPILE} /opt/venv/lib
COPY libs libs
COPY services services
COPY cli cli
COPY sdk/python sdk/python
COPY deploy/embedded deploy/embedded
RUN python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir /wheels \
    ./libs/* ./services/* ./cli ./sdk/python ./deploy/embedded \
    && python -m pip --python /opt/venv/bin/python install --quiet --no-compile \
    --no-index --no-deps /wheels/*.whl \
    && /opt/venv/bin/${COMPILE} /opt/venv/lib/python3.*/site-packages/swap*
# What is read as files: migrations, roles, contracts, the jobs of the local stack.
WORKDIR /app
RUN for service in /source/services/*; do \
    mkdir -p "services/${service##*/}" \
    && cp -r "$service/migrations" "services/${service##*/}/" || exit 1; \
    done
COPY evm/gas.json evm/gas.json
COPY evm/artifacts evm/artifacts
COPY deploy/postgres deploy/postgres
COPY deploy/compose/healthy.py deploy/compose/healthy.py
COPY deploy/compose/swap_compose deploy/compose/swap_compose
COPY deploy/k8s/swap_k8s deploy/k8s/swap_k8s
RUN /opt/venv/bin/${COMPILE} .


FROM ${PYTHON_IMAGE} AS services
ARG VERSION=unreleased
ARG REVISION=unknown
LABEL org.opencontainers.image.title="swap" \
      org.opencontainers.image.description="The services of a cross-chain swap service" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="MIT"
ARG SOURCE_DATE_EPOCH
RUN groupadd --system --gid 10001 swap \
    && useradd --system --uid 10001 --gid swap --no-create-home swap \
    && install -d -o swap -g swap -m 700 /stack /postgres-password /sandbox
COPY --from=build /opt/venv /opt/venv
COPY --from=build /app /app
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONPATH=/app/deploy/compose:/app/deploy/k8s \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
# One service per container, so all of them may listen on the same ports.
ENV SWAP_API__HOST=0.0.0.0 SWAP_API__PORT=8080 SWAP_API__INTERNAL_PORT=8081 \
    SWAP_QUOTER__HOST=0.0.0.0 SWAP_QUOTER__PORT=8080 SWAP_QUOTER__INTERNAL_PORT=8081 \
    SWAP_CHAIN_WATCHER__HOST=0.0.0.0 SWAP_CHAIN_WATCHER__INTERNAL_PORT=8081 \
    SWAP_SETTLER__HOST=0.0.0.0 SWAP_SETTLER__INTERNAL_PORT=8081 \
    SWAP_NOTIFIER__HOST=0.0.0.0 SWAP_NOTIFIER__INTERNAL_PORT=8081 \
    SWAP_DASHBOARD__HOST=0.0.0.0 SWAP_DASHBOARD__PORT=8080 SWAP_DASHBOARD__INTERNAL_PORT=8081 \
    SWAP_CONSOLE__HOST=0.0.0.0 SWAP_CONSOLE__PORT=8080 SWAP_CONSOLE__INTERNAL_PORT=8081
# Metrics, logs and traces name them: docs/deploy-and-upgrade.md.
ENV SWAP_BUILD__VERSION=${VERSION} SWAP_BUILD__REVISION=${REVISION}
WORKDIR /app
# By number: where only a number proves that it is not root, a name does not start.
USER 10001:10001
EXPOSE 8080 8081
HEALTHCHECK --interval=5s --timeout=30s --start-period=300s \
    CMD ["python", "-I", "-S", "/app/deploy/compose/healthy.py", "service", "8081"]
CMD ["python", "-c", "raise SystemExit('Name a service: python -m swap_api, swap_quoter, swap_chain_watcher, swap_settler, swap_notifier, swap_dashboard or swap_dashboard.console')"]
