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
