# weir with everything that building, testing and running it needs, for machines that are not Debian 12:
#   docker build -t weir .
#   docker run --rm -it -p 2222:2222 weir weir server --port 2222
#   docker run --rm -it -v "$PWD":/src -w /src weir-dev scripts/test     # from --target dev
FROM debian:bookworm AS dev
COPY scripts/setup /tmp/setup
RUN /tmp/setup && rm -rf /var/lib/apt/lists/*
WORKDIR /src

FROM dev AS build
COPY . /src
RUN cmake --preset release -DWEIR_TESTS=OFF && cmake --build --preset release && \
    cmake --install build/release --prefix /opt/weir

FROM debian:bookworm-slim
# What the installed program and library load.
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
      libgrpc++1.51 libprotobuf32 libabsl20220623 libsnappy1v5 libre2-9 libpng16-16 libjpeg62-turbo libgif7 libwebp7 \
      libwebpdemux2 libgomp1 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/weir /usr/local
RUN ldconfig
CMD ["weir", "--help"]
