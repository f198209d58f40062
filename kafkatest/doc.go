// Package kafkatest holds the program against a real Apache Kafka: brokers are
// killed, the network is cut, the program is killed, frozen and starved of disk,
// and what it released is then counted record by record. The program is driven
// as a process, by its command line and configuration; nothing of it is linked.
//
// brokers starts and kills brokers, faultproxy stands between them and the
// program, survey makes the records and counts what came out of them, process
// runs the program. The tests themselves are here, one file a kind of fault.
//
// It is a module of its own so that its dependencies are not the program's.
// scripts/test-kafka.sh sets what the tests need:
//
//	KAFKA_LIBS         the folder of Kafka's jars; without it the tests skip
//	SDLFILTER_BINARY   the program
//	FULL               1: the long form, 200,000 records and ten times the faults
//	KAFKATEST_PYTHON   a Python with confluent-kafka: librdkafka counts as well
//	KAFKATEST_KEEP     a folder in which configurations and logs stay, with --verbose
package kafkatest
