package json

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/message"
)

const blockSize = 4096

// benchmarkRun is a run of messages of about 150 bytes and 8 fields.
func benchmarkRun() (*message.Run, int64) {
	rng := rand.New(rand.NewPCG(7, 8))
	run := &message.Run{Scope: "survey", Stream: 1}
	size := int64(0)
	for i := range blockSize {
		v := fmt.Appendf(nil,
			`{"id":"r-%08d","name":"respondent %d","income":%.2f,"wage":%.2f,"age":%d,"region":"region-%d","weight":%.4f,"interviewed":"2024-03-%02d"}`,
			i, i, rng.ExpFloat64()*30000, rng.Float64()*200+600, rng.IntN(80)+18, rng.IntN(9), rng.Float64()*3, rng.IntN(28)+1)
		run.Offsets, run.Values = append(run.Offsets, int64(i)), append(run.Values, v)
		size += int64(len(v))
	}
	return run, size
}

func benchmarkJob() job {
	return job{columns: "id! name! income# wage# age region weight interviewed", decimals: 2}
}

// One goroutine: two members are decoded, two are cut out, two are written again.
func BenchmarkDecodeEncode(b *testing.B) { benchmark(b, benchmarkJob(), true) }
func BenchmarkDecode(b *testing.B)       { benchmark(b, benchmarkJob(), false) }

// The same with an identity column in addition.
func BenchmarkDecodeIdentity(b *testing.B) {
	j := benchmarkJob()
	j.columns = "id!@ name! income# wage# age region weight interviewed"
	benchmark(b, j, false)
}

func benchmark(b *testing.B, j job, encode bool) {
	p := j.open(b)
	run, size := benchmarkRun()
	b.SetBytes(size)
	b.ReportAllocs()
	ctx := context.Background()
	for b.Loop() {
		if err := p.decoder.Decode(ctx, &p.block, run); err != nil {
			b.Fatal(err)
		}
		if !encode {
			continue
		}
		if _, err := p.writer.Encode(ctx, &p.block); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/blockSize, "ns/record")
	b.ReportMetric(float64(b.N)*blockSize/b.Elapsed().Seconds(), "records/s")
}

func BenchmarkEncode(b *testing.B) {
	p := benchmarkJob().open(b)
	run, size := benchmarkRun()
	ctx := context.Background()
	if err := p.decoder.Decode(ctx, &p.block, run); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.writer.Encode(ctx, &p.block); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/blockSize, "ns/record")
}
