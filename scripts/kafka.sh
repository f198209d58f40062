#!/usr/bin/env bash
# A real Apache Kafka on loopback, in KRaft mode, for tests and measurements.
#
#   scripts/kafka.sh install    brings Kafka into .cache/kafka, prints the folder of its jars
#   scripts/kafka.sh start N    starts 1 or 3 brokers, prints their addresses
#   scripts/kafka.sh stop       ends what start started, and removes its data
#
# KAFKA_VERSION picks another version, KAFKA_HEAP another heap (default 512m).
set -euo pipefail
cd "$(dirname "$0")/.."
version=${KAFKA_VERSION:-4.2.1}
cache=$PWD/.cache/kafka
libs=$cache/$version/libs

need() { # need COMMAND PACKAGE ...
  local command=$1
  shift
  command -v "$command" >/dev/null && return
  local sudo=
  [[ $(id -u) == 0 ]] || sudo=sudo
  $sudo apt-get update -q >&2 && $sudo apt-get install -qy --no-install-recommends "$@" >&2
}

install() {
  need java default-jre-headless
  [[ -e $cache/$version/installed ]] && return
  need mvn maven
  mkdir -p "$cache/$version"
  # What starts with connect- would bring Jetty and Jersey, which a broker does
  # not use; log4j-slf4j-impl is what makes a broker log at all.
  cat >"$cache/$version/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>sdlfilter</groupId>
  <artifactId>kafka-for-tests</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>$version</version>
    </dependency>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka-tools</artifactId>
      <version>$version</version>
      <exclusions>
        <exclusion>
          <groupId>org.apache.kafka</groupId>
          <artifactId>connect-runtime</artifactId>
        </exclusion>
      </exclusions>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>log4j-slf4j-impl</artifactId>
      <version>2.25.4</version>
    </dependency>
  </dependencies>
</project>
POM
  rm -rf "$libs"
  mvn -q -B -f "$cache/$version/pom.xml" \
    org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$libs" >&2
  touch "$cache/$version/installed"
}

# Starting is the harness's own code (verify/kafkatest/brokers), so that tests and this
# script cannot come to differ in a broker's settings.
brokers() { (cd verify/kafkatest && CGO_ENABLED=0 go run ./cmd/brokers -state "$cache/running.json" "$@"); }

case ${1:-} in
  install)
    install
    echo "$libs"
    ;;
  start)
    install
    brokers -libs "$libs" -heap "${KAFKA_HEAP:-512m}" start "${2:-1}"
    ;;
  stop) brokers stop ;;
  *)
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
