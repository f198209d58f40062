package arrowipc

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// maxSchema is the greatest size of a serialised schema: enough for a hundred thousand
// columns of over a hundred bytes each.
const maxSchema = 16 << 20

// ErrSchemaBound is the error of a schema that is larger than real schemas, and would take
// too much memory.
var ErrSchemaBound = fmt.Errorf(
	"a schema of more than %d MB, or whose fields share texts that together have more than %d times its length",
	maxSchema>>20, sharing)

// ReadSchema reads the schema at the start of a stream, as Parquet files keep it
// in their metadata (ARROW:schema), without trusting it.
func ReadSchema(stream []byte) (s *arrow.Schema, err error) {
	defer func() {
		if recover() != nil {
			s, err = nil, errFlat
		}
	}()
	if len(stream) > maxSchema {
		return nil, ErrSchemaBound
	}
	m := &messages{r: bytes.NewReader(stream)}
	meta, _, err := m.next()
	if err != nil {
		return nil, err
	}
	if ipc.NewMessage(memory.NewBufferBytes(meta), memory.NewBufferBytes(nil)).Type() != ipc.MessageSchema {
		return nil, errors.New("does not begin with a schema")
	}
	r,
		err := ipc.NewReaderFromMessageReader(
		&replay{[]*ipc.Message{ipc.NewMessage(memory.NewBufferBytes(meta), memory.NewBufferBytes(nil))}})
	if err != nil {
		return nil, errFlat
	}
	defer r.Release()
	return r.Schema(), nil
}
