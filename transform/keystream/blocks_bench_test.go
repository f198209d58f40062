package keystream

import (
	"fmt"
	"testing"
)

// BenchmarkBlocks measures the encryption of a chunk's blocks by every engine of the machine, and
// by the standard library one block per call.
func BenchmarkBlocks(b *testing.B) {
	for _, e := range append(engines(), library) {
		for _, n := range []int{1, 5, 24, chunk} {
			b.Run(fmt.Sprintf("engine=%d/blocks=%d", e, n), func(b *testing.B) {
				a := newAES(testKey(1).derive("blocks", keySize))
				if a.engine = e; e != library {
					a.keys = expand(testKey(1).derive("blocks", keySize))
				}
				blocks := make([]block, n)
				b.ReportAllocs()
				for b.Loop() {
					a.encryptAll(blocks)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/block")
			})
		}
	}
}

// BenchmarkSubkey measures the cost of a stream before its first draw.
func BenchmarkSubkey(b *testing.B) {
	key := testKey(1)
	subkey := key.derive("subkey", keySize)
	b.Run("derive", func(b *testing.B) {
		for b.Loop() {
			key.derive("subkey", keySize)
		}
	})
	b.Run("expand", func(b *testing.B) {
		for b.Loop() {
			newAES(subkey)
		}
	})
}
