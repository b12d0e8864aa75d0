# One image with the four programs of Yardmaster; the pod's command says which one runs.
#
#   docker build -t yardmaster:dev .          or, without a daemon: make image
#   hack/image --programs build/release       with programs that are built already, in half a minute
#
# BASE_IMAGE is any Debian 12. JOBS bounds the parallel compilers: each takes up to 1 GiB.
ARG BASE_IMAGE=debian:bookworm-slim

FROM ${BASE_IMAGE} AS build
ARG JOBS=2
ENV DEBIAN_FRONTEND=noninteractive
WORKDIR /src
COPY hack/setup hack/setup
# The same packages as on a developer's machine; hack/setup has the one list of them.
RUN eval "$(sed -n '/^build_packages=(/,/^)/{s/^build_packages=(/packages="/;s/^)/"/;s/#.*//;p}' hack/setup)" && \
    apt-get update -qq && \
    apt-get install --quiet --yes --no-install-recommends $packages && \
    rm -rf /var/lib/apt/lists/*
COPY CMakeLists.txt CMakePresets.json ./
COPY cmake cmake
COPY pkg pkg
COPY simulation simulation
COPY cmd cmd
COPY crds crds
COPY ui/dist ui/dist
ARG REVISION=""
RUN cmake --preset release --log-level=WARNING && \
    YARDMASTER_COMMIT=${REVISION} cmake --build build/release -j ${JOBS} \
      --target yardmaster-extender yardmaster-operator yardmaster-agent kubectl-yardmaster \
      yardmaster-verbs yardmaster-socket
COPY hack/image-tree hack/image-tree
RUN hack/image-tree build/release /out

# What hack/image --programs replaces.
FROM build AS programs

FROM ${BASE_IMAGE}
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG CREATED=unknown
LABEL org.opencontainers.image.title="Yardmaster" \
      org.opencontainers.image.description="Places training jobs on HPN-like fabrics, ranks their traffic and plans its paths." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
COPY --from=programs /out/packages /tmp/packages
# What apt leaves behind says when it ran, and differs from build to build.
RUN export DEBIAN_FRONTEND=noninteractive && \
    apt-get update -qq && \
    xargs apt-get install --quiet --yes --no-install-recommends ca-certificates < /tmp/packages && \
    rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/cache/ldconfig/aux-cache \
      /var/lib/dpkg/*-old /var/log/* /tmp/*
COPY --from=programs /out/bin/ /usr/local/bin/
# The libraries that training pods load, and the names by which older NCCL finds the first.
COPY --from=programs /out/lib/yardmaster/ /usr/local/lib/yardmaster/
COPY crds/ /usr/local/share/yardmaster/crds/
# The agent's pod asks for root, to write below the host's /run; the other processes do not need it.
USER 65532:65532
CMD ["kubectl-yardmaster", "--help"]
