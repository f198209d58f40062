package connectors

import (
	"cmp"
	"fmt"
)

// Partition names a partition of a topic.
type Partition struct {
	Topic  string
	Number int32
}

func (p Partition) String() string { return fmt.Sprintf("%s/%d", p.Topic, p.Number) }

// Compare orders partitions by topic and number.
func (p Partition) Compare(o Partition) int {
	return cmp.Or(cmp.Compare(p.Topic, o.Topic), cmp.Compare(p.Number, o.Number))
}
