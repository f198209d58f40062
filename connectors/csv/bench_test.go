package csv

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// microdataCSV makes n records of eight fields, like those of the end-to-end benchmark: four
// numbers with decimals, two integers, two short strings.
func microdataCSV(n int, quotes bool) []byte {
	rng := rand.New(rand.NewPCG(5, 6))
	regions := []string{"north", "east", "south", "west"}
	var b bytes.Buffer
	b.WriteString("id,income,wage,age,weight,region,sector,height\n")
	for i := range n {
		region := regions[rng.IntN(4)]
		if quotes {
			region = `"` + region + `"`
		}
		fmt.Fprintf(&b, "%d,%.2f,%.2f,%d,%.4f,%s,s%d,%.1f\n", i, rng.ExpFloat64()*30000, rng.NormFloat64()*200+600,
			rng.IntN(80)+18, rng.Float64()*3, region, rng.IntN(20), rng.NormFloat64()*10+170)
	}
	return b.Bytes()
}

// layoutOf masks the named columns and carries the others.
func layoutOf(s *microdata.Schema, masked ...string) *microdata.Layout {
	l := &microdata.Layout{Schema: s}
	for i, f := range s.Fields {
		o := microdata.Output{Field: f, Source: i, Column: -1, Decimals: 2}
		for _, m := range masked {
			if f.Name == m {
				o.Masked, o.Column = true, len(l.Read)
				l.Read = append(l.Read, microdata.Want{Field: i, As: microdata.Numbers})
			}
		}
		l.Release = append(l.Release, o)
	}
	return l
}

func benchmarkFile(b *testing.B, quotes bool) (string, int64) {
	data := microdataCSV(200_000, quotes)
	path := filepath.Join(b.TempDir(), "in.csv")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		b.Fatal(err)
	}
	return path, int64(len(data))
}

// cpu measures processor time until the returned function is called, and reports it in MB/s. Unlike
// wall time, it is meaningful on a busy machine.
func cpu(b *testing.B, size int64) func() {
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	start := used()
	return func() {
		b.ReportMetric(float64(size)*float64(b.N)/1e6/(float64(used()-start)/1e9), "MB/cpu-s")
	}
}

// One goroutine: read, decode two columns, encode.
func BenchmarkCarry(b *testing.B) {
	for _, quotes := range []bool{false, true} {
		b.Run(fmt.Sprintf("quotes=%v", quotes), func(b *testing.B) {
			path, size := benchmarkFile(b, quotes)
			ctx := context.Background()
			src, err := (&SourceConfig{Path: path}).Open(ctx)
			if err != nil {
				b.Fatal(err)
			}
			defer src.Close()
			layout := layoutOf(src.Schema(), "income", "wage")
			snk,
				err := (&SinkConfig{Path: filepath.Join(b.TempDir(), "out.csv")}).Create(ctx,
				connectors.Plan{Source: src, Layout: layout})
			if err != nil {
				b.Fatal(err)
			}
			defer snk.Abort()
			b.SetBytes(size)
			b.ReportAllocs()
			defer cpu(b, size)()
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
					for i := range blk.Columns {
						for k, x := range blk.Columns[i].Mutable().Values {
							blk.Columns[i].Released.Values[k] = float64(int64(x*100+150)) / 100
						}
					}
					e, err := snk.Encode(&blk)
					if err != nil {
						b.Fatal(err)
					}
					encodedPool.Put(e)
				}
				r.Close()
			}
		})
	}
}

// Detection of the types, on all cores.
func BenchmarkOpen(b *testing.B) {
	path, size := benchmarkFile(b, false)
	b.SetBytes(size)
	defer cpu(b, size)()
	for b.Loop() {
		src, err := (&SourceConfig{Path: path}).Open(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		src.Close()
	}
}
