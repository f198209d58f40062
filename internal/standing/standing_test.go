package standing

import (
	"bytes"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func testKey(tb testing.TB) keystream.Key {
	tb.Helper()
	secret := make([]byte, 32)
	for i := range secret {
		secret[i] = byte(7*i + 1)
	}
	k, err := keystream.NewKey(secret)
	must(tb, err)
	return k
}

func trials(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// options have two masked columns and a small sample.
func options(tb testing.TB) assess.Options {
	return assess.Options{
		Columns: []assess.Column{{Name: "wage", Index: 0, Masked: true}, {Name: "hours", Index: 1, Masked: true}},
		Sample:  40, Extremes: 4, Key: testKey(tb), Targets: []string{"min", "p50", "max"},
	}
}

// rows are the records of one partition, with the gate's verdict on each. Their state is a function
// of the first place that is not covered.
type rows struct {
	stream   int
	place    []int64 // ascending, some with gaps
	x, y     [2][]float64
	rejected []bool
	held     []bool
}

func makeRows(rng *rand.Rand, stream, n int) *rows {
	r := &rows{stream: stream}
	at, held := int64(rng.IntN(5)), false
	gaps := rng.IntN(3) > 0
	for range n {
		r.place = append(r.place, at)
		at++
		if gaps && rng.IntN(8) == 0 {
			at += int64(rng.IntN(600)) // transaction markers, compaction
		}
		if rng.IntN(30) == 0 {
			held = !held && rng.IntN(2) == 0
		}
		r.held = append(r.held, held)
		r.rejected = append(r.rejected, rng.IntN(12) == 0)
		for c := range r.x {
			x := 150 + math.Round(80*rng.ExpFloat64())/2 // with ties, and in few pages of a tally
			y := x + 8*rng.NormFloat64()
			if rng.IntN(25) == 0 {
				x, y = math.NaN(), math.NaN()
			}
			r.x[c], r.y[c] = append(r.x[c], x), append(r.y[c], y)
		}
	}
	return r
}

func (r *rows) block(from, to int) *microdata.Block {
	n := to - from
	b := new(microdata.Block)
	b.Reset(r.stream, r.place[from], n, 2)
	b.Scope = "topic"
	if r.place[to-1]-r.place[from] != int64(n-1) {
		b.Places = r.place[from:to]
	}
	for c := range r.x {
		put := func(v *microdata.Vector, values []float64) {
			for i, x := range values {
				v.Values[i] = x
				if math.IsNaN(x) {
					v.Values[i] = 0
					v.Valid.Clear(i)
				}
			}
		}
		put(b.Columns[c].Alloc(n, true), r.x[c][from:to])
		put(b.Columns[c].Mutable(), r.y[c][from:to])
	}
	for i := range n {
		if r.rejected[from+i] {
			b.Reject(i, "wage", "for the test")
		}
	}
	return b
}

// add adds the rows from … to−1 to a standing, in blocks of which all or none are held.
func (r *rows) add(rng *rand.Rand, l *Standing, from, to int) {
	for from < to {
		end := min(to, from+1+rng.IntN(60))
		for i := from; i < end; i++ {
			if r.held[i] != r.held[from] {
				end = i
			}
		}
		if b := r.block(from, end); r.held[from] {
			l.AddHeld(b)
		} else {
			l.Add(b)
		}
		from = end
	}
}

// after returns the number of rows before a place.
func (r *rows) after(next int64) int {
	i, _ := slices.BinarySearch(r.place, next)
	return i
}

// next returns a place between the row before i and row i.
func (r *rows) next(rng *rand.Rand, i int) int64 {
	least := int64(0)
	if i > 0 {
		least = r.place[i-1] + 1
	}
	if i == len(r.place) {
		return least + int64(rng.IntN(3))
	}
	return least + rng.Int64N(r.place[i]-least+1)
}

// undisturbed adds the first n rows to an accumulator and returns their counts.
func (r *rows) undisturbed(a *assess.Accumulator, n int) (c Counts) {
	c.Read = int64(n)
	for from := 0; from < n; {
		end := from + 1
		for end < n && r.held[end] == r.held[from] {
			end++
		}
		b := r.block(from, end)
		kept := int64(b.Kept())
		c.Quarantined += int64(b.N) - kept
		if r.held[from] {
			c.Held += kept
		} else {
			c.Released += kept
			a.Add(b)
		}
		from = end
	}
	return c
}

// topic is the log of a compacted topic's partition; only committed entries are written.
type topic struct{ log []Entry }

func (t *topic) write(entries []Entry) {
	for _, e := range entries {
		t.log = append(t.log, Entry{bytes.Clone(e.Key), bytes.Clone(e.Value)})
	}
}

// compacted returns a possible log after compaction: the last value of each key, and some of the
// earlier ones.
func (t *topic) compacted(rng *rand.Rand) []Entry {
	last := map[string]int{}
	for i, e := range t.log {
		last[string(e.Key)] = i
	}
	keep := rng.Float64()
	var left []Entry
	for i, e := range t.log {
		if last[string(e.Key)] == i || rng.Float64() < keep {
			left = append(left, e)
		}
	}
	return left
}

func sequence(entries []Entry) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, e := range entries {
			if !yield(string(e.Key), e.Value) {
				return
			}
		}
	}
}

func newStanding(tb testing.TB, o assess.Options, limit int) *Standing {
	tb.Helper()
	l, err := New(o, "name")
	must(tb, err)
	l.limit = limit
	return l
}

func loaded(tb testing.TB, o assess.Options, entries []Entry, limit int) *Standing {
	tb.Helper()
	l, err := Load(o, "name", sequence(entries))
	must(tb, err)
	if l.Stale() {
		tb.Fatal("the standing's own entries are stale")
	}
	l.limit = limit
	return l
}

// checkWhole compares the committed state with the rows before Next.
func checkWhole(tb testing.TB, o assess.Options, l *Standing, r *rows) {
	tb.Helper()
	want, err := assess.New(o)
	must(tb, err)
	counts := r.undisturbed(want, r.after(l.Next()))
	if whole, _ := l.Counts(); whole != counts {
		tb.Errorf("counts are %+v, want %+v", whole, counts)
	}
	same(tb, l.Whole(), want)
}

// Rows are added, dropped, committed and resumed at random: the state equals the assessment of the
// committed records, and that of several partitions is their merge.
func TestAnyInterleaving(t *testing.T) {
	o := options(t)
	for seed := range uint64(trials(120)) {
		rng := rand.New(rand.NewPCG(seed, 1))
		limit := headerSize + 100 + rng.IntN(1<<uint(3+rng.IntN(10)))
		var standings []*Standing
		var all []*rows
		for p := range 1 + rng.IntN(3) {
			r := makeRows(rng, p, 1+rng.IntN(300))
			standings, all = append(standings, interleaved(t, rng, o, r, limit)), append(all, r)
		}
		want, err := assess.New(o)
		must(t, err)
		var parts []*assess.Accumulator
		for p, l := range standings {
			parts = append(parts, l.Whole(), l.Delta())
			all[p].undisturbed(want, len(all[p].place))
		}
		got, err := assess.Merged(o, parts...)
		must(t, err)
		same(t, got, want)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// interleaved processes a partition in transactions; the last one stays open.
func interleaved(t *testing.T, rng *rand.Rand, o assess.Options, r *rows, limit int) *Standing {
	l, log := newStanding(t, o, limit), new(topic)
	n := len(r.place)
	largest := 1 << rng.IntN(8)
	done := 0 // committed rows
	for {
		to := min(n, done+rng.IntN(largest+1))
		from := done
		if rng.IntN(8) == 0 { // offsets were set back
			from = rng.IntN(done + 1)
		}
		r.add(rng, l, from, to)
		if rng.IntN(30) == 0 {
			open(t, o, l, r, to)
		}
		if to == n {
			return l
		}
		var entries []Entry
		next := max(l.Next(), r.next(rng, to))
		if written := rng.IntN(12) > 0; written {
			var err error
			entries, err = l.Entries(next)
			must(t, err)
			checkEntries(t, l, entries)
		}
		switch rng.IntN(24) {
		case 0, 1, 2: // aborted
			l.Rollback()
		case 3: // the instance ends before it has committed
			l = loaded(t, o, log.compacted(rng), limit)
		default:
			if entries == nil && rng.IntN(4) == 0 {
				// Kept only here; the next commit writes it.
				l.Commit()
				done = r.after(l.Next())
				r.add(rng, l, done, to)
				var err error
				entries, err = l.Entries(next)
				must(t, err)
			} else if entries == nil {
				var err error
				entries, err = l.Entries(next)
				must(t, err)
			}
			log.write(entries)
			l.Commit()
			if l.Next() != next {
				t.Fatalf("next is %d, want %d", l.Next(), next)
			}
			done = to
		}
		if whole, delta := l.Counts(); whole.Read != int64(done) || delta != (Counts{}) {
			t.Fatalf("%d rows of %d committed ones, and %+v open", whole.Read, done, delta)
		}
		if rng.IntN(40) == 0 { // resumed by another instance, bit by bit
			again := loaded(t, o, log.compacted(rng), limit)
			was, err := l.Whole().MarshalBinary()
			must(t, err)
			is, err := again.Whole().MarshalBinary()
			must(t, err)
			if !bytes.Equal(was, is) || again.Next() != l.Next() || again.written != l.written {
				t.Fatalf("the resumed standing differs: next %d, %+v; want %d, %+v", again.Next(), again.written, l.Next(),
					l.written)
			}
			l = again
			checkWhole(t, o, l, r)
		}
	}
}

// open compares the whole and the open transaction together with the rows before i.
func open(t *testing.T, o assess.Options, l *Standing, r *rows, i int) {
	t.Helper()
	got, err := assess.Merged(o, l.Whole(), l.Delta())
	must(t, err)
	want, err := assess.New(o)
	must(t, err)
	counts := r.undisturbed(want, i)
	same(t, got, want)
	if whole, delta := l.Counts(); whole.Plus(delta) != counts {
		t.Errorf("counts are %+v and %+v, want %+v in all", whole, delta, counts)
	}
}

func checkEntries(t *testing.T, l *Standing, entries []Entry) {
	t.Helper()
	seen := map[string]bool{}
	for _, e := range entries {
		if len(e.Value) > l.limit || len(e.Value) <= headerSize && len(entries) > 1 || seen[string(e.Key)] {
			t.Fatalf("entry %s of %d bytes, at most %d", e.Key, len(e.Value), l.limit)
		}
		seen[string(e.Key)] = true
	}
}

// Without transactions, the entries of a failed commit may be present, completely or in part. A
// resumed state is the assessment of the records before its Next, which is never before the last
// commit.
func TestWithoutTransactions(t *testing.T) {
	o := options(t)
	for seed := range uint64(trials(120)) {
		rng := rand.New(rand.NewPCG(seed, 2))
		limit := headerSize + 100 + rng.IntN(1<<uint(3+rng.IntN(10)))
		r, log := makeRows(rng, 0, 1+rng.IntN(200)), new(topic)
		l, offset := newStanding(t, o, limit), 0 // rows before the group's offset
		largest := 1 << rng.IntN(7)
		for offset < len(r.place) {
			to := min(len(r.place), offset+rng.IntN(largest+1))
			r.add(rng, l, offset, to)
			entries, err := l.Entries(max(l.Next(), r.next(rng, to)))
			must(t, err)
			switch rng.IntN(5) {
			case 0: // a part of it is written
				log.write(entries[:rng.IntN(len(entries)+1)])
				l.Rollback()
			case 1: // everything is written except the offset
				log.write(entries)
				l.Rollback()
			default:
				log.write(entries)
				l.Commit()
				offset = to
			}
			if whole, _ := l.Counts(); whole.Read < int64(offset) {
				t.Fatalf("seed %d: %d rows, and the offset is after %d", seed, whole.Read, offset)
			}
			if rng.IntN(7) == 0 {
				l = loaded(t, o, log.compacted(rng), limit)
				if covered := r.after(l.Next()); covered < offset {
					t.Fatalf("seed %d: %d rows are kept, and the offset is after %d", seed, covered, offset)
				}
				checkWhole(t, o, l, r)
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}
