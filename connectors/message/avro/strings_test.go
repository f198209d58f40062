package avro

import (
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func newStrings() *array.StringBuilder { return array.NewStringBuilder(memory.DefaultAllocator) }
