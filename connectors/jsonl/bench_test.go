package jsonl

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func benchmarkFile(b *testing.B) (string, int64) {
	rng := rand.New(rand.NewPCG(5, 6))
	var data bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintf(&data,
			`{"id":%d,"name":"respondent %d","person":{"income":%.2f,"age":%d},"wage":%.2f,"region":"r%d","weight":%.4f,"tags":["a","b"]}`+"\n",
			i, i, rng.ExpFloat64()*30000, rng.IntN(80)+18, rng.NormFloat64()*200+600, rng.IntN(4), rng.Float64()*3)
	}
	path := filepath.Join(b.TempDir(), "in.jsonl")
	if err := os.WriteFile(path, data.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	return path, int64(data.Len())
}

// One goroutine: read, decode two members, drop one, encode.
func BenchmarkCarry(b *testing.B) {
	path, size := benchmarkFile(b)
	ctx := context.Background()
	src, err := (&SourceConfig{Path: path}).Open(ctx)
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	to := &SinkConfig{Path: filepath.Join(b.TempDir(), "out.jsonl")}
	j := job{mask: []string{"person.income", "wage"},
		release: []string{"id", "person.income", "person.age", "wage", "region", "weight", "tags"}}
	layout := j.layout(src, to)
	snk, err := to.Create(ctx, connectors.Plan{Source: src, Layout: layout})
	if err != nil {
		b.Fatal(err)
	}
	defer snk.Abort()
	b.SetBytes(size)
	b.ReportAllocs()
	var blk microdata.Block
	for b.Loop() {
		r, err := src.Read(ctx, layout, connectors.Cut{})
		if err != nil {
			b.Fatal(err)
		}
		for {
			raw, err := r.Next(ctx)
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			if err := raw.Decode(&blk); err != nil {
				b.Fatal(err)
			}
			j.apply(&blk, layout)
			e, err := snk.Encode(&blk)
			if err != nil {
				b.Fatal(err)
			}
			encodedPool.Put(e)
		}
		r.Close()
	}
}

// Detection of the columns and their types, on all cores.
func BenchmarkOpen(b *testing.B) {
	path, size := benchmarkFile(b)
	b.SetBytes(size)
	for b.Loop() {
		src, err := (&SourceConfig{Path: path}).Open(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		src.Close()
	}
}
