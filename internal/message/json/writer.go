package json

import (
	"context"
	"sync"

	"github.com/sdlfilter/sdlfilter/internal/members"
	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/microdata"
)

type writer struct {
	members *members.Writer
	carries bool
}

// Carries implements message.Writer.
func (w *writer) Carries() bool { return w.carries }

var cellsPool = sync.Pool{New: func() any { return new(members.Cells) }}

// Encode implements message.Writer. All values share one piece of memory.
func (w *writer) Encode(ctx context.Context, b *microdata.Block) (message.Released, error) {
	if err := ctx.Err(); err != nil {
		return message.Released{}, err
	}
	c := cellsPool.Get().(*members.Cells)
	defer cellsPool.Put(c)
	if err := w.members.Fill(c, b); err != nil {
		return message.Released{}, err
	}
	kept := b.Kept()
	out := message.Released{Values: make([][]byte, 0, kept), Source: make([]int32, 0, kept)}
	if kept == 0 {
		return out, nil
	}
	buf := make([]byte, 0, w.members.Size(c, b))
	for r := range b.N {
		if b.Rejected(r) {
			continue
		}
		from := len(buf)
		buf = w.members.Append(buf, c, r)
		// If buf has been reallocated, earlier values remain in the old memory.
		out.Values = append(out.Values, buf[from:len(buf):len(buf)])
		out.Source = append(out.Source, int32(r))
	}
	return out, nil
}
