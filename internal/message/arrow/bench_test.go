package arrow

import (
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/message"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// BenchmarkMessages decodes and encodes 4096 records in messages of 256.
func BenchmarkMessages(b *testing.B) {
	r := newTestReader(b, message.Request{Columns: listed}, fields...)
	layout := layoutOf(r.Schema(), true)
	d, err := r.Decoder(layout, true)
	if err != nil {
		b.Fatal(err)
	}
	w, err := (&Config{}).Writer(b.Context(), message.WriteRequest{Layout: layout, Reader: r})
	if err != nil {
		b.Fatal(err)
	}
	var values [][]byte
	for i := range 16 {
		values = append(values, value(b, survey(b, 256*i, 256*i+256)))
	}
	run := runOf(values...)
	var block microdata.Block
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Decode(b.Context(), &block, run); err != nil {
			b.Fatal(err)
		}
		block.Columns[0].Mutable()
		if _, err := w.Encode(b.Context(), &block); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/record")
}
