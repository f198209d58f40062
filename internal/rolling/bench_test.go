package rolling

import (
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors/parquet"
)

// BenchmarkWrite encodes and writes blocks of 1000 records with a number and a text, like the polls
// of a topic.
func BenchmarkWrite(b *testing.B) {
	f, err := New(&parquet.SinkConfig{Path: b.TempDir()}, layout(), nil)
	if err != nil {
		b.Fatal(err)
	}
	const n = 1000
	blk := block(0, n-1)
	b.ReportAllocs()
	at := int64(0)
	for b.Loop() {
		e, err := f.Encode(blk)
		if err != nil {
			b.Fatal(err)
		}
		if err := f.Write(b.Context(), "survey", 0, at, at+n-1, e); err != nil {
			b.Fatal(err)
		}
		at += n
		if f.Due() {
			m, err := f.Finish(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if err := f.Publish(m); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(at), "ns/record")
	if err := f.Abort(); err != nil {
		b.Fatal(err)
	}
}
