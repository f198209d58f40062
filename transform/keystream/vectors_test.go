package keystream

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
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

// vectors are what another implementation of docs/keystream.md must reproduce.
type vectors struct {
	Specification string
	Keys          []keyVector
	Names         []nameVector
	Streams       []streamVector
	Digests       []digestVector
	Functions     map[string][][2]hexBits // by name: argument, value
	Ziggurat      string                  // SHA-256 of the tables: 257 x, 257 f, the tail's probability, 8 bytes each, big endian
}

type keyVector struct{ Secret, Text, ID, DigestSubkey string }

type nameVector struct{ Label, Done, Scope, Name string }

type streamVector struct {
	Key           int // index in Keys
	Mask, Column  string
	Replicate     int
	Info          string // HKDF info
	PlaceSubkey   string
	DigestSubkey  string
	Runs          []runVector
	Identified    []identifiedVector
	RunSHA256Of   int    // a further run of so many records from place (0, 0), as the digest of its draws
	NormalsSHA256 string // of the draws' 8 bytes each, big endian
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
	Encoding string // what the CBC-MAC is taken of
	Digest   string
}

type valueVector struct{ Type, Value string }

func drawn(s *Stream, n int, r Records) []drawVector {
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

// remarkable returns the first place of stream 0 of every way through the
// ziggurat: rectangle, wedge, tail, and after one and two rejections.
func remarkable(s *Stream) map[string]int64 {
	found := map[string]int64{}
	const n = 1 << 12
	src := s.source(Records{}, 1<<20)
	defer src.close()
	for at := 0; at < 1<<20; at += n {
		for i := at; i < at+n; i++ {
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
	}
	return found
}

// namesWithoutTwins are label, what was done and scope, chosen so that joining
// them carelessly would give some the same name.
var namesWithoutTwins = [][3]string{
	{"noise#1", "bias 0x1p-06;noise 0x0p+00 0x1.18p+05;", ""},
	{"noise#1", "bias 0x1p-06;noise 0x0p+00 0x1.18p+05;", "survey"},
	{"noise#1", "bias 0x1p-06;noise 0x0p+00 0x1.18p+05;", "survey|6"},
	{"noise#1", "bias 0x1p-06;noise 0x0p+00 0x1.18p+05;", "Zürich"},
	{"a", "x;", "y;"},
	{"a|x;", "y;", ""},
	{"a", "x;", "y;|2"},
	{"a|x;", "y;", "2"},
	{"a", "x;", "b|x;|2"},
	{"a|x;|b", "x;", "2"},
	{"a", "x;", "0"},
	{"", "x;", "1"},
	{"", "x;", "1|1"},
}

// TestNames: no two triples share a name.
func TestNames(t *testing.T) {
	seen := map[string][3]string{}
	for _, n := range namesWithoutTwins {
		name := ReleaseName(n[0], n[1], n[2])
		if twin, have := seen[name]; have {
			t.Errorf("%q and %q share the name %q", twin, n, name)
		}
		seen[name] = n
	}
}

// FuzzNames takes the parts of a name out of it again.
func FuzzNames(f *testing.F) {
	for _, n := range namesWithoutTwins {
		f.Add(n[0], n[1], n[2])
	}
	f.Fuzz(func(t *testing.T, label, done, scope string) {
		done = strings.ReplaceAll(done, "|", "") + ";"
		left, found := ReleaseName(label, done, scope), ""
		if !strings.HasSuffix(left, ";") {
			at := strings.LastIndexByte(left, '|')
			n, err := strconv.Atoi(left[at+1:])
			if err != nil {
				t.Fatal(err)
			}
			found, left = left[at-n:at], left[:at-n-1]
		}
		at := strings.LastIndexByte(left, '|')
		if left[:at] != label || left[at+1:] != done || found != scope {
			t.Errorf("%q, %q, %q came back as %q, %q, %q", label, done, scope, left[:at], left[at+1:], found)
		}
	})
}

// functions of the specification by name.
var functions = map[string]func(float64) float64{
	"log": Log, "exp": Exp,
	"normal_quantile": NormalQuantile, "normal_cdf": NormalCDF, "normal_survival": NormalSurvival,
	"laplace_quantile": LaplaceQuantile, "laplace_cdf": LaplaceCDF, "laplace_survival": LaplaceSurvival,
}

func makeVectors(t *testing.T) vectors {
	v := vectors{Specification: "sdlfilter keystream, version 1 (docs/keystream.md)", Functions: map[string][][2]hexBits{}}
	keys := []Key{testKey(1), testKey(0xf0)}
	for _, k := range keys {
		v.Keys = append(v.Keys, keyVector{hex.EncodeToString(k.sealed.secret[:]), k.Text(), k.ID(),
			hex.EncodeToString(k.derive(labelDigest, KeySize))})
	}

	for _, n := range namesWithoutTwins {
		v.Names = append(v.Names, nameVector{n[0], n[1], n[2], ReleaseName(n[0], n[1], n[2])})
	}

	for i, c := range []struct {
		key          int
		mask, column string
		replicate    int
	}{{0, "noise", "wage", 0}, {0, "noise", "wage", 7}, {1, "bias#2", "Einkommen (€)", 0}, {0, "", "", math.MaxInt32},
		{0, ReleaseName("noise#1", "noise 0x0p+00 0x1.18p+05;", "survey.2026"), "wage", 0}} {
		s := keys[c.key].Stream(c.mask, c.column, c.replicate)
		info := streamInfo(c.mask, c.column, uint64(c.replicate))
		subkeys := keys[c.key].derive(info, 2*KeySize)
		sv := streamVector{Key: c.key, Mask: c.mask, Column: c.column, Replicate: c.replicate, Info: hex.EncodeToString([]byte(info)),
			PlaceSubkey: hex.EncodeToString(subkeys[:KeySize]), DigestSubkey: hex.EncodeToString(subkeys[KeySize:])}
		add := func(stream int, first int64, n int) {
			sv.Runs = append(sv.Runs, runVector{stream, first, drawn(s, n, Records{Stream: stream, First: first})})
		}
		add(0, 0, 5)
		add(1, 0, 2)
		add(math.MaxUint32, math.MaxInt64-4, 4)
		add(17, 1<<40-1, 3)
		if i == 0 {
			ways := remarkable(s)
			for _, way := range []string{"rectangle after 0", "wedge after 0", "tail after 0", "rectangle after 1", "rectangle after 2", "wedge after 1"} {
				at, ok := ways[way]
				if !ok {
					t.Fatalf("no place goes by %q", way)
				}
				add(0, at, 1)
			}
		}
		for j, value := range []float64{0, 1, -1234.5, 1e300, math.Inf(-1), math.Copysign(0, -1)} {
			d := microdata.Digest{byte(j + 1), 0xff, 3: byte(i)}
			sv.Identified = append(sv.Identified, identifiedVector{hex.EncodeToString(d[:]), hexBits(math.Float64bits(value)),
				drawn(s, 1, Records{Digests: []microdata.Digest{d}, Values: []float64{value}})[0]})
		}
		sv.RunSHA256Of = 2000
		x := make([]float64, sv.RunSHA256Of)
		s.Normals(x, Records{})
		sv.NormalsSHA256 = hashOf(x)
		v.Streams = append(v.Streams, sv)
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
			var ignored microdata.Digest
			e := keys[k].digestKey()
			binary.BigEndian.PutUint64(m, uint64(len(m)-blockSize))
			dv.Encoding = hex.EncodeToString(m)
			m.mac(e, &ignored)
			dv.Digest = hex.EncodeToString(d[:])
			v.Digests = append(v.Digests, dv)
		}
	}

	uniforms := make([]float64, 40)
	keys[0].Stream("arguments", "", 0).Uniforms(uniforms, Records{})
	probabilities := []float64{0, 1e-300, 1e-100, 1e-17, 1e-5, 0.075, 0.0750001, 0.3, 0.5, 0.925, 0.93, 1 - 0x1p-53, 1}
	reals := []float64{-800, -745, -720.25, -708, -38.5, -37.04, -6, -5.656, -1, -0.675, -0.5, -1e-9, 0, 1e-9, 0.5, 0.675, 1, 5.656, 6, 37.04, 700, 710}
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
			v.Functions[name] = append(v.Functions[name], [2]hexBits{hexBits(math.Float64bits(x)), hexBits(math.Float64bits(f(x)))})
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

// TestVectors holds the package against the committed vectors, which
// testdata/check_vectors.py recomputes from the specification alone.
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
		t.Fatalf("%s holds other vectors than the test makes: write it anew with -update", vectorsFile)
	}
	differ("keys", have.Keys, want.Keys)
	differ("names", have.Names, want.Names)
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
