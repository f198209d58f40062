package keystream

import (
	"bytes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/sdlfilter/sdlfilter/microdata"
)

// draws are the four kinds of draw with a common signature.
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

// identities returns n random digests and values.
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

// release returns a stream of draws for a release.
func release(key Key, mask, column string) *Stream {
	return key.Release(Name{Mask: mask, Done: "noise 0x1p+00;", Column: column})
}

// valued returns records of a run of a release: some with a respondent's digest, some with only a
// place.
func valued(r Records, n int) Records {
	r.Digests, r.Values = identities(n, 11)
	for i := 0; i < n; i += 3 {
		r.Digests[i] = microdata.Digest{}
	}
	return r
}

// cutFrom returns the records from at to end.
func (r Records) cutFrom(at, end int) Records {
	r.First += int64(at)
	if r.Digests != nil {
		r.Digests = r.Digests[at:end]
	}
	if r.Values != nil {
		r.Values = r.Values[at:end]
	}
	return r
}

// TestPlaceDrawsHoweverCut: the draws of 200,000 records are the same in blocks of any size, from
// any place and in any order.
func TestPlaceDrawsHoweverCut(t *testing.T) {
	const n, first = 200_000, int64(1)<<40 + 12345
	key, place := testKey(1), Records{Stream: 3, First: first}
	mixed := valued(place, n)
	for _, c := range []struct {
		name    string
		s       *Stream
		records Records
	}{
		{"free", key.Stream("noise", "wage", 0), place},
		{"release by place", release(key, "noise", "wage"), Records{Stream: 3, First: first, Values: mixed.Values}},
		{"release by place and digest", release(key, "noise", "wage"), mixed},
	} {
		for _, d := range draws {
			whole := make([]float64, n)
			d.fill(c.s, whole, c.records)
			for _, block := range []int{1, 7, 511, 512, 513, 65536} {
				if block < 511 && (testing.Short() || c.s.free == nil && d.name != "normals") {
					continue
				}
				cut := make([]float64, n)
				blocks := (n + block - 1) / block
				for b := range blocks {
					at := (blocks - 1 - b) * block // the last first
					end := min(at+block, n)
					d.fill(c.s, cut[at:end], c.records.cutFrom(at, end))
				}
				sameBits(t, fmt.Sprintf("%s: %s in blocks of %d", c.name, d.name, block), cut, whole)
			}
		}
	}
}

// TestPlaceDrawsAreBound: at one place, equal values have equal draws and different values have
// different draws. One value has different draws at different places and in different scopes. The
// draws of a digest do not depend on place or scope, and those of the zero Digest are those of the
// place.
func TestPlaceDrawsAreBound(t *testing.T) {
	key := testKey(1)
	name := Name{Mask: "noise#1", Done: "noise 0x1p+00;", Column: "wage"}
	scoped, relabelled, redone := name, name, name
	scoped.Scope, relabelled.Mask, redone.Done = "survey", "noise#2", "clip 0x1p+00 0x1p+01;noise 0x1p+00;"
	seen := map[uint64]string{}
	for what, n := range map[string]Name{"base": name, "scope": scoped, "label": relabelled, "done": redone} {
		s := key.Release(n)
		for _, stream := range []int{0, 1} {
			for _, first := range []int64{0, 1, 1 << 40} {
				for _, v := range []float64{0, 1, -1, 1.0000000000000002, 1e300} {
					at := fmt.Sprint(what, stream, first, v)
					var w, again, zero [1]uint64
					r := Records{Stream: stream, First: first, Values: []float64{v}}
					s.Words(w[:], r)
					if other, twice := seen[w[0]]; twice {
						t.Errorf("%s and %s share a word", at, other)
					}
					seen[w[0]] = at
					key.Release(n).Words(again[:], r)
					r.Digests = make([]microdata.Digest, 1)
					s.Words(zero[:], r)
					if again != w || zero != w {
						t.Errorf("%s: word %x, again %x, with the zero digest %x", at, w, again, zero)
					}
				}
			}
		}
		w := make([]uint64, 2)
		d := []microdata.Digest{{7}, {7}}
		s.Words(w[:1], Records{Digests: d, Values: []float64{5}})
		key.Release(scopedAs(n, "elsewhere")).Words(w[1:], Records{Stream: 9, First: 1234, Digests: d, Values: []float64{5}})
		if w[0] != w[1] {
			t.Errorf("%s: the same value of a respondent has different draws in two scopes", what)
		}
	}
}

func scopedAs(n Name, scope string) Name {
	n.Scope = scope
	return n
}

// TestDigestDrawsWhereverTheyStand: the draws of identified records do not depend on place, stream
// or neighbouring records.
func TestDigestDrawsWhereverTheyStand(t *testing.T) {
	const n = 20_000
	s := release(testKey(1), "noise", "wage")
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
			d.fill(s, moved[at:end],
				Records{Stream: at, First: int64(at) * 5, Digests: movedDigests[at:end], Values: movedValues[at:end]})
		}
		for i, j := range order {
			got[j] = moved[i]
		}
		sameBits(t, d.name, got, want)
	}
}

// TestIdentityOfValues: for one respondent, equal values have equal draws (−0 equals 0) and
// different values have different draws. Different respondents with equal values have different
// draws.
func TestIdentityOfValues(t *testing.T) {
	s := release(testKey(1), "noise", "wage")
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
				s.free.Encrypt(b[:], b[:])
				if want := binary.BigEndian.Uint64(b[:]); w != want {
					t.Errorf("stream %d, record %d: word %x, want %x", stream, first+int64(i), w, want)
				}
			}
		}
	}
}

// TestRedrawsComeFromFurtherBlocks recomputes rejected points step by step, for places in draws
// that are never released, and for places and digests in draws that are.
func TestRedrawsComeFromFurtherBlocks(t *testing.T) {
	const n = 50_000
	digests, values := identities(n, 3)
	leaves := release(testKey(1), "noise", "wage")
	mac := func(e cipher.Block, b, v [16]byte) [16]byte {
		e.Encrypt(b[:], b[:])
		for j := range b {
			b[j] ^= v[j]
		}
		e.Encrypt(b[:], b[:])
		return b
	}
	for _, c := range []struct {
		s *Stream
		r Records
	}{
		{testKey(1).Stream("noise", "wage", 0), Records{Stream: 2, First: 99}},
		{leaves, Records{Stream: 2, First: 99, Values: values}},
		{leaves, Records{Digests: digests, Values: values}},
	} {
		s, r := c.s, c.r
		normals := make([]float64, n)
		s.Normals(normals, r)
		redrawn := 0
		for i := range n {
			block := func(draw uint32) (uint64, uint64) {
				var b [16]byte
				var v [16]byte
				switch {
				case r.Values == nil:
					binary.BigEndian.PutUint32(b[:], draw)
					binary.BigEndian.PutUint32(b[4:], uint32(r.Stream))
					binary.BigEndian.PutUint64(b[8:], uint64(r.First)+uint64(i))
					s.free.Encrypt(b[:], b[:])
				case r.Digests == nil:
					binary.BigEndian.PutUint64(b[:], uint64(draw))
					binary.BigEndian.PutUint64(b[8:], uint64(r.Stream))
					binary.BigEndian.PutUint64(v[:], uint64(r.First)+uint64(i))
					binary.BigEndian.PutUint64(v[8:], math.Float64bits(values[i]+0))
					b = mac(s.place, b, v)
				default:
					binary.BigEndian.PutUint64(v[:], math.Float64bits(values[i]+0))
					binary.BigEndian.PutUint64(v[8:], uint64(draw))
					b = mac(s.identity, digests[i], v)
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
			t.Error("no point was rejected, so this tests nothing")
		}
	}
}

// TestStreamsDiffer: every part of a stream's name, and the key, changes the draws. Names with
// equal concatenations have different draws.
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
	infos := map[string]bool{}
	for _, n := range []Name{{"a", "b", "c", "d"}, {"ab", "", "c", "d"}, {"a", "bc", "", "d"}, {"a", "b", "d", "c"},
		{"", "a", "b", "cd"}} {
		infos[string(named(labelPlace, n.Mask, n.Done, n.Column, n.Scope))] = true
		infos[string(named(labelIdentity, n.Mask, n.Done, n.Column))] = true
	}
	if len(infos) != 10 {
		t.Errorf("10 names have %d infos", len(infos))
	}
	seen := map[uint64]string{}
	for name, s := range streams {
		w := make([]uint64, 100)
		s.Words(w, Records{})
		for i, v := range w {
			if other, twice := seen[v]; twice {
				t.Errorf("%s and %s share word %d", name, other, i)
			}
			seen[v] = name
		}
	}
	again := make([]uint64, 1)
	testKey(1).Stream("noise", "wage", 0).Words(again, Records{})
	if seen[again[0]] != "base" {
		t.Error("the same names and key gave different draws")
	}
}

func TestStreamInfoIsInjective(t *testing.T) {
	want := append([]byte("sdlfilter/stream/2"), 0, 0, 0, 0, 0, 0, 0, 2, 'a', 'b', 0, 0, 0, 0, 0, 0, 0, 1, 'c', 0, 0, 0, 0,
		0, 0, 1, 2)
	if got := []byte(streamInfo("ab", "c", 258)); !bytes.Equal(got, want) {
		t.Errorf("info is %x, want %x", got, want)
	}
}

// TestWrongRecordsPanic: identities that do not fit into a counter are refused, instead of wrapping
// around to those of other records.
func TestWrongRecordsPanic(t *testing.T) {
	s := testKey(1).Stream("noise", "wage", 0)
	leaves := release(testKey(1), "noise", "wage")
	dst := make([]float64, 10)
	for name, f := range map[string]func(){
		"negative stream":    func() { s.Normals(dst, Records{Stream: -1}) },
		"stream too great":   func() { s.Normals(dst, Records{Stream: 1 << 32}) },
		"negative place":     func() { s.Uniforms(dst, Records{First: -1}) },
		"place too great":    func() { s.Words(make([]uint64, 10), Records{First: math.MaxInt64 - 9}) },
		"too few digests":    func() { leaves.Laplaces(dst, Records{Digests: make([]microdata.Digest, 9), Values: dst}) },
		"digests, no values": func() { leaves.Normals(dst, Records{Digests: make([]microdata.Digest, 10)}) },
		"place, no values":   func() { leaves.Normals(dst, Records{}) },
		"too few values":     func() { leaves.Normals(dst, Records{Values: make([]float64, 9)}) },
		"free with values":   func() { s.Normals(dst, Records{Values: make([]float64, 10)}) },
		"free with digests":  func() { s.Normals(dst, Records{Digests: make([]microdata.Digest, 10)}) },
		"release, bad place": func() { leaves.Normals(dst, Records{First: -1, Values: make([]float64, 10)}) },
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
	s.Normals(nil, Records{First: 5})                           // no records
	s.Normals(dst, Records{First: math.MaxInt64 - 10})          // the last ten
	leaves.Normals(nil, Records{Digests: []microdata.Digest{}}) // none identified
}

// TestConcurrentUse: goroutines that share a stream get the same draws as one alone.
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

// TestAllocations: a call allocates nothing, whatever its number of records.
func TestAllocations(t *testing.T) {
	s := testKey(1).Stream("noise", "wage", 0)
	digests, values := identities(10_000, 4)
	dst := make([]float64, len(digests))
	leaves := release(testKey(1), "noise", "wage")
	for _, c := range []struct {
		name string
		s    *Stream
		r    Records
		most float64
	}{
		{"free", s, Records{}, 1},
		{"place", leaves, Records{Values: values}, 1},
		{"digests", leaves, Records{Digests: digests, Values: values}, 1},
	} {
		// One more than counted, because a garbage collection may empty the pool.
		if got := testing.AllocsPerRun(20, func() { c.s.Normals(dst, c.r) }); got > c.most {
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
