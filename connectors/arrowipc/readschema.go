package arrowipc

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// maxSchema is the most bytes that a serialised schema may have: some hundred
// bytes a column, for a hundred thousand columns.
const maxSchema = 16 << 20

// ErrSchemaBound is the error of a schema that claims more than a schema can
// have, and would take the memory to match.
var ErrSchemaBound = fmt.Errorf("a schema of more than %d MB, or whose fields share texts that together have more than %d times its length", maxSchema>>20, sharing)

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
	r, err := ipc.NewReaderFromMessageReader(&replay{[]*ipc.Message{ipc.NewMessage(memory.NewBufferBytes(meta), memory.NewBufferBytes(nil))}})
	if err != nil {
		return nil, errFlat
	}
	defer r.Release()
	return r.Schema(), nil
}
