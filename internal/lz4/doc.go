// Package lz4 makes LZ4 frames of batches of messages and takes them apart, each in one piece of
// memory. Kafka's batches have a checksum of their own. So frames get no other one, and that
// of frames of others is not compared, as in Kafka's own clients.
package lz4
