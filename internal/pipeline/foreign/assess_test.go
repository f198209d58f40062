package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	parquetsource "github.com/sdlfilter/sdlfilter/connectors/parquet"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// row is a record of a test file; NaN is a missing value, and a text that is not a number makes the
// record unreadable.
type row struct {
	id         string
	wage, debt float64
	age        int
	region     string
	bad        bool
}

// rows returns n records, with some values missing in either column.
func rows(n int) []row {
	draw := rand.New(rand.NewPCG(3, 4))
	out := make([]row, n)
	for i := range out {
		out[i] = row{id: fmt.Sprint(1_000_000 + i), wage: math.Round(1000 * math.Exp(draw.NormFloat64())),
			debt: float64(draw.IntN(500)), age: 20 + draw.IntN(5), region: []string{"n", "s", ""}[draw.IntN(3)]}
		if i%11 == 3 {
			out[i].wage = math.NaN()
		}
		if i%7 == 5 {
			out[i].debt = math.NaN()
		}
	}
	return out
}

// masked returns a release of records: other wages, some of them missing.
func masked(in []row) []row {
	draw := rand.New(rand.NewPCG(5, 6))
	out := append([]row(nil), in...)
	for i := range out {
		out[i].wage += math.Round(300 * draw.NormFloat64())
		if i%17 == 2 {
			out[i].wage = math.NaN()
		}
	}
	return out
}

// shuffled returns the same records in another order.
func shuffled(in []row) []row {
	out := append([]row(nil), in...)
	rand.New(rand.NewPCG(7, 8)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// file writes records; the columns have the order of the header.
func file(t *testing.T, header string, in []row, types ...string) *csv.SourceConfig {
	t.Helper()
	var text strings.Builder
	fmt.Fprintln(&text, header)
	number := func(v float64) string {
		if v != v {
			return ""
		}
		return fmt.Sprint(v)
	}
	for _, r := range in {
		var fields []string
		for name := range strings.SplitSeq(header, ",") {
			field := map[string]string{"id": r.id, "wage": number(r.wage), "debt": number(r.debt), "age": fmt.Sprint(r.age),
				"region": r.region, "key": number(r.wage)}[name]
			if r.bad && name == "wage" {
				field = "canary"
			}
			fields = append(fields, field)
		}
		fmt.Fprintln(&text, strings.Join(fields, ","))
	}
	path := filepath.Join(t.TempDir(), "data.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &csv.SourceConfig{Path: path, Types: map[string]string{}}
	for i := 0; i < len(types); i += 2 {
		c.Types[types[i]] = types[i+1]
	}
	return c
}

// direct measures pairs constructed here, in one block, without unreadable records.
func direct(t *testing.T, original, released []row, names ...string) *assess.Measures {
	t.Helper()
	var columns []assess.Column
	for i, name := range names {
		columns = append(columns, assess.Column{Name: name, Index: i, Masked: true})
	}
	acc, err := assess.New(assess.Options{Columns: columns, Targets: []string{"max", "p50"}})
	if err != nil {
		t.Fatal(err)
	}
	b := new(microdata.Block)
	b.Reset(0, 0, len(original), len(names))
	vector := func(in []row, name string) (v microdata.Vector) {
		v.Valid = microdata.NewBitmap(len(in), nil)
		for i, r := range in {
			x := map[string]float64{"wage": r.wage, "debt": r.debt, "age": float64(r.age)}[name]
			if x != x {
				v.Valid.Clear(i)
				x = 0
			}
			v.Values = append(v.Values, x)
		}
		return v
	}
	for j, name := range names {
		b.Columns[j].Original, b.Columns[j].Released = vector(original, name), vector(released, name)
	}
	for i := range original {
		if original[i].bad || released[i].bad {
			b.Reject(i, "", "malformed")
		}
	}
	acc.Add(b)
	m, err := acc.Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var measured = []string{"max", "p50"}

// alike compares two sets of measures to 12 digits: the last digits of sums depend on the order of
// blocks. NaN must be in both.
func alike(t *testing.T, name string, got, want *assess.Measures) {
	t.Helper()
	if where := differs("", reflect.ValueOf(got), reflect.ValueOf(want)); where != "" {
		t.Errorf("%s: %s", name, where)
	}
}

func differs(path string, a, b reflect.Value) string {
	if a.Kind() != b.Kind() {
		return path + " is of another kind"
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			if a.IsNil() != b.IsNil() {
				return path + " is there in one alone"
			}
			return ""
		}
		return differs(path, a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if a.Type().Field(i).IsExported() {
				if where := differs(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i)); where != "" {
					return where
				}
			}
		}
		return ""
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return fmt.Sprintf("%s has %d and %d places", path, a.Len(), b.Len())
		}
		for i := range a.Len() {
			if where := differs(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i)); where != "" {
				return where
			}
		}
		return ""
	case reflect.Float64:
		x, y := a.Float(), b.Float()
		if x != y && (x == x || y == y) && !(math.Abs(x-y) <= 1e-12*math.Max(math.Abs(x), math.Abs(y))) {
			return fmt.Sprintf("%s is %v, want %v", path, x, y)
		}
		return ""
	case reflect.Func, reflect.Map:
		return ""
	default:
		if !a.Equal(b) {
			return fmt.Sprintf("%s is %v, want %v", path, a, b)
		}
		return ""
	}
}

// withoutRecord leaves out the risks by the whole record, which TestRecordOfARelease is about.
func withoutRecord(m *assess.Measures) *assess.Measures {
	for i := range m.Columns {
		c := &m.Columns[i]
		c.Risk = slices.DeleteFunc(c.Risk, func(k assess.Risk) bool { return k.Knowledge == assess.KnowledgeRecord })
	}
	return m
}

// All columns of the released file tell, in whatever order and however the records are matched: here
// those of a wage that is the difference of two others, one of them text.
func TestRecordOfARelease(t *testing.T) {
	var original, released, turned strings.Builder
	original.WriteString("id,wage\n")
	released.WriteString("id,part,region,wage,whole\n")
	turned.WriteString("whole,wage,region,id,part\n")
	r := rand.New(rand.NewPCG(4, 36))
	for i := range 500 {
		wage, part, y := 1000+r.IntN(5000), 1000+r.IntN(5000), r.IntN(7000)
		fmt.Fprintf(&original, "k%d,%d\n", i, wage)
		fmt.Fprintf(&released, "k%d,%d,r%d,%d,%d\n", i, part, i%4, y, part+wage)
		fmt.Fprintf(&turned, "%d,%d,r%d,k%d,%d\n", part+wage, y, i%4, i, part)
	}
	of := func(text string) connectors.SourceConfig {
		path := filepath.Join(t.TempDir(), "a.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return &csv.SourceConfig{Path: path, Types: map[string]string{"part": "string"}}
	}
	for _, id := range []string{"", "id"} {
		for name, other := range map[string]string{"released": released.String(), "turned": turned.String()} {
			a := &csv.SourceConfig{Path: filepath.Join(t.TempDir(), "o.csv")}
			if err := os.WriteFile(a.Path, []byte(original.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			m, err := Assess(t.Context(), Release{ID: id, Original: a, Released: of(other), Targets: measured},
				new(pipeline.Progress))
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for _, k := range m.Measures.Columns[0].Risk {
				if k.Knowledge == assess.KnowledgeRecord {
					found++
					if tells := slices.Sorted(slices.Values(k.Tells)); k.RMSE != 0 || !slices.Equal(tells, []string{"part", "whole"}) {
						t.Errorf("%s by %q: %+v", name, id, k)
					}
				}
			}
			if found != 1+len(measured) {
				t.Errorf("%s by %q: %d risks by record", name, id, found)
			}
		}
	}
}

// A release compared by position has the measures of its pairs, for any order of columns. Compared
// by an identifier it has the same measures, for any order of records, and with identifiers as
// integers, doubles or texts.
func TestAssessOfARelease(t *testing.T) {
	original := rows(3000)
	released := masked(original)
	for _, i := range []int{0, 100, 2999} {
		original[i].bad = true
	}
	for _, i := range []int{1, 100, 2998} {
		released[i].bad = true
	}
	const header = "id,wage,debt,age,region"
	numbers := []string{"wage", "float64"}
	want := direct(t, original, released, "wage", "debt", "age")
	progress := new(pipeline.Progress)
	byPlace,
		err := Assess(t.Context(),
		Release{ID: "", Original: file(t, header, original, numbers...),
			Released: file(t, "region,age,debt,wage,id", released, numbers...), Columns: []string{"wage", "debt", "age"},
			Targets: measured, Pictures: true}, progress)
	if err != nil {
		t.Fatal(err)
	}
	alike(t, "by position", withoutRecord(byPlace.Measures), want)
	if byPlace.OriginalN != 3000 || byPlace.Released != 3000 || byPlace.Unmatched != 0 ||
		byPlace.Measures.Records != 2995 {
		t.Errorf("by position: %+v, want 3000 originals, 3000 released, none unmatched and 2995 measured", byPlace)
	}
	if progress.Phase() != "assess" || progress.Records() != 3000 {
		t.Errorf("the progress has the phase %s and %d records, want assess and 3000", progress.Phase(), progress.Records())
	}
	if len(byPlace.Pictures) != 3 || byPlace.Pictures[2].Column != "age" {
		t.Errorf("%d pictures, want 3", len(byPlace.Pictures))
	}
	// If only one file can read the record of an identifier, it is omitted from both: an unreadable
	// record of the released file has no partner.
	for _, types := range [][2]string{{"int64", "int64"}, {"int64", "float64"}, {"float64", "int64"},
		{"string", "string"}} {
		got,
			err := Assess(t.Context(),
			Release{ID: "id", Original: file(t, header, original, append(numbers, "id", types[0])...),
				Released: file(t, header, shuffled(released), append(numbers, "id", types[1])...), Targets: measured},
			new(pipeline.Progress))
		if err != nil {
			t.Errorf("%v: %v", types, err)
			continue
		}
		alike(t, fmt.Sprint("by identifiers ", types), withoutRecord(got.Measures), want)
		if got.OriginalN != 3000 || got.Released != 3000 || got.Unmatched != 2 || got.Pictures != nil {
			t.Errorf("types %v: %d originals, %d released, %d unmatched; want 3000, 3000, 2 and no pictures", types,
				got.OriginalN, got.Released, got.Unmatched)
		}
	}
	// Records that exist in only one of the files: the first, the last, and one in between.
	few := shuffled(append([]row{}, released[2:1500]...))
	got,
		err := Assess(t.Context(),
		Release{ID: "id", Original: file(t, header, original, numbers...), Released: file(t, header, few, numbers...),
			Columns: []string{"debt"}, Targets: measured}, new(pipeline.Progress))
	if err != nil {
		t.Fatal(err)
	}
	// The column of the unreadable value is not measured: an unreadable value in the release is still looked
	// at, one in the original is not.
	for i := range original {
		original[i].bad, released[i].bad = false, i == 100
	}
	alike(t, "a part", withoutRecord(got.Measures), direct(t, original[2:1500], released[2:1500], "debt"))
	if got.Unmatched != 3000-1497 || got.Released != 1498 {
		t.Errorf("%d unmatched originals and %d released records, want 1503 and 1498", got.Unmatched, got.Released)
	}
}

// Files that cannot be matched are an error with the file and the place, and without a value.
func TestAssessRefuses(t *testing.T) {
	const header = "id,wage,debt,age,region"
	original := rows(40)
	changed := func(change func([]row) []row) []row { return change(append([]row{}, original...)) }
	again := func(i, j int) func([]row) []row {
		return func(r []row) []row { r[j].id = r[i].id; return r }
	}
	for _, c := range []struct {
		name                         string
		original, released           []row
		id                           string
		columns                      []string
		headerOriginal, headerRelase string
		want                         string
		record                       int64
		typed                        bool
	}{
		{name: "fewer", released: original[:39], want: "different numbers of records; match them with --id"},
		{name: "more", original: original[:39], want: "different numbers of records; match them with --id"},
		{name: "none", released: original[:0], want: "no numeric column in common"},
		{name: "none of the columns that are asked for", released: original[:0], typed: true,
			want: "different numbers of records"},
		{name: "repeated identity in the original", original: changed(again(0, 39)), id: "id", want: "repeats a value",
			record: 40},
		{name: "repeated identity in the release", released: changed(again(38, 39)), id: "id", want: "repeats a value",
			record: 40},
		{name: "missing identity in the original", original: changed(func(r []row) []row { r[4].id = ""; return r }),
			id: "id", want: "has no value", record: 5},
		{name: "missing identity in the release", released: changed(func(r []row) []row { r[0].id = ""; return r }), id: "id",
			want: "has no value", record: 1},
		{name: "no such column", columns: []string{"wages"},
			want: `column "wages" is not a numeric column of both files (did you mean column `},
		{name: "a text", columns: []string{"wage", "region"}, want: `column "region" is not a numeric column of both files`},
		{name: "not released", columns: []string{"debt"}, headerRelase: "id,wage",
			want: `column "debt" is not a numeric column of both files`},
		{name: "nothing in common", headerRelase: "id,region", id: "id",
			want: "the two files have no numeric column in common"},
		{name: "the identifier alone in common", headerRelase: "id,region", headerOriginal: "id,wage", id: "id",
			want: "the two files have no numeric column in common"},
		{name: "no identifier in the original", headerOriginal: "wage,debt", id: "id", want: "is not in the original file"},
		{name: "no identifier in the release", headerRelase: "wage,debt", id: "id", want: "is not in the released file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.original == nil {
				c.original = original
			}
			if c.released == nil {
				c.released = original
			}
			if c.headerOriginal == "" {
				c.headerOriginal = header
			}
			if c.headerRelase == "" {
				c.headerRelase = header
			}
			var types []string
			if c.typed {
				types = []string{"wage", "float64"}
			}
			_, err := Assess(t.Context(), Release{ID: c.id, Columns: c.columns, Targets: measured,
				Original: file(t, c.headerOriginal, c.original, types...), Released: file(t, c.headerRelase, c.released, types...)},
				new(pipeline.Progress))
			var of *connectors.RecordError
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.As(err, &of) != (c.record > 0) || of != nil &&
				of.Record != c.record {
				t.Errorf("got %v, want %s at record %d", err, c.want, c.record)
			}
			var data *pipeline.DataError
			if c.record == 0 && !errors.As(err, &data) {
				t.Errorf("%v is not an error of the data", err)
			}
		})
	}
	for _, missing := range []string{"original", "released"} {
		r := Release{Original: file(t, header, original), Released: file(t, header, original)}
		if gone := (&csv.SourceConfig{Path: filepath.Join(t.TempDir(), "gone.csv")}); missing == "original" {
			r.Original = gone
		} else {
			r.Released = gone
		}
		if _, err := Assess(t.Context(), r, new(pipeline.Progress)); err == nil ||
			!strings.HasPrefix(err.Error(), missing+": ") {
			t.Errorf("the %s file is missing: error %v", missing, err)
		}
	}
	if _, err := Assess(t.Context(),
		Release{Original: file(t, header, original), Released: file(t, header, original), Targets: []string{"p101"}},
		new(pipeline.Progress)); err == nil {
		t.Error("an unknown target gives no error")
	}
}

// A category that is a number in both files is compared by value, in any notation. If one file has
// text, it is compared as text.
func TestCategoriesAreToldByTheirValues(t *testing.T) {
	write := func(text string) *csv.SourceConfig {
		path := filepath.Join(t.TempDir(), "a.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return &csv.SourceConfig{Path: path}
	}
	for text, want := range map[string][]int32{
		"k,x\n2.0,1\n1.50,2\n1,3\n,4\n3,5\n": {1, 3, 0, -1, 4}, // as numbers: 2.0 is 2
		"k,x\n2.0,1\n1.50,2\n1,3\n,4\nz,5\n": {3, 4, 0, -1, 5}, // as text: 2.0 is not 2
	} {
		a := Attack{Original: write("k,x\n1,1\n2,2\n,3\n9,4\n1,5\n"), Released: write(text), Categorical: []string{"k"},
			Keys: []string{"x"}, Options: attack.Options{Targets: 5, Linkage: &attack.Linkage{}}}
		got, err := a.Run(t.Context(), new(pipeline.Progress))
		if err != nil {
			t.Fatal(err)
		}
		c := got.Data.Categorical[0]
		if !same([][]int32{c.Original, c.Released}, [][]int32{{0, 1, -1, 2, 0}, want}) {
			t.Errorf("%q: categories are %v and %v", text, c.Original, c.Released)
		}
	}
}

// Records at the same places are compared, however the two files are divided into blocks.
func TestFilesAreCutDifferently(t *testing.T) {
	original := rows(1000)
	released := masked(original)
	type record struct {
		Wage *float64 `parquet:"wage,optional"`
	}
	cut := func(in []row, size int64) *parquetsource.SourceConfig {
		t.Helper()
		var data bytes.Buffer
		w := parquet.NewGenericWriter[record](&data, parquet.MaxRowsPerRowGroup(size))
		for _, r := range in {
			one := record{}
			if r.wage == r.wage {
				one.Wage = &r.wage
			}
			if _, err := w.Write([]record{one}); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(t.TempDir(), "a.parquet")
		if err := errors.Join(w.Close(), os.WriteFile(path, data.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
		return &parquetsource.SourceConfig{Path: path}
	}
	want := direct(t, original, released, "wage")
	for _, sizes := range [][2]int64{{1000, 130}, {130, 1000}, {70, 130}, {130, 70}} {
		got,
			err := Assess(t.Context(),
			Release{Original: cut(original, sizes[0]), Released: cut(released, sizes[1]), Targets: measured},
			new(pipeline.Progress))
		if err != nil {
			t.Fatal(err)
		}
		alike(t, fmt.Sprint(sizes), withoutRecord(got.Measures), want)
	}
}

// A code that is another one for each record tells by some of its characters, and one that tells nothing changes no
// risk by much.
func TestCodesTellByTheirCharacters(t *testing.T) {
	g := rand.New(rand.NewPCG(41, 29))
	var original, released strings.Builder
	original.WriteString("wage\n")
	released.WriteString("case,name,wage\n")
	for range 2000 {
		place := g.IntN(3)
		wage := 1000*place + g.IntN(5)
		fmt.Fprintf(&original, "%d\n", wage)
		fmt.Fprintf(&released, "CASE-2024-%sW-%06d,%012x,%.1f\n", string("NSE"[place]), g.IntN(1_000_000), g.Uint64()>>16,
			float64(wage)+800*g.NormFloat64())
	}
	for told, columns := range map[string]string{"case": released.String(),
		"": strings.ReplaceAll(released.String(), "CASE-2024", "C")} {
		if told == "" { // without the letter
			for _, place := range "NSE" {
				columns = strings.ReplaceAll(columns, "C-"+string(place)+"W", "C-XW")
			}
		}
		dir := t.TempDir()
		for name, text := range map[string]string{"o.csv": original.String(), "r.csv": columns} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m,
			err := Assess(t.Context(),
			Release{Original: &csv.SourceConfig{Path: filepath.Join(dir, "o.csv")},
				Released: &csv.SourceConfig{Path: filepath.Join(dir, "r.csv")}}, new(pipeline.Progress))
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range m.Measures.Columns[0].Risk {
			if k.Knowledge != assess.KnowledgeRecord || k.Target != assess.TargetTypical {
				continue
			}
			// The wages of a place are 0 to 4 apart, and the SD of all wages is 817: a linear estimate by the released wage
			// alone errs by 572 (800 and 817 in quadrature).
			if got := float64(k.RMSE); (told != "") != (got < 10) || told == "" && !(got > 500) {
				t.Errorf("told by %q: the typical wage is known to within %v, by %q", told, got, k.Tells)
			}
		}
	}
}
