package referee

import "testing"

// BenchmarkRun100k is a release of 100,000 records of seven columns, half of them copies, with as many control records,
// and 2,000 attacks of each kind.
func BenchmarkRun100k(b *testing.B) {
	d := &lcg{1}
	const n = 100_000
	var files [3][]person
	for i := range n {
		p, other := newPerson(d), newPerson(d)
		files[0], files[2] = append(files[0], p), append(files[2], newPerson(d))
		if i%2 == 0 {
			other = p
		}
		files[1] = append(files[1], other)
	}
	data := dataOf(files[:]...)
	o := options()
	o.Attempts = DefaultAttempts
	for b.Loop() {
		if _, err := Run(b.Context(), data, o); err != nil {
			b.Fatal(err)
		}
	}
}
