# motley on Debian 12, built and installed; a container runs the demo.
#
#   docker build -t motley .
#   docker run --rm motley                                   # the demo
#   docker run --rm -v "$PWD:/jobs" -w /jobs motley motley simulate job.toml
FROM debian:12

WORKDIR /motley
# By itself, so that a change of the sources does not install everything again.
COPY scripts/install-deps scripts/
RUN scripts/install-deps --demo && rm -rf /var/lib/apt/lists/*

COPY . .
RUN cmake --preset demo && cmake --build --preset demo && cmake --install build && ldconfig

CMD ["scripts/demo"]
