package arrow

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Every value is rejected or released, without a panic, and every released value can be read.
func FuzzMessage(f *testing.F) {
	b := survey(f, 0, 3)
	f.Add(value(f, b), true)
	f.Add(value(f, b, survey(f, 3, 4)), false)
	f.Add(valueOf(f, b.Schema(), []arrow.RecordBatch{b}, ipc.WithZstd()), true)
	f.Add(valueOf(f, b.Schema(), []arrow.RecordBatch{b}, ipc.WithLZ4()), false)
	f.Add(valueOf(f, b.Schema(), nil), true)
	path := schemaFile(f, fields...)
	f.Fuzz(func(t *testing.T, p []byte, carry bool) {
		r, err := (&Config{Schema: path}).Reader(t.Context(), message.Request{Columns: listed})
		if err != nil {
			t.Fatal(err)
		}
		layout := layoutOf(r.Schema(), carry)
		d, err := r.Decoder(layout, carry)
		if err != nil {
			t.Fatal(err)
		}
		w, err := (&Config{}).Writer(t.Context(), message.WriteRequest{Layout: layout, Reader: r})
		if err != nil {
			t.Fatal(err)
		}
		var b microdata.Block
		var u *message.UnlistedError
		if err := d.Decode(t.Context(), &b, runOf(p)); errors.As(err, &u) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		out, err := w.Encode(t.Context(), &b)
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for _, v := range out.Values {
			_, lines := rowsOf(t, v)
			rows += len(lines)
		}
		if rows != b.Kept() {
			t.Errorf("%d records were released of %d", rows, b.Kept())
		}
	})
}

// A few bytes are changed at random, often enough to produce metadata whose vectors claim gigabytes.
func TestMutations(t *testing.T) {
	r := newTestReader(t, message.Request{Columns: listed, DropUnlisted: true}, fields...)
	layout := layoutOf(r.Schema(), true)
	d, err := r.Decoder(layout, true)
	if err != nil {
		t.Fatal(err)
	}
	w, err := (&Config{}).Writer(t.Context(), message.WriteRequest{Layout: layout, Reader: r})
	if err != nil {
		t.Fatal(err)
	}
	seed := value(t, survey(t, 0, 3))
	random := rand.New(rand.NewPCG(1, 2))
	var b microdata.Block
	for range 20000 {
		p := slices.Clone(seed)
		for range 1 + random.IntN(4) {
			p[random.IntN(len(p))] = byte(random.IntN(256))
		}
		if err := d.Decode(t.Context(), &b, runOf(p)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Encode(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
}
