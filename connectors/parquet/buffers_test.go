package parquet

import "testing"

func TestSizeClass(t *testing.T) {
	last := -1
	for n := 1; n < 1<<22; n += 1 + n/77 {
		class, size := sizeClass(n)
		if size < n || n > 1<<smallest && size > n+n/4+1 || class < last {
			t.Fatalf("%d bytes: class %d of %d", n, class, size)
		}
		if c, s := sizeClass(size); c != class || s != size {
			t.Fatalf("class %d of %d is not its own class: %d of %d", class, size, c, s)
		}
		last = class
	}
}

// A buffer is shrunk to the size class of its content, and keeps the content. A buffer that fits
// already is not changed.
func TestFittedBuffers(t *testing.T) {
	for _, c := range []struct{ room, held int }{{1 << 20, 1 << 19}, {1 << 20, 1<<20 - 7}, {1 << 16, 10}, {5000, 4097},
		{4096, 0}} {
		buf := getBuffer(c.room)[:c.held]
		for i := range buf {
			buf[i] = byte(i * 7)
		}
		out := fitted(buf)
		if _, size := sizeClass(c.held); cap(out) != size || len(out) != c.held {
			t.Errorf("%d bytes in room for %d: fitted to %d in room for %d", c.held, c.room, len(out), cap(out))
		}
		for i, b := range out {
			if b != byte(i*7) {
				t.Fatalf("%d bytes in room for %d: byte %d differs", c.held, c.room, i)
			}
		}
	}
}
