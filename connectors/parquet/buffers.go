package parquet

import (
	"math/bits"
	"sync"
)

// Buffers of pages are reused. Their sizes are a quarter of a power of two apart, so
// that at most a fifth of one is unused; the garbage collector frees those that are
// not needed.
const smallest = 12 // log₂ of the least size that is worth keeping

var buffers [4 * 32]sync.Pool

// sizeClass returns the index and length of the smallest size that holds n.
func sizeClass(n int) (class, size int) {
	n = max(n, 1<<smallest)
	log := bits.Len(uint(n-1)) - 1 // 2^log < n ≤ 2^(log+1), or n = 2^smallest
	if n == 1<<smallest {
		return 0, n
	}
	step := 1 << (log - 2)
	k := (n - 1<<log + step - 1) / step // 1 … 4
	return 4*(log-smallest) + k, 1<<log + k*step
}

// classOf returns the size class of a buffer's capacity.
func classOf(b []byte) int {
	class, _ := sizeClass(cap(b))
	return class
}

// getBuffer returns a buffer of n bytes of undefined content.
func getBuffer(n int) []byte {
	class, size := sizeClass(n)
	if class >= len(buffers) {
		return make([]byte, n)
	}
	if p, _ := buffers[class].Get().(*[]byte); p != nil {
		return (*p)[:n]
	}
	return make([]byte, n, size)
}

// putBuffer returns a buffer for reuse. Nothing may refer to it any more.
func putBuffer(b []byte) {
	if class, size := sizeClass(cap(b)); size == cap(b) && class < len(buffers) {
		b = b[:0]
		buffers[class].Put(&b)
	}
}
