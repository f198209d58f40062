package keystream

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// draws are the four kinds of draw behind one signature.
var draws = []struct {
	name string
	fill func(s *Stream, dst []float64, r Records)
}{
	{"words", func(s *Stream, dst []float64, r Records) {
		words := make([]uint64, len(dst))
		s.Words(words, r)
		for i, w := range words {
			dst[i] = math.Float64frombits(w)
		}
	}},
	{"uniforms", (*Stream).Uniforms},
	{"normals", (*Stream).Normals},
	{"laplaces", (*Stream).Laplaces},
}

func sameBits(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d draws, want %d", what, len(got), len(want))
	}
	for i := range want {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
			t.Fatalf("%s: draw %d is %x, want %x", what, i, got[i], want[i])
		}
	}
}

// identities returns n digests and values, as arbitrary as a test can have them.
func identities(n int, seed uint64) ([]microdata.Digest, []float64) {
	r := rand.New(rand.NewPCG(seed, 1))
	digests, values := make([]microdata.Digest, n), make([]float64, n)
	for i := range digests {
		binary.LittleEndian.PutUint64(digests[i][:], r.Uint64())
		binary.LittleEndian.PutUint64(digests[i][8:], r.Uint64())
		values[i] = math.Round(r.NormFloat64()*1e4) / 100
	}
	return digests, values
}

// TestPlaceDrawsHoweverCut: the draws of 200,000 records are the same in blocks of
// any size, from any place, in any order.
func TestPlaceDrawsHoweverCut(t *testing.T) {
	const n, first = 200_000, int64(1)<<40 + 12345
	s := testKey(1).Stream("noise", "wage", 0)
	for _, d := range draws {
		whole := make([]float64, n)
		d.fill(s, whole, Records{Stream: 3, First: first})
		for _, block := range []int{1, 7, 511, 512, 513, 65536} {
			if block == 1 && testing.Short() {
				continue
			}
			cut := make([]float64, n)
			blocks := (n + block - 1) / block
			for b := range blocks {
				at := (blocks - 1 - b) * block // the last first
				d.fill(s, cut[at:min(at+block, n)], Records{Stream: 3, First: first + int64(at)})
			}
			sameBits(t, fmt.Sprintf("%s in blocks of %d", d.name, block), cut, whole)
		}
	}
}

// TestDigestDrawsWhereverTheyStand: the draws of identified records do not depend
// on place or stream, or on the records around them.
func TestDigestDrawsWhereverTheyStand(t *testing.T) {
	const n = 20_000
	s := testKey(1).Stream("noise", "wage", 0)
	digests, values := identities(n, 1)
	order := rand.New(rand.NewPCG(2, 2)).Perm(n)
	for _, d := range draws {
		want := make([]float64, n)
		d.fill(s, want, Records{Digests: digests, Values: values})
		got, moved := make([]float64, n), make([]float64, n)
		movedDigests, movedValues := make([]microdata.Digest, n), make([]float64, n)
		for i, j := range order {
			movedDigests[i], movedValues[i] = digests[j], values[j]
		}
		for at := 0; at < n; at += 777 {
			end := min(at+777, n)
			d.fill(s, moved[at:end], Records{Stream: at, First: int64(at) * 5, Digests: movedDigests[at:end], Values: movedValues[at:end]})
		}
		for i, j := range order {
			got[j] = moved[i]
		}
		sameBits(t, d.name, got, want)
	}
}

// TestIdentityOfValues: of one respondent, equal values have equal draws (−0 and 0
// are equal) and different values have different draws; so have different
// respondents with equal values.
func TestIdentityOfValues(t *testing.T) {
	s := testKey(1).Stream("noise", "wage", 0)
	a, b := microdata.Digest{1}, microdata.Digest{2}
	r := Records{
		Digests: []microdata.Digest{a, a, a, b, a, a},
		Values:  []float64{0, math.Copysign(0, -1), 1, 1, math.NaN(), math.Float64frombits(0xfff8000000000123)},
	}
	w := make([]uint64, 6)
	s.Words(w, r)
	if w[0] != w[1] {
		t.Error("0 and -0 must have the same draw")
	}
	if w[4] != w[5] {
		t.Error("every NaN must have the same draw")
	}
	if distinct := map[uint64]bool{w[0]: true, w[2]: true, w[3]: true, w[4]: true}; len(distinct) != 4 {
		t.Errorf("%d distinct words, want 4", len(distinct))
	}
}

// TestCounterLayout recomputes words from the cipher alone, at the corners of the
// counter.
func TestCounterLayout(t *testing.T) {
	s := testKey(1).Stream("noise", "wage", 0)
	for _, stream := range []int{0, 1, 1 << 16, math.MaxUint32} {
		for _, first := range []int64{0, 1, math.MaxUint32 - 1, 1 << 53, math.MaxInt64 - 3} {
			words := make([]uint64, 3)
			s.Words(words, Records{Stream: stream, First: first})
			for i, w := range words {
				var b [16]byte
				binary.BigEndian.PutUint32(b[4:], uint32(stream))
				binary.BigEndian.PutUint64(b[8:], uint64(first)+uint64(i))
				s.place.Encrypt(b[:], b[:])
				if want := binary.BigEndian.Uint64(b[:]); w != want {
					t.Errorf("stream %d, record %d: word %x, want %x", stream, first+int64(i), w, want)
				}
			}
		}
	}
}

// TestRedrawsComeFromFurtherBlocks follows rejected points by hand, for places and
// for digests.
func TestRedrawsComeFromFurtherBlocks(t *testing.T) {
	const n = 50_000
	s := testKey(1).Stream("noise", "wage", 0)
	digests, values := identities(n, 3)
	for _, r := range []Records{{Stream: 2, First: 99}, {Digests: digests, Values: values}} {
		normals := make([]float64, n)
		s.Normals(normals, r)
		redrawn := 0
		for i := range n {
			block := func(draw uint32) (uint64, uint64) {
				var b [16]byte
				if r.Digests == nil {
					binary.BigEndian.PutUint32(b[:], draw)
					binary.BigEndian.PutUint32(b[4:], uint32(r.Stream))
					binary.BigEndian.PutUint64(b[8:], uint64(r.First)+uint64(i))
					s.place.Encrypt(b[:], b[:])
				} else {
					s.digest.Encrypt(b[:], digests[i][:])
					var v [16]byte
					binary.BigEndian.PutUint64(v[:], math.Float64bits(values[i]+0))
					binary.BigEndian.PutUint64(v[8:], uint64(draw))
					for j := range b {
						b[j] ^= v[j]
					}
					s.digest.Encrypt(b[:], b[:])
				}
				return binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])
			}
			for draw := uint32(0); ; draw++ {
				x, ok := point(block(draw))
				if ok {
					if math.Float64bits(x) != math.Float64bits(normals[i]) {
						t.Fatalf("record %d: normal %x, want %x after %d rejections", i, normals[i], x, draw)
					}
					break
				}
				redrawn++
			}
		}
		if redrawn == 0 {
			t.Error("no point was rejected: the test tests nothing")
		}
	}
}

// TestStreamsDiffer: every part of a stream's name, and the key, changes the
// draws; names that run together do not meet.
func TestStreamsDiffer(t *testing.T) {
	a, b := testKey(1), testKey(2)
	streams := map[string]*Stream{
		"base":            a.Stream("noise", "wage", 0),
		"other key":       b.Stream("noise", "wage", 0),
		"other mask":      a.Stream("bias", "wage", 0),
		"other column":    a.Stream("noise", "age", 0),
		"other replicate": a.Stream("noise", "wage", 1),
		"shifted name":    a.Stream("noisew", "age", 0),
		"one name":        a.Stream("noisewage", "", 0),
		"other name":      a.Stream("", "noisewage", 0),
		"zero bytes":      a.Stream("noise\x00", "wage", 0),
		"length in name":  a.Stream("noise\x00\x00\x00\x00\x00\x00\x00\x04wage", "", 0),
	}
	seen := map[uint64]string{}
	for name, s := range streams {
		w := make([]uint64, 100)
		s.Words(w, Records{})
		s.Words(w[50:], Records{Digests: make([]microdata.Digest, 50), Values: []float64{49: 0}})
		for i, v := range w[:51] { // the digests above are all alike
			if other, twice := seen[v]; twice {
				t.Errorf("%s and %s share word %d", name, other, i)
			}
			seen[v] = name
		}
	}
	again := make([]uint64, 1)
	testKey(1).Stream("noise", "wage", 0).Words(again, Records{})
	if seen[again[0]] != "base" {
		t.Error("the same names and key gave other draws")
	}
}

func TestStreamInfoIsInjective(t *testing.T) {
	want := append([]byte("sdlfilter/stream/1"), 0, 0, 0, 0, 0, 0, 0, 2, 'a', 'b', 0, 0, 0, 0, 0, 0, 0, 1, 'c', 0, 0, 0, 0, 0, 0, 1, 2)
	if got := []byte(streamInfo("ab", "c", 258)); !bytes.Equal(got, want) {
		t.Errorf("info is %x, want %x", got, want)
	}
}

// TestWrongRecordsPanic: identities that cannot be written into a counter are
// refused, not wrapped around to those of other records.
func TestWrongRecordsPanic(t *testing.T) {
	s := testKey(1).Stream("noise", "wage", 0)
	dst := make([]float64, 10)
	for name, f := range map[string]func(){
		"negative stream":    func() { s.Normals(dst, Records{Stream: -1}) },
		"stream too great":   func() { s.Normals(dst, Records{Stream: 1 << 32}) },
		"negative place":     func() { s.Uniforms(dst, Records{First: -1}) },
		"place too great":    func() { s.Words(make([]uint64, 10), Records{First: math.MaxInt64 - 9}) },
		"too few digests":    func() { s.Laplaces(dst, Records{Digests: make([]microdata.Digest, 9), Values: dst}) },
		"no values":          func() { s.Normals(dst, Records{Digests: make([]microdata.Digest, 10)}) },
		"negative replicate": func() { testKey(1).Stream("noise", "wage", -1) },
		"no identity column": func() { testKey(1).Digests(nil, nil, 10) },
		"short column": func() {
			testKey(1).Digests(nil, []*microdata.Column{{Original: microdata.Vector{Values: dst}}}, 11)
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
	s.Normals(nil, Records{First: 5})                      // no records
	s.Normals(dst, Records{First: math.MaxInt64 - 10})     // the last ten
	s.Normals(nil, Records{Digests: []microdata.Digest{}}) // none identified
	s.Normals(dst, Records{Stream: -1, First: -1,          // a place that is not used
		Digests: make([]microdata.Digest, 10), Values: dst})
}

// TestConcurrentUse: goroutines that share a stream draw what one alone does.
func TestConcurrentUse(t *testing.T) {
	const n, workers = 40_000, 8
	s := testKey(1).Stream("noise", "wage", 0)
	want := make([]float64, n)
	s.Normals(want, Records{})
	got := make([]float64, n)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for at := w * 1000; at < n; at += workers * 1000 {
				s.Normals(got[at:at+1000], Records{First: int64(at)})
			}
		})
	}
	group.Wait()
	sameBits(t, "concurrent normals", got, want)
}

// TestAllocations: a call allocates the state of one counter mode, which the
// standard library cannot reuse, and nothing for a record.
func TestAllocations(t *testing.T) {
	s := testKey(1).Stream("noise", "wage", 0)
	digests, values := identities(10_000, 4)
	dst := make([]float64, len(digests))
	for _, c := range []struct {
		name string
		r    Records
		most float64
	}{
		{"place", Records{}, 2},
		{"digests", Records{Digests: digests, Values: values}, 1},
	} {
		// One more than counted: a garbage collection may empty the pool.
		if got := testing.AllocsPerRun(20, func() { s.Normals(dst, c.r) }); got > c.most {
			t.Errorf("%s: %g allocations for a call of %d draws, want at most %g", c.name, got, len(dst), c.most)
		}
	}
	column := &microdata.Column{Original: microdata.Vector{Values: values}}
	reused := testKey(1).Digests(nil, []*microdata.Column{column}, len(values))
	few := testing.AllocsPerRun(5, func() { testKey(1).Digests(reused, []*microdata.Column{column}, 10) })
	many := testing.AllocsPerRun(5, func() { testKey(1).Digests(reused, []*microdata.Column{column}, len(values)) })
	if many > few+2 {
		t.Errorf("digests: %g allocations for %d records, %g for 10", many, len(values), few)
	}
	if !slices.Equal(reused, testKey(1).Digests(nil, []*microdata.Column{column}, len(values))) {
		t.Error("digests into a reused slice differ")
	}
}
