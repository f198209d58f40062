package standing

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

const perTransaction = 10_000

// transactions returns a long stream's standing and the blocks of a transaction.
func transactions(b *testing.B) (*Standing, []*microdata.Block) {
	o := options(b)
	o.Sample, o.Extremes = 0, 0 // the default
	l := newStanding(b, o, maxValue)
	r := makeRows(rand.New(rand.NewPCG(1, 1)), 0, perTransaction)
	clear(r.held)
	clear(r.rejected)
	for i := range r.place {
		r.place[i] = int64(i)
	}
	var blocks []*microdata.Block
	for from := 0; from < perTransaction; from += 2000 {
		blocks = append(blocks, r.block(from, from+2000))
	}
	for i := range 40 {
		at := int64(i) * perTransaction
		for _, blk := range blocks {
			blk.First = at
			l.Add(blk)
			at += int64(blk.N)
		}
		_, err := l.Entries(at)
		must(b, err)
		l.Commit()
	}
	return l, blocks
}

func BenchmarkAdd(b *testing.B) {
	l, blocks := transactions(b)
	b.ReportAllocs()
	for b.Loop() {
		at := l.Next()
		for _, blk := range blocks {
			blk.First = at
			l.Add(blk)
			at += int64(blk.N)
		}
		b.StopTimer()
		l.Rollback()
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/perTransaction, "ns/record")
}

// A commit consists of Entries and Commit; after a number of commits a base is written.
func BenchmarkCommit(b *testing.B) {
	l, blocks := transactions(b)
	bytes, bases := 0, 0
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		at := l.Next()
		for _, blk := range blocks {
			blk.First = at
			l.Add(blk)
			at += int64(blk.N)
		}
		b.StartTimer()
		entries, err := l.Entries(at)
		must(b, err)
		l.Commit()
		for _, e := range entries {
			bytes += len(e.Value)
		}
		if len(entries) > 0 && entries[0].Key[0] == 'b' {
			bases++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/perTransaction, "ns/record")
	b.ReportMetric(float64(bytes)/float64(b.N)/1024, "KiB/commit")
	b.ReportMetric(float64(bases)/float64(b.N), "bases/commit")
}

// Segments of one slot each are read at a start and after a rebalance.
func BenchmarkLoad(b *testing.B) {
	for _, segments := range []int{0, slots} {
		b.Run(fmt.Sprint(segments, "segments"), func(b *testing.B) {
			l, blocks := transactions(b)
			log, at := new(topic), l.Next()
			l.lags = true // so that a base comes first
			for i := range segments + 1 {
				blk := blocks[0]
				blk.First = at
				if i > 0 {
					blk.N = 10
				}
				l.Add(blk)
				at += int64(blk.N)
				entries, err := l.Entries(at)
				must(b, err)
				log.write(entries)
				l.Commit()
			}
			blocks[0].N = 2000
			b.ReportAllocs()
			for b.Loop() {
				loaded(b, l.opts, log.log, maxValue)
			}
		})
	}
}
