"""Counts a release with librdkafka, as a client that shares no code with the
program or with the tests: every record once, in its partition and in order.

    count.py '{"brokers": [...], "topic": ..., "counts": [...], "without": {...}, "repeated": false}'
"""
import json
import sys
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition


def main() -> int:
    want = json.loads(sys.argv[1])
    consumer = Consumer({
        "bootstrap.servers": ",".join(want["brokers"]),
        "group.id": "count",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
        "enable.partition.eof": True,
    })
    parts = range(len(want["counts"]))
    consumer.assign([TopicPartition(want["topic"], p, 0) for p in parts])
    seen = [dict() for _ in parts]
    last = [-1 for _ in parts]
    repeated, ended = 0, set()
    deadline = time.monotonic() + 120
    while len(ended) < len(seen):
        if time.monotonic() > deadline:
            print("not read to the end within 120 s")
            return 1
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error():
            if message.error().code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition())
                continue
            raise KafkaException(message.error())
        record = json.loads(message.value())
        partition, offset = (int(x) for x in record["id"].split("-"))
        if partition != message.partition():
            print(f"{record['id']} is in partition {message.partition()}")
            return 1
        values = (record["wage"], record["hours"])
        if offset in seen[partition]:
            repeated += 1
            if seen[partition][offset] != values:
                print(f"{record['id']} came twice with different values")
                return 1
            continue
        if offset < last[partition]:
            print(f"{record['id']} is out of order")
            return 1
        seen[partition][offset] = values
        last[partition] = offset
    consumer.close()
    without = want["without"] or {}
    for partition, count in enumerate(want["counts"]):
        expected = {o for o in range(count) if f"{partition}-{o:08d}" not in without}
        if set(seen[partition]) != expected:
            print(f"partition {partition}: {len(seen[partition])} records, want {len(expected)}")
            return 1
    if repeated and not want["repeated"]:
        print(f"{repeated} records came more than once")
        return 1
    print(f"{sum(len(s) for s in seen)} records, {repeated} repeated")
    return 0


if __name__ == "__main__":
    sys.exit(main())
