package keystream

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/microdata"
)

const vectorsFile = "testdata/vectors.json"

// hexBits is a float64 by its IEEE 754 bits, or a word, as 16 hexadecimal digits.
type hexBits uint64

func (h hexBits) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%016x", uint64(h)), nil }
func (h *hexBits) UnmarshalText(b []byte) error {
	var v [8]byte
	if n, err := hex.Decode(v[:], b); err != nil || n != 8 {
		return fmt.Errorf("%q is not 16 hexadecimal digits", b)
	}
	*h = hexBits(binary.BigEndian.Uint64(v[:]))
	return nil
}

// vectors must be reproduced by another implementation of docs/keystream.md.
type vectors struct {
	Specification string
	Keys          []keyVector
	Streams       []streamVector
	Releases      []releaseVector
	Bindings      []bindingVector
	Digests       []digestVector
	Functions     map[string][][2]hexBits // by name: argument, value
	// SHA-256 of the tables: 257 x, 257 f, the tail's probability, 8 bytes each, big endian
	Ziggurat string
}

type keyVector struct{ Secret, Text, ID, DigestSubkey string }

// releaseVector is a stream of draws for a release, with its name; infos and subkeys are
// hexadecimal.
type releaseVector struct {
	Key                         int // index in Keys
	Mask, Done, Scope, Column   string
	PlaceInfo, IdentityInfo     string
	PlaceSubkey, IdentitySubkey string
	Places                      []placedVector
	Identified                  []identifiedVector
	RunSHA256Of                 int    // records at places (0, 0), (0, 1), …, with values 0, 1, …
	NormalsSHA256               string // SHA-256 of their draws, 8 bytes each, big endian
}

type placedVector struct {
	Stream int
	Record int64
	Value  hexBits
	drawVector
}

type bindingVector struct {
	Key    int
	Values []valueVector
	Bound  hexBits // the number as a float64
}

type streamVector struct {
	Key           int // index in Keys
	Mask, Column  string
	Replicate     int
	Info          string // HKDF info
	Subkey        string
	Runs          []runVector
	RunSHA256Of   int    // a further run of this many records from place (0, 0), as the digest of its draws
	NormalsSHA256 string // SHA-256 of the draws, 8 bytes each, big endian
}

type drawVector struct{ Word, Uniform, Normal, Laplace hexBits }

type runVector struct {
	Stream int
	First  int64
	Draws  []drawVector
}

type identifiedVector struct {
	Digest string
	Value  hexBits
	drawVector
}

type digestVector struct {
	Key      int
	Values   []valueVector
	Encoding string // the input of the CBC-MAC
	Digest   string
}

type valueVector struct{ Type, Value string }

func drawVectors(s *Stream, n int, r Records) []drawVector {
	words, x := make([]uint64, n), make([]float64, n)
	out := make([]drawVector, n)
	s.Words(words, r)
	for i, w := range words {
		out[i].Word = hexBits(w)
	}
	s.Uniforms(x, r)
	for i, v := range x {
		out[i].Uniform = hexBits(math.Float64bits(v))
	}
	s.Normals(x, r)
	for i, v := range x {
		out[i].Normal = hexBits(math.Float64bits(v))
	}
	s.Laplaces(x, r)
	for i, v := range x {
		out[i].Laplace = hexBits(math.Float64bits(v))
	}
	return out
}

// remarkable returns the first places of stream 0 with draws from the rectangle, the wedge and the
// tail of the ziggurat, and after one and two rejections. In a release they are those of the given
// values.
func remarkable(t *testing.T, s *Stream, values []float64) []int64 {
	found := map[string]int64{}
	src := s.source(Records{Values: values}, 1<<20)
	defer src.close()
	for i := range 1 << 20 {
		w0, w1 := src.further(i, 0)
		draw := 0
		for {
			l, j := layers[w0&0xff], w0>>11|1
			if _, ok := point(w0, w1); ok {
				way := "rectangle"
				if j >= l.inside {
					way = "wedge"
					if w0&0xff == 0 {
						way = "tail"
					}
				}
				if way = fmt.Sprint(way, " after ", draw); draw < 3 {
					if _, have := found[way]; !have {
						found[way] = int64(i)
					}
				}
				break
			}
			draw++
			w0, w1 = src.further(i, uint32(draw))
		}
	}
	var places []int64
	for _, way := range []string{"rectangle after 0", "wedge after 0", "tail after 0", "rectangle after 1",
		"rectangle after 2", "wedge after 1"} {
		at, ok := found[way]
		if !ok {
			t.Fatalf("there is no place named %q", way)
		}
		places = append(places, at)
	}
	return places
}

func releaseVectorOf(t *testing.T, keys []Key, key int, n Name, ways bool) releaseVector {
	s := keys[key].Release(n)
	place, identity := named(labelPlace, n.Mask, n.Done, n.Column, n.Scope), named(labelIdentity, n.Mask, n.Done, n.Column)
	v := releaseVector{Key: key, Mask: n.Mask, Done: n.Done, Scope: n.Scope, Column: n.Column,
		PlaceInfo: hex.EncodeToString(place), IdentityInfo: hex.EncodeToString(identity),
		PlaceSubkey:    hex.EncodeToString(keys[key].derive(string(place), keySize)),
		IdentitySubkey: hex.EncodeToString(keys[key].derive(string(identity), keySize)),
		RunSHA256Of:    500}
	values := make([]float64, 1<<20)
	for i := range values {
		values[i] = float64(i)
	}
	add := func(stream int, record int64, value float64) {
		v.Places = append(v.Places, placedVector{stream, record, hexBits(math.Float64bits(value)),
			drawVectors(s, 1, Records{Stream: stream, First: record, Values: []float64{value}})[0]})
	}
	for j, value := range []float64{0, 1, -1234.5, 1e300, math.Inf(-1), math.Copysign(0, -1)} {
		add(j, int64(j), value)
		d := microdata.Digest{byte(j + 1), 0xff, 3: byte(len(n.Done))}
		v.Identified = append(v.Identified, identifiedVector{hex.EncodeToString(d[:]), hexBits(math.Float64bits(value)),
			drawVectors(s, 1, Records{Digests: []microdata.Digest{d}, Values: []float64{value}})[0]})
	}
	add(math.MaxUint32, math.MaxInt64-1, 0.1)
	if ways {
		for _, at := range remarkable(t, s, values) {
			add(0, at, values[at])
		}
	}
	x := make([]float64, v.RunSHA256Of)
	s.Normals(x, Records{Values: values})
	v.NormalsSHA256 = hashOf(x)
	return v
}

// namesWithoutTwins are chosen so that a careless concatenation would give two of them the same
// name.
var namesWithoutTwins = []Name{
	{"noise#1", "bias 0x1p-06 0x1.9p+06;by 6:bias#1;noise 0x0p+00 0x1.18p+05 0x1.9p+06 0x0p+00;", "", "wage"},
	{"noise#1", "bias 0x1p-06 0x1.9p+06;by 6:bias#1;noise 0x0p+00 0x1.18p+05 0x1.9p+06 0x0p+00;", "survey", "wage"},
	{"noise#1", "noise 0x0p+00 0x1.18p+05 0x1.9p+06 0x0p+00;", "Zürich", "Einkommen (€)"},
	{"a", "x;", "y;", "c"},
	{"ax;", "", "y;", "c"},
	{"a", "x;y;", "", "c"},
	{"a", "x;", "c", "y;"},
	{"a", "x;", "", "y;c"},
	{"", "", "", ""},
	{"\x00", "", "", ""},
	{"", "\x00", "", ""},
	{"", "", "\x00", ""},
	{"", "", "", "\x00"},
}

// FuzzNames parses the parts of a name from its info.
func FuzzNames(f *testing.F) {
	for _, n := range namesWithoutTwins {
		f.Add(n.Mask, n.Done, n.Column, n.Scope)
	}
	f.Fuzz(func(t *testing.T, mask, done, column, scope string) {
		info, ok := strings.CutPrefix(string(named(labelPlace, mask, done, column, scope)), labelPlace)
		if !ok {
			t.Fatal("the info does not begin with its label")
		}
		for _, want := range []string{mask, done, column, scope} {
			n := binary.BigEndian.Uint64([]byte(info[:8]))
			if got := info[8 : 8+n]; got != want {
				t.Errorf("%q was read back as %q", want, got)
			}
			info = info[8+n:]
		}
		if info != "" {
			t.Errorf("%q is left", info)
		}
	})
}

// functions are the functions of the specification, by name.
var functions = map[string]func(float64) float64{
	"log": log, "exp": exp,
	"normal_quantile": NormalQuantile, "normal_cdf": NormalCDF, "normal_survival": normalSurvival,
	"laplace_quantile": LaplaceQuantile, "laplace_cdf": LaplaceCDF, "laplace_survival": laplaceSurvival,
}

func makeVectors(t *testing.T) vectors {
	v := vectors{Specification: "sdlfilter keystream, version 2 (docs/keystream.md)", Functions: map[string][][2]hexBits{}}
	keys := []Key{testKey(1), testKey(0xf0)}
	for _, k := range keys {
		v.Keys = append(v.Keys, keyVector{hex.EncodeToString(k.sealed.secret[:]), k.Text(), k.ID(),
			hex.EncodeToString(k.derive(labelDigest, keySize))})
	}

	for i, c := range []struct {
		key          int
		mask, column string
		replicate    int
	}{{0, "noise", "wage", 0}, {0, "noise", "wage", 7}, {1, "bias#2", "Einkommen (€)", 0}, {0, "", "", math.MaxInt32}} {
		s := keys[c.key].Stream(c.mask, c.column, c.replicate)
		info := streamInfo(c.mask, c.column, uint64(c.replicate))
		sv := streamVector{Key: c.key, Mask: c.mask, Column: c.column, Replicate: c.replicate,
			Info:   hex.EncodeToString([]byte(info)),
			Subkey: hex.EncodeToString(keys[c.key].derive(info, keySize))}
		add := func(stream int, first int64, n int) {
			sv.Runs = append(sv.Runs, runVector{stream, first, drawVectors(s, n, Records{Stream: stream, First: first})})
		}
		add(0, 0, 5)
		add(1, 0, 2)
		add(math.MaxUint32, math.MaxInt64-4, 4)
		add(17, 1<<40-1, 3)
		if i == 0 {
			for _, at := range remarkable(t, s, nil) {
				add(0, at, 1)
			}
		}
		sv.RunSHA256Of = 2000
		x := make([]float64, sv.RunSHA256Of)
		s.Normals(x, Records{})
		sv.NormalsSHA256 = hashOf(x)
		v.Streams = append(v.Streams, sv)
	}
	for i, n := range namesWithoutTwins {
		v.Releases = append(v.Releases, releaseVectorOf(t, keys, i%len(keys), n, i == 0))
	}

	for _, tuple := range [][]value{
		{{arrow.PrimitiveTypes.Int32, "42"}},
		{{arrow.PrimitiveTypes.Float64, "42"}},
		{{arrow.BinaryTypes.String, "42"}},
		{{arrow.BinaryTypes.Binary, "42"}},
		{{arrow.BinaryTypes.String, "∅"}},
		{{arrow.PrimitiveTypes.Int64, "-9007199254740993"}},
		{{arrow.PrimitiveTypes.Uint64, "18446744073709551615"}},
		{{arrow.PrimitiveTypes.Int64, "1152921504606846976"}},
		{{arrow.PrimitiveTypes.Float64, "-0"}},
		{{arrow.PrimitiveTypes.Float64, "0.1"}},
		{{arrow.PrimitiveTypes.Float32, "0.1"}},
		{{arrow.PrimitiveTypes.Float64, "NaN"}},
		{{&arrow.Decimal128Type{Precision: 38, Scale: 4}, "0.1"}},
		{{&arrow.Decimal128Type{Precision: 38, Scale: 20}, "1234567890.12345678"}},
		{{&arrow.Decimal256Type{Precision: 60, Scale: 2}, "100000000000000000000000000000000000000000"}},
		{{arrow.FixedWidthTypes.Boolean, "true"}, {arrow.FixedWidthTypes.Boolean, "false"}},
		{{arrow.FixedWidthTypes.Date32, "1931-12-24"}},
		{{&arrow.TimestampType{Unit: arrow.Microsecond}, "1960-01-01T00:00:00.25"}},
		{{&arrow.Time64Type{Unit: arrow.Nanosecond}, "10:00:00.000000001"}},
		{{&arrow.DurationType{Unit: arrow.Millisecond}, "-1500ms"}},
		{{arrow.BinaryTypes.String, "Zoë"}, {arrow.PrimitiveTypes.Int64, "∅"}, {arrow.FixedWidthTypes.Date64, "1988-03-01"}},
		{{arrow.BinaryTypes.String, ""}, {arrow.PrimitiveTypes.Int64, "∅"}},
		{{arrow.BinaryTypes.String, ""}, {arrow.BinaryTypes.String, "a name of more than one block of sixteen bytes"}},
	} {
		for k := range keys {
			dv := digestVector{Key: k}
			m := message(nil).begin(len(tuple))
			columns := make([]*microdata.Column, len(tuple))
			for i, c := range tuple {
				dv.Values = append(dv.Values, valueVector{c.dt.String(), c.text})
				a := arrayOf(t, c.dt, c.text)
				columns[i] = &microdata.Column{Array: a}
				col := arrayColumn(a)
				m = col.append(m, 0)
			}
			d := keys[k].Digests(nil, columns, 1)[0]
			binary.BigEndian.PutUint64(m, uint64(len(m)-blockSize))
			dv.Encoding = hex.EncodeToString(m)
			dv.Digest = hex.EncodeToString(d[:])
			v.Digests = append(v.Digests, dv)

			bind, bound := keys[k].Binding(), make([]float64, 1)
			bind.Begin(1, len(tuple))
			for _, c := range columns {
				bind.Array(c.Array)
			}
			bind.Values(bound)
			v.Bindings = append(v.Bindings, bindingVector{k, dv.Values, hexBits(math.Float64bits(bound[0]))})
		}
	}

	uniforms := make([]float64, 40)
	keys[0].Stream("arguments", "", 0).Uniforms(uniforms, Records{})
	probabilities := []float64{0, 1e-300, 1e-100, 1e-17, 1e-5, 0.075, 0.0750001, 0.3, 0.5, 0.925, 0.93, 1 - 0x1p-53, 1}
	reals := []float64{-800, -745, -720.25, -708, -38.5, -37.04, -6, -5.656, -1, -0.675, -0.5, -1e-9, 0, 1e-9, 0.5, 0.675,
		1, 5.656, 6, 37.04, 700, 710}
	positives := []float64{0, 5e-324, 1e-310, 1e-300, 0.1, 0.7071, 0.70711, 1, 1.5, 10, 1e300}
	for i, u := range uniforms {
		probabilities = append(probabilities, u, u*0x1p-30)
		reals = append(reals, float64(20*u)-10, float64(80*u)-40) // not fused
		positives = append(positives, u+0.5, math.Ldexp(u, 50*i-1000))
	}
	for name, f := range functions {
		arguments := reals
		switch name {
		case "log":
			arguments = positives
		case "normal_quantile", "laplace_quantile":
			arguments = probabilities
		}
		for _, x := range arguments {
			v.Functions[name] = append(v.Functions[name],
				[2]hexBits{hexBits(math.Float64bits(x)), hexBits(math.Float64bits(f(x)))})
		}
	}
	tables := append(append([]float64{}, zigguratX[:]...), zigguratF[:]...)
	v.Ziggurat = hashOf(append(tables, tailProbability))
	return v
}

func hashOf(x []float64) string {
	b := make([]byte, 0, 8*len(x))
	for _, v := range x {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(v))
	}
	return fmt.Sprintf("%x", sha256.Sum256(b))
}

// TestVectors compares the package with the committed vectors, which testdata/check_vectors.py
// recomputes from the specification alone.
func TestVectors(t *testing.T) {
	got, err := json.MarshalIndent(makeVectors(t), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(vectorsFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	var want, have vectors
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got, &have); err != nil {
		t.Fatal(err)
	}
	differ := func(what string, a, b any) {
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		if string(x) != string(y) {
			t.Errorf("%s: got %s, vectors have %s", what, x, y)
		}
	}
	if len(want.Keys) < 2 || len(want.Streams) != len(have.Streams) || len(want.Digests) != len(have.Digests) ||
		len(want.Functions) != len(have.Functions) {
		t.Fatalf("%s contains other vectors than the test makes: write it again with -update", vectorsFile)
	}
	differ("keys", have.Keys, want.Keys)
	differ("releases", have.Releases, want.Releases)
	differ("bindings", have.Bindings, want.Bindings)
	for i := range want.Streams {
		differ(fmt.Sprint("stream ", i), have.Streams[i], want.Streams[i])
	}
	for i := range want.Digests {
		differ(fmt.Sprint("digest ", i), have.Digests[i], want.Digests[i])
	}
	for name := range want.Functions {
		for i := range want.Functions[name] {
			differ(fmt.Sprint(name, " ", i), have.Functions[name][i], want.Functions[name][i])
		}
	}
	differ("ziggurat", have.Ziggurat, want.Ziggurat)
}
