package readstat

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// table is a file's worth of columns.
func table(kind Kind, version int) Target {
	return Target{Kind: kind, Version: version, Rows: 3, Columns: []Out{
		{
			Variable: Variable{Name: "x", Type: Double, Label: "a number",
				Format: map[Kind]string{SAV: "F8.2", DTA: "%9.2f"}[kind], Set: "x"},
			Labels: []Label{{Number: 1, Label: "one"}, {Number: 2, Label: "two"}}},
		{Variable: Variable{Index: 1, Name: "t", Type: String, Width: 12}},
	}}
}

func rows() []byte {
	t := Column{Offsets: []uint32{0}}
	for _, s := range []string{"a", "", "twelve bytes"} {
		t.Bytes = append(append(t.Bytes, s...), 0)
		t.Offsets = append(t.Offsets, uint32(len(t.Bytes)))
	}
	return AppendChunk(nil, []Column{{Numbers: []float64{1, 0, math.Pi}, States: []byte{0, 1, 0}}, t}, 3)
}

// written returns a file.
func written(t *testing.T, target Target, chunk []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(t.Context(), &out, target)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Rows(t.Context(), chunk, 0), w.End(t.Context()), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func input(kind Kind, file []byte) Input {
	return Input{Kind: kind, From: bytes.NewReader(file), Size: int64(len(file))}
}

// What is written is read again, with its labels, in chunks of any number of rows, and of the wanted columns alone.
func TestWrittenAndRead(t *testing.T) {
	for _, kind := range []Kind{SAV, DTA} {
		file := written(t, table(kind, 0), rows())
		in := input(kind, file)
		f, err := in.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		x := f.Variables[0]
		if f.Records != 3 || len(f.Variables) != 2 || f.Weight != -1 || x.Name != "x" || x.Label != "a number" ||
			x.Type != Double || f.Variables[1].Type != String || f.Variables[1].Width < 12 {
			t.Errorf("%d: %+v", kind, f)
		}
		labels := f.Labels[x.Set]
		if len(labels) != 2 || labels[0].Number != 1 || labels[1].Label != "two" || labels[0].IsText {
			t.Errorf("%d: %+v", kind, f.Labels)
		}
		for most := 1; most < 5; most++ {
			var numbers []float64
			var texts []string
			err := in.Values(t.Context(), func(int) bool { return true }, most, func(chunk []byte, n int) error {
				columns, rows, err := ReadChunk(chunk, []bool{false, true})
				if err != nil || rows != n || n > most || len(columns[0].Numbers) != n {
					return fmt.Errorf("%d rows of %d: %w", rows, n, err)
				}
				for i := range n {
					if columns[0].States[i] == 1 {
						columns[0].Numbers[i] = -1
					}
					texts = append(texts, string(columns[1].Text(i)))
				}
				numbers = append(numbers, columns[0].Numbers...)
				return nil
			})
			if err != nil || !slices.Equal(numbers, []float64{1, -1, math.Pi}) ||
				!slices.Equal(texts, []string{"a", "", "twelve bytes"}) {
				t.Errorf("%d: %v %q, %v", kind, numbers, texts, err)
			}
		}
		err = in.Values(t.Context(), func(i int) bool { return i == 1 }, 8, func(chunk []byte, n int) error {
			columns, rows, err := ReadChunk(chunk, []bool{true})
			if err == nil && (rows != 3 || string(columns[0].Text(2)) != "twelve bytes") {
				err = fmt.Errorf("%d rows, %q", rows, columns[0].Bytes)
			}
			return err
		})
		if err != nil {
			t.Errorf("%d: one column: %v", kind, err)
		}
	}
}

// An error of the reader, of the writer, or of the one that takes the rows, is what comes out, and so is the end of the
// context.
func TestErrorsOfTheHost(t *testing.T) {
	mine := errors.New("mine")
	file := written(t, table(DTA, 0), rows())
	in := input(DTA, file)
	in.From = io.NewSectionReader(failing{file, 60, mine}, 0, int64(len(file)))
	if _, err := in.Describe(t.Context()); !errors.Is(err, mine) {
		t.Errorf("a read that fails: %v", err)
	}
	if err := input(DTA, file).Values(t.Context(), func(int) bool { return true }, 1, func([]byte, int) error {
		return mine
	}); !errors.Is(err, mine) {
		t.Errorf("rows that are not taken: %v", err)
	}
	calls := 0
	w, err := NewWriter(t.Context(), refusing{mine, &calls}, table(DTA, 0))
	if err == nil {
		err = errors.Join(w.Rows(t.Context(), rows(), 0), w.End(t.Context()), w.Close())
	}
	if !errors.Is(err, mine) || calls != 1 {
		t.Errorf("a write that fails: %v, after %d calls", err, calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := input(DTA, file).Describe(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("at the end of the context: %v", err)
	}
}

type failing struct {
	file []byte
	from int64
	err  error
}

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.from {
		return 0, f.err
	}
	return copy(p, f.file[off:]), nil
}

type refusing struct {
	err   error
	calls *int
}

func (r refusing) Write([]byte) (int, error) {
	*r.calls++
	return 0, r.err
}

// What cannot be written is an error that names the column, or the record.
func TestWhatCannotBeWritten(t *testing.T) {
	target := table(DTA, 0)
	target.Rows = math.MaxInt32 + 1
	if _, err := NewWriter(t.Context(), io.Discard, target); err == nil {
		t.Error("more records than the formats count are accepted")
	}
	for _, name := range []string{"", "1", "a b", "if"} {
		target := table(DTA, 0)
		target.Columns[1].Name = name
		var at *ColumnError
		if _, err := NewWriter(t.Context(), io.Discard, target); !errors.As(err, &at) || at.Column != name {
			t.Errorf("the name %q: %v", name, err)
		}
	}
	target = table(DTA, 0)
	target.Columns[1].Width = 4 // less than the texts have
	w, err := NewWriter(t.Context(), io.Discard, target)
	if err != nil {
		t.Fatal(err)
	}
	var at *ColumnError
	if err := w.Rows(t.Context(), rows(), 40); !errors.As(err, &at) || at.Column != "t" ||
		!strings.Contains(err.Error(), "record 43 ") || strings.Contains(err.Error(), "twelve") {
		t.Errorf("a text that is too long: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// Blocks of rows whose lengths are not those of their parts are errors, at each of their bytes.
func TestDamagedChunks(t *testing.T) {
	whole := rows()
	texts := []bool{false, true}
	if _, n, err := ReadChunk(whole, texts); err != nil || n != 3 {
		t.Fatal(n, err)
	}
	for n := range whole {
		if _, _, err := ReadChunk(whole[:n], texts); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
	offsets := 8 + 3*8 + 8
	for _, c := range []struct {
		at    int
		value uint32
	}{{0, 4}, {0, math.MaxUint32}, {offsets, 1}, {offsets + 4, 0}, {offsets + 8, 2}, {offsets + 12, 3},
		{offsets + 12, 1 << 30}} {
		bad := slices.Clone(whole)
		binary.LittleEndian.PutUint32(bad[c.at:], c.value)
		if _, _, err := ReadChunk(bad, texts); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d at %d: %v", c.value, c.at, err)
		}
	}
}

// What a small file says of itself takes no more than the bounds: the number of its records, and labels that all name
// one text.
func TestHostileHeaders(t *testing.T) {
	file := written(t, table(DTA, 118), rows())
	at := bytes.Index(file, []byte("<N>")) + 3
	for records, ok := range map[int64]bool{3: true, 1032 * int64(len(file)): true, 1032*int64(len(file)) + 1: false,
		1 << 31: false, 1 << 40: false, 1<<40 + 3: false} {
		bad := slices.Clone(file)
		binary.LittleEndian.PutUint64(bad[at:], uint64(records))
		if f, err := input(DTA, bad).Describe(t.Context()); ok != (err == nil) || ok && f.Records != records {
			t.Errorf("%d records in %d bytes: %v", records, len(file), err)
		}
	}
	wide := written(t, table(DTA, 119), rows())
	at = bytes.Index(wide, []byte("<N>")) + 3
	binary.LittleEndian.PutUint64(wide[at:], 1<<40+3)
	if _, err := input(DTA, wide).Describe(t.Context()); err == nil {
		t.Error("a file of version 119 with 2^40 + 3 records is read")
	}
	for version, order := range map[int]binary.ByteOrder{118: binary.LittleEndian, 119: binary.LittleEndian,
		-118: binary.BigEndian, -119: binary.BigEndian} {
		file := written(t, table(DTA, max(version, -version)), rows())
		if version < 0 {
			file = bytes.Replace(file, []byte("<byteorder>LSF"), []byte("<byteorder>MSF"), 1)
		}
		at := bytes.Index(file, []byte("<N>")) + 3
		for records, ok := range map[uint64]bool{0: true, 3: true, math.MaxInt32: true, math.MaxInt32 + 1: false,
			1 << 56: false, math.MaxUint64: false} {
			order.PutUint64(file[at:], records)
			if err := input(DTA, file).countable(max(version, -version)); ok != (err == nil) {
				t.Errorf("version %d, %d records: %v", version, records, err)
			}
		}
	}
	// Labels in a file of Stata: their number, the bytes of texts, where each begins, the codes, the texts.
	const long = 30000
	aliased := func(labels int) []byte {
		le := binary.LittleEndian
		var table []byte
		table = le.AppendUint32(table, uint32(labels))
		table = le.AppendUint32(table, long)
		table = append(table, make([]byte, 4*labels)...) // all of them begin at 0
		for i := range labels {
			table = le.AppendUint32(table, uint32(i))
		}
		table = append(append(table, strings.Repeat("c", long-1)...), 0)
		set := le.AppendUint32([]byte("<lbl>"), uint32(len(table)))
		set = append(append(set, "x"...), make([]byte, 128+3)...)
		set = append(append(set, table...), "</lbl>"...)
		from := bytes.Index(file, []byte("<value_labels>")) + len("<value_labels>")
		to := bytes.Index(file, []byte("</value_labels>"))
		return slices.Concat(file[:from], set, file[to:])
	}
	fit := maxText / (long - 1 + 1) // the set's name is a byte
	for labels, ok := range map[int]bool{fit - 1: true, fit + 1: false} {
		f, err := input(DTA, aliased(labels)).Describe(t.Context())
		if ok && (err != nil || len(f.Labels["x"]) != labels) || !ok && !errors.Is(err, ErrMalformed) {
			t.Errorf("%d labels of %d bytes: %v", labels, long, err)
		}
	}
}

// Long texts that the library cannot hold are an error that says so.
func TestMoreThanTheMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a GiB of memory")
	}
	w,
		err := NewWriter(t.Context(), io.Discard,
		Target{Kind: DTA, Rows: 1, Columns: []Out{{Variable: Variable{Name: "t", Type: StringRef}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	text := bytes.Repeat([]byte("a"), 100<<20)
	for range 12 {
		if err = w.Ref(t.Context(), text); err != nil {
			break
		}
	}
	if !errors.Is(err, errRoom) || errors.Is(err, ErrMalformed) {
		t.Errorf("1.2 GB of texts: %v", err)
	}
}

// Declared missing codes, weights, labels of texts and each compression come back; an error of the library says what it
// is.
func TestWhatSPSSSays(t *testing.T) {
	for compressed := range 3 {
		target := table(SAV, 0)
		target.Compressed = compressed
		target.Columns[0].Weight = true
		target.Columns[0].Missing = []Range{{From: -9, To: -9}, {From: 97, To: 99}}
		target.Columns[1].Width = 8
		target.Columns[1].Set, target.Columns[1].Labels = "t", []Label{{IsText: true, Text: "a", Label: "the first"}}
		target.Columns[1].Missing = []Range{{Text: "zz"}}
		text := Column{Offsets: []uint32{0, 2, 4, 6}, Bytes: []byte("a\x00b\x00c\x00")}
		file := written(t, target,
			AppendChunk(nil, []Column{{Numbers: []float64{1, 2, 3}, States: make([]byte, 3)}, text}, 3))
		f, err := input(SAV, file).Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		x, y := f.Variables[0], f.Variables[1]
		if f.Weight != 0 || len(x.Missing) != 2 || !slices.Contains(x.Missing, Range{From: -9, To: -9}) ||
			!slices.Contains(x.Missing, Range{From: 97, To: 99}) || len(y.Missing) != 1 || y.Missing[0].Text != "zz" {
			t.Errorf("compression %d: weight %d, %+v, %+v", compressed, f.Weight, x.Missing, y.Missing)
		}
		if l := f.Labels[y.Set]; len(l) != 1 || !l[0].IsText || l[0].Text != "a" || l[0].Label != "the first" {
			t.Errorf("compression %d: %+v", compressed, l)
		}
		var of *Error
		if _, err := input(SAV, file[:100]).Describe(t.Context()); !errors.As(err, &of) || of.What == "" ||
			errors.Is(err, errRoom) {
			t.Errorf("the first 100 bytes: %v", err)
		}
	}
}
