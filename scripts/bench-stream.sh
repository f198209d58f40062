#!/usr/bin/env bash
# Measures the program on streams, and prints Markdown for docs/performance.md:
# on a real broker beside a bare copy in transactions, on kfake, from file to
# file, and the latency. Arguments go to verify/kafkatest/cmd/streambench:
#
#   scripts/bench-stream.sh -records 1000000 -runs 3 -only copy,latency
#
# It needs what scripts/test-kafka.sh needs, about 2 GB of disk, and a machine
# that does nothing else. What it starts it ends.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache/kafka
export CGO_ENABLED=0
go build -o "$cache/sdlfilter" ./cmd/sdlfilter
(cd verify/kafkatest && go build -o "$cache/" ./cmd/barecopy ./cmd/fakebroker ./cmd/streambench)
trap 'scripts/kafka.sh stop' EXIT
brokers=$(KAFKA_HEAP=${KAFKA_HEAP:-1g} scripts/kafka.sh start 1)
"$cache/streambench" -brokers "$brokers" -filter "$cache/sdlfilter" -copy "$cache/barecopy" -fake "$cache/fakebroker" "$@"
