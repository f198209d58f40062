package kafka

import "github.com/sdlfilter/sdlfilter/connectors"

// Partition names a partition of a topic.
type Partition = connectors.Partition

func comparePartitions(a, b Partition) int { return a.Compare(b) }
