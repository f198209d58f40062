// Package kafkatest tests the program with a real Apache Kafka: brokers are killed, the
// network is interrupted, the program is killed, frozen and runs out of disk space, and
// the release is then checked record by record. The program runs as a process, with its
// command line and configuration; none of its code is linked.
//
// brokers starts and kills brokers, faultproxy is between them and the program, survey
// makes the records and checks the release, process runs the program. The tests are
// here, one file for each kind of fault.
//
// It is a separate module so that its dependencies are not the program's.
// scripts/test-kafka.sh sets what the tests need:
//
//	KAFKA_LIBS         the folder of Kafka's jars; without it the tests skip
//	SDLFILTER_BINARY   the program
//	FULL               1: the long form, 200,000 records and ten times the faults
//	KAFKATEST_PYTHON   a Python with confluent-kafka: librdkafka counts as well
//	KAFKATEST_KEEP     a folder in which configurations and logs stay, with --verbose
package kafkatest
