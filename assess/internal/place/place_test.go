package place

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess/internal/wire"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// priorityOf is the definition: one half of the word of place/2; the last bit of place selects the
// half.
func priorityOf(scope string, stream int, place int64) uint32 {
	word := make([]uint64, 1)
	UnkeyedWords(word, scope, keystream.Records{Stream: stream, First: place >> 1})
	return uint32(word[0] >> (32 * (place & 1)))
}

// The priority of a record is a function of its place, whichever block contains it.
func TestPrioritiesBelongToPlaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for _, scope := range []string{"", "survey"} {
		for range 200 {
			var b microdata.Block
			n := 1 + rng.IntN(40)
			b.Reset(rng.IntN(3), int64(rng.IntN(50)), n, 0)
			b.Scope = scope
			if rng.IntN(2) == 0 {
				at := b.First
				for range n {
					b.Places = append(b.Places, at)
					at += 1 + int64(rng.IntN(4))
				}
			}
			var p Priorities
			p.Draw(&b, UnkeyedWords)
			for i := range n {
				at := b.Place(i)
				got := uint32(0)
				if len(p.Each) > 0 {
					got = p.Each[i]
				} else {
					got = uint32(p.Words[at>>1-b.First>>1] >> (32 * (at & 1)))
				}
				if want := priorityOf(scope, b.Stream, at); got != want {
					t.Fatalf("place %d of a block from %d, gaps %v: %x, want %x", at, b.First, b.Places != nil, got, want)
				}
			}
		}
	}
}

// splitMix64 is the generator of Steele, Lea and Flood (2014), as it is published.
type splitMix64 uint64

func (s *splitMix64) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// Without a key the words of a stream are those of SplitMix64, so that samples which were
// stored by an earlier version, or on another machine, can be merged.
func TestUnkeyedWordsAreThoseOfSplitMix64(t *testing.T) {
	known := splitMix64(1234567) // the first numbers of other implementations
	for _, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423} {
		if got := known.next(); got != want {
			t.Fatalf("the reference gives %d, want %d", got, want)
		}
	}
	const step = 0x9e3779b97f4a7c15
	for _, stream := range []int{0, 1, 70} {
		for _, scope := range []string{"", "survey"} {
			start := splitMix64(stream+1) - step
			state := splitMix64(start.next())
			if scope != "" {
				h := fnv.New64a()
				h.Write([]byte(scope))
				own := splitMix64(h.Sum64() - step)
				state += splitMix64(own.next())
			}
			want := make([]uint64, 9)
			for i := range want {
				want[i] = state.next()
			}
			got := make([]uint64, 7)
			if UnkeyedWords(got, scope, keystream.Records{Stream: stream, First: 2}); !slices.Equal(got, want[2:]) {
				t.Errorf("stream %d of %q: %x, want %x", stream, scope, got, want[2:])
			}
			got = got[:3]
			if UnkeyedWords(got, scope, keystream.Records{Stream: stream, Places: []int64{0, 3, 8}}); !slices.Equal(got,
				[]uint64{want[0], want[3], want[8]}) {
				t.Errorf("stream %d of %q: %x at 0, 3 and 8 of %x", stream, scope, got, want)
			}
		}
	}
}

// Words are drawn for the pairs of places that a block lies in and for no more, however far
// on it lies.
func TestPrioritiesOfABlockFarOn(t *testing.T) {
	for _, first := range []int64{1 << 40, 1<<40 + 1} {
		var b microdata.Block
		b.Reset(0, first, 6, 0)
		var p Priorities
		p.Draw(&b, UnkeyedWords)
		if want := 3 + int(first&1); len(p.Words) != want || len(p.Each) != 0 {
			t.Errorf("six places from %d: %d words, want %d", first, len(p.Words), want)
		}
	}
}

// Each stream and scope has its own priorities, spread over all 32 bits.
func TestPrioritiesAreSpread(t *testing.T) {
	seen := map[uint32]bool{}
	const n = 20_000
	below := 0
	for _, scope := range []string{"", "a", "b"} {
		for stream := range 3 {
			for place := range int64(n) {
				p := priorityOf(scope, stream, place)
				seen[p] = true
				if p < 1<<30 {
					below++
				}
			}
		}
	}
	// Among 180,000 random 32-bit numbers there are 3.8 equal pairs on average; more than 20 have a
	// probability below 1e-8.
	if lost := 9*n - len(seen); lost > 20 {
		t.Errorf("%d priorities are the same", lost)
	}
	// One quarter lies in the first quarter of the range, with a standard deviation of √(9n·3/16) =
	// 184.
	if d := below - 9*n/4; d < -5*184 || d > 5*184 {
		t.Errorf("%d lie in the first quarter, %d expected", below, 9*n/4)
	}
}

func TestOriginsAreOneOfAKind(t *testing.T) {
	var s Origins
	a, b, c := s.Of("x", 1), s.Of("x", 2), s.Of("y", 1)
	if a == b || a == c || s.Of("x", 1) != a || s.Of("y", 1) != c {
		t.Error("equal origins have different pointers, or different origins the same")
	}
	for _, o := range []struct {
		p, q *Origin
		want int
	}{{a, a, 0}, {a, b, -1}, {b, c, -1}, {c, a, 1}, {a, &Origin{"x", 1}, 0}} {
		if got := o.p.Compare(o.q); got != o.want {
			t.Errorf("%v and %v compare as %d, want %d", o.p, o.q, got, o.want)
		}
	}
}

// Numbers and places are read back as they were written, and impossible ones are a failure.
func TestNumbering(t *testing.T) {
	var s Origins
	list := []*Origin{s.Of("x", 1), s.Of("", 0), s.Of("x", 7)}
	n := NewNumbering()
	for _, o := range []*Origin{list[0], list[0], list[1], list[2], list[0], {"x", 7}} {
		n.Add(o)
	}
	if len(n.Of) != 3 || n.Of[*list[1]] != 1 {
		t.Errorf("numbers %v", n.Of)
	}
	rows := []int64{5, 3, 900}
	var e wire.Encoder
	n.Encode(&e)
	before := int64(0)
	for i, row := range rows {
		n.Place(&e, before, list[i], row)
		before = row
	}
	var known Origins
	d := wire.Decoder{Rest: e}
	from := known.Decode(&d)
	var got []int64
	at := int64(0)
	for i := range rows {
		if o := DecodePlace(&d, &at, from); o == nil || o.Compare(list[i]) != 0 ||
			o != known.Of(list[i].Scope, list[i].Stream) {
			t.Errorf("place %d is of %v", i, o)
		}
		got = append(got, at)
	}
	if d.Failed || len(d.Rest) > 0 || !slices.Equal(got, rows) {
		t.Errorf("failed %v, rows %v", d.Failed, got)
	}

	for what, write := range map[string]func(e *wire.Encoder){
		"a stream below 0":   func(e *wire.Encoder) { e.Uint(1); e.Text(""); e.Int(-1) },
		"a stream too great": func(e *wire.Encoder) { e.Uint(1); e.Text(""); e.Int(1 << 31) },
		"too few origins":    func(e *wire.Encoder) { e.Uint(2); e.Text(""); e.Int(1) },
	} {
		var e wire.Encoder
		write(&e)
		d := wire.Decoder{Rest: e}
		if new(Origins).Decode(&d); !d.Failed {
			t.Errorf("%s is taken", what)
		}
	}
	for what, write := range map[string]func(e *wire.Encoder){
		"an origin without a number": func(e *wire.Encoder) { e.Short(3); e.Signed(1) },
		"a row below 0":              func(e *wire.Encoder) { e.Short(0); e.Signed(-1) },
	} {
		var e wire.Encoder
		write(&e)
		d, at := wire.Decoder{Rest: e}, int64(0)
		if o := DecodePlace(&d, &at, from); o != nil || !d.Failed {
			t.Errorf("%s is taken", what)
		}
	}
}
