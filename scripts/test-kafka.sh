#!/usr/bin/env bash
# The program against a real Apache Kafka, on loopback, with faults: see verify/kafkatest/.
#
#   scripts/test-kafka.sh          the short form: 20,000 records, a few faults (minutes)
#   FULL=1 scripts/test-kafka.sh   the full form: 200,000 records, ten times the faults,
#                                  and librdkafka counts as well (about an hour)
#   scripts/test-kafka.sh -run TestOneBroker/Killed   arguments go to go test
#
# It needs Java and Maven (Debian's packages are installed where they are missing)
# and, for the full form, Python with venv. Everything it starts it ends.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache/kafka
KAFKA_LIBS=$(scripts/kafka.sh install)
export KAFKA_LIBS CGO_ENABLED=0 SDLFILTER_BINARY=$cache/sdlfilter
go build -o "$SDLFILTER_BINARY" ./cmd/sdlfilter

parallel=4 timeout=15m
if [[ ${FULL:-} == 1 ]]; then
  parallel=1 timeout=3h
  KAFKATEST_PYTHON=$(scripts/venv.sh "$cache/venv" confluent-kafka==2.16.1)
  export KAFKATEST_PYTHON
fi
cd verify/kafkatest
exec go test -count=1 -parallel "$parallel" -timeout "$timeout" -v "$@" ./...
