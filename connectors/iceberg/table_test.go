package iceberg

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/iceberg/internal/meta"
	"github.com/sdlfilter/sdlfilter/connectors/parquet"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// records is n records with the columns masked (numbers that never repeat, 1000.5 + 7 i), secret (canary-000000 …), c0
// (integers i%200 − 100) and c1 (text with 8 beginnings).
func records(t testing.TB, n int) connectors.SourceConfig {
	t.Helper()
	return connectortest.NewTable(t,
		connectortest.Contract{Types: []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String}}, n).Config(0)
}

func at(path string) Place { return Place{Path: path} }

// begin opens a source and a sink for it, without the columns that are dropped.
func started(t testing.TB, from connectors.SourceConfig, to connectors.SinkConfig, drop ...string) (connectors.Source,
	connectors.Sink, *microdata.Layout, error) {
	t.Helper()
	src, err := from.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	layout := &microdata.Layout{Schema: src.Schema()}
	for i, f := range src.Schema().Fields {
		if !slices.Contains(drop, f.Name) {
			layout.Release = append(layout.Release, microdata.Output{Source: i, Column: len(layout.Read), Field: f})
			layout.Read = append(layout.Read, microdata.Want{Field: i, As: microdata.Array})
		}
	}
	sink, err := to.Create(t.Context(), connectors.Plan{Source: src, Layout: layout})
	return src, sink, layout, err
}

// finished writes all records, up to Finish.
func finished(t testing.TB, from connectors.SourceConfig, to connectors.SinkConfig, drop ...string) connectors.Sink {
	t.Helper()
	sink, err := tried(t, from, to, drop...)
	if err != nil {
		t.Fatal(err)
	}
	return sink
}

// tried is finished, with its error; the sink is nil if it was not made.
func tried(t testing.TB, from connectors.SourceConfig, to connectors.SinkConfig, drop ...string) (connectors.Sink, error) {
	t.Helper()
	src, sink, layout, err := started(t, from, to, drop...)
	if err != nil {
		return nil, err
	}
	pass, err := src.Read(t.Context(), layout, connectors.Cut{Records: 64})
	if err != nil {
		return sink, err
	}
	defer pass.Close()
	for {
		raw, err := pass.Next(t.Context())
		if err == io.EOF {
			return sink, sink.Finish(t.Context())
		}
		var b microdata.Block
		var e connectors.Encoded
		if err == nil {
			err = raw.Decode(&b)
		}
		if err == nil {
			e, err = sink.Encode(&b)
		}
		if err == nil {
			err = sink.Write(t.Context(), e)
		}
		if err != nil {
			return sink, err
		}
	}
}

// attempted is a whole run, as the pipeline has it: what is not committed is given up.
func attempted(t testing.TB, from connectors.SourceConfig, to connectors.SinkConfig) error {
	t.Helper()
	sink, err := tried(t, from, to)
	if sink == nil {
		return err
	}
	if err == nil {
		err = sink.Commit()
	}
	return errors.Join(err, sink.Abort())
}

func release(t testing.TB, from connectors.SourceConfig, to connectors.SinkConfig, drop ...string) {
	t.Helper()
	if err := finished(t, from, to, drop...).Commit(); err != nil {
		t.Fatal(err)
	}
}

// values reads a column as text, null as "-".
func values(t testing.TB, from *SourceConfig, column string) []string {
	t.Helper()
	src, err := from.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	i := src.Schema().Index(column)
	if i < 0 {
		t.Fatalf("no column %s among %v", column, src.Schema().Fields)
	}
	pass,
		err := src.Read(t.Context(),
		&microdata.Layout{Schema: src.Schema(), Read: []microdata.Want{{Field: i, As: microdata.Array}}}, connectors.Cut{})
	if err != nil {
		t.Fatal(err)
	}
	defer pass.Close()
	var all []string
	for {
		raw, err := pass.Next(t.Context())
		if err == io.EOF {
			return all
		}
		var b microdata.Block
		if err == nil {
			err = raw.Decode(&b)
		}
		if err != nil {
			t.Fatal(err)
		}
		for row := range b.N {
			if b.Columns[0].Array.IsNull(row) {
				all = append(all, "-")
			} else {
				all = append(all, b.Columns[0].Array.ValueStr(row))
			}
		}
	}
}

func present(t testing.TB, path string) *table {
	t.Helper()
	tab, err := (&folder{path: path}).load(t.Context())
	if err != nil || tab == nil {
		t.Fatalf("no table: %v", err)
	}
	return tab
}

// refused is the error with which a source is opened.
func refused(t testing.TB, from *SourceConfig, words string) {
	t.Helper()
	src, err := from.Open(t.Context())
	if err == nil {
		src.Close()
	}
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("opened with %v, want an error with %q", err, words)
	}
}

// rewritten puts other metadata under the name of the present ones.
func rewritten(t testing.TB, path string, change func(m map[string]any)) {
	t.Helper()
	tab := present(t, path)
	text, err := os.ReadFile(tab.location)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // of snapshots, which a float does not hold
	if err := d.Decode(&m); err != nil {
		t.Fatal(err)
	}
	change(m)
	if text, err = json.Marshal(m); err == nil {
		err = os.WriteFile(tab.location, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// everything lists what lies in a folder, but folders.
func everything(t testing.TB, path string) (names []string) {
	t.Helper()
	if err := filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, strings.TrimPrefix(name, path+"/"))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return names
}

func entries(t testing.TB, path string) []meta.Entry {
	t.Helper()
	all, err := entriesOf(t.Context(), present(t, path).current())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Every release is one snapshot, and an earlier one can be read by its number and by its time.
func TestModesAndTimeTravel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	release(t, records(t, 100), &SinkConfig{Place: at(path)})
	release(t, records(t, 30), &SinkConfig{Place: at(path), Mode: "append"})
	time.Sleep(2 * time.Millisecond) // times have milliseconds
	release(t, records(t, 7), &SinkConfig{Place: at(path), Mode: "overwrite"})
	tab := present(t, path)
	if len(tab.Snapshots) != 3 || filepath.Base(tab.location) != "v3.metadata.json" {
		t.Fatalf("%d snapshots in %s, want 3", len(tab.Snapshots), tab.location)
	}
	want := []int{100, 130, 7}
	for i, s := range tab.Snapshots {
		if got := len(values(t, &SourceConfig{Place: at(path), Snapshot: s.ID}, "masked")); got != want[i] {
			t.Errorf("snapshot %d: %d records, want %d", i, got, want[i])
		}
		if s.Sequence != int64(i+1) || (s.Parent == nil) != (i == 0) || i > 0 && *s.Parent != tab.Snapshots[i-1].ID {
			t.Errorf("snapshot %d: %+v", i, s)
		}
		if got := s.Summary["total-records"]; got != fmt.Sprint(want[i]) {
			t.Errorf("snapshot %d says that the table has %s records", i, got)
		}
	}
	last := time.UnixMilli(tab.Snapshots[2].Timestamp)
	for when, n := range map[time.Time]int{last.Add(-time.Millisecond): 130, last: 7, last.Add(time.Hour): 7} {
		c := &SourceConfig{Place: at(path), AsOf: when.UTC().Format("2006-01-02T15:04:05.000Z07:00")}
		if got := len(values(t, c, "masked")); got != n {
			t.Errorf("as of %s: %d records, want %d", c.AsOf, got, n)
		}
	}
	refused(t, &SourceConfig{Place: at(path), AsOf: "2001-01-01T00:00:00Z"}, "no snapshot at")
	refused(t, &SourceConfig{Place: at(path), Snapshot: 5}, "no snapshot 5")
	if got := len(values(t, &SourceConfig{Place: at(tab.location)}, "masked")); got != 7 {
		t.Errorf("the file of metadata: %d records, want 7", got)
	}
	// What was replaced is marked as removed, so that it is deleted when its snapshots expire.
	manifests, err := manifestsOf(t.Context(), tab.current())
	if err != nil {
		t.Fatal(err)
	}
	gone := int64(0)
	for _, m := range manifests {
		gone += m.RemovedRow
	}
	if gone != 130 {
		t.Errorf("%d records are marked as removed, want 130", gone)
	}
}

// A table has nothing of a column that is left out, nothing of records before they were masked, and of released ones no
// more than that: each file of metadata is searched, decoded.
func TestMetadataTellReleasedValuesAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	release(t, records(t, 300), &SinkConfig{Place: at(path)}, "secret")
	for _, name := range everything(t, path) {
		text, err := os.ReadFile(filepath.Join(path, name))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("canary")) {
			t.Errorf("%s holds a withheld value", name)
		}
	}
	tab := present(t, path)
	if len(tab.schema().Fields) != 3 {
		t.Fatalf("the table has the columns %v", tab.schema().Fields)
	}
	for key, v := range tab.current().Summary {
		if strings.Contains(key+v, "/") {
			t.Errorf("the summary has %s: %s", key, v)
		}
	}
	all := entries(t, path)
	if len(all) != 1 || all[0].File.Records != 300 {
		t.Fatalf("entries %v", all)
	}
	f := all[0].File
	lower, upper := f.Lower, f.Upper
	for id, want := range map[int][2]string{1: {"1000.5", "3093.5"}, 2: {"-100", "99"}, 3: {" edge 11", "x9"}} {
		column, _ := tab.schema().ByID(id)
		lo, hi := bound(column.Type, lower[id]), bound(column.Type, upper[id])
		texts := values(t, &SourceConfig{Place: at(path)}, []string{"masked", "c0", "c1"}[id-1])
		slices.Sort(texts)
		if id == 3 {
			want = [2]string{texts[0], texts[len(texts)-1]}
		}
		if lo != want[0] || hi != want[1] {
			t.Errorf("column %d: bounds %s and %s, want %s", id, lo, hi, want)
		}
		if f.Values[id] != 300 || f.Nulls[id] != 0 {
			t.Errorf("column %d: %d values, %d nulls", id, f.Values[id], f.Nulls[id])
		}
	}
	if len(lower) != 3 || len(upper) != 3 || len(f.Values) != 3 {
		t.Errorf("bounds of %d and %d columns", len(lower), len(upper))
	}
	if info, err := os.Stat(f.Path); err != nil || info.Size() != f.Bytes {
		t.Errorf("the file has %v bytes, and is said to have %d: %v", info, f.Bytes, err)
	}
}

// A release into the table that it is made of would leave the original values in its history.
func TestSourceIsSpared(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "table")
	release(t, records(t, 10), &SinkConfig{Place: at(path)})
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	before := everything(t, path)
	data := filepath.Dir(entries(t, path)[0].File.Path)
	for name, from := range map[string]connectors.SourceConfig{
		"the table": &SourceConfig{Place: at(path)}, "a link to it": &SourceConfig{Place: at(link)},
		"an earlier snapshot": &SourceConfig{Place: at(path), Snapshot: present(t, path).Snapshots[0].ID},
		"its files":           &parquet.SourceConfig{Path: path},
		"one file":            &parquet.SourceConfig{Path: filepath.Join(data, "part-00000.parquet")},
		"a glob":              &parquet.SourceConfig{Path: data + "/*.parquet"},
	} {
		for _, mode := range []string{"append", "overwrite"} {
			_, _, _, err := started(t, from, &SinkConfig{Place: at(path), Mode: mode})
			if err == nil || !strings.Contains(err.Error(), "the table that it is made of") {
				t.Errorf("%s, %s: %v", name, mode, err)
			}
		}
	}
	if after := everything(t, path); !slices.Equal(before, after) {
		t.Errorf("left %q, before it was %q", after, before)
	}
	src, err := (&SourceConfig{Place: at(path)}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for to, taken := range map[string]bool{path: true, path + "/data": true, path + "/new/x.csv": true, path + "2": false,
		dir: false, filepath.Join(link, "x"): true} {
		if err := connectors.Spare(src, to); (err != nil) != taken {
			t.Errorf("a release at %s: %v, want an error: %v", strings.TrimPrefix(to, dir), err, taken)
		}
	}
}

// Two runs at once: appended records are all there, in either order; what takes the place of records does so only of
// those that it saw.
func TestConflicts(t *testing.T) {
	for _, mode := range []string{"append", "overwrite"} {
		for _, fresh := range []bool{true, false} {
			path := filepath.Join(t.TempDir(), "table")
			if !fresh {
				release(t, records(t, 10), &SinkConfig{Place: at(path)})
			}
			a := finished(t, records(t, 20), &SinkConfig{Place: at(path), Mode: mode})
			b := finished(t, records(t, 40), &SinkConfig{Place: at(path), Mode: mode})
			if err := b.Commit(); err != nil {
				t.Fatal(err)
			}
			before := everything(t, path)
			err := a.Commit()
			if allowed := mode == "append" && !fresh; (err == nil) != allowed || err != nil && !errors.Is(err, errConflict) {
				t.Fatalf("%s, new table %v: %v", mode, fresh, err)
			}
			if aborted := a.Abort(); aborted != nil {
				t.Error(aborted)
			}
			got := len(values(t, &SourceConfig{Place: at(path)}, "masked"))
			if want := map[bool]int{true: 70, false: 40}[err == nil]; got != want {
				t.Errorf("%s, new table %v: %d records, want %d", mode, fresh, got, want)
			}
			if err != nil {
				if after := everything(t, path); len(after) > len(before)-2 { // but for the claim and the lock of a
					t.Errorf("%s: %q are left, of %q", mode, after, before)
				}
			}
			for _, name := range everything(t, path) {
				if strings.Contains(name, "/.") {
					t.Errorf("%s, new table %v: %s is left", mode, fresh, name)
				}
			}
		}
	}
}

// The table that was changed between the beginning and the end of a run is not written to.
func TestChangedTable(t *testing.T) {
	for name, change := range map[string]func(m map[string]any){
		"columns": func(m map[string]any) {
			m["current-schema-id"] = 1
			m["schemas"] = append(m["schemas"].([]any), other(m))
		},
		"table":      func(m map[string]any) { m["table-uuid"] = "0b7e0a3c-0000-4000-8000-000000000000" },
		"version":    func(m map[string]any) { m["format-version"] = 1 },
		"partitions": func(m map[string]any) { m["default-spec-id"] = 1 },
	} {
		path := filepath.Join(t.TempDir(), "table")
		release(t, records(t, 10), &SinkConfig{Place: at(path)})
		a := finished(t, records(t, 20), &SinkConfig{Place: at(path), Mode: "append"})
		release(t, records(t, 40), &SinkConfig{Place: at(path), Mode: "append"}) // so that there is a conflict
		rewritten(t, path, change)
		if err := a.Commit(); !errors.Is(err, errConflict) {
			t.Errorf("%s: %v", name, err)
		}
		if err := a.Abort(); err != nil {
			t.Error(err)
		}
	}
}

// other is a schema like the present one, with the next number.
func other(m map[string]any) map[string]any {
	s := map[string]any{}
	for k, v := range m["schemas"].([]any)[0].(map[string]any) {
		s[k] = v
	}
	s["schema-id"] = 1
	return s
}

// bound is a bound of a column as text.
func bound(t meta.Type, b []byte) string {
	switch t {
	case meta.Double:
		return fmt.Sprint(math.Float64frombits(binary.LittleEndian.Uint64(b)))
	case meta.Long:
		return fmt.Sprint(int64(binary.LittleEndian.Uint64(b)))
	}
	return string(b)
}

// The present metadata are those with the greatest number, whatever the hint says or where there is none.
func TestHint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table")
	for range 11 {
		release(t, records(t, 1), &SinkConfig{Place: at(path), Mode: "append"})
	}
	for said, words := range map[string]string{"1": "", "9\n": "", "11": "", "": "", "12": "not there", "x": "no number",
		"0": "no number"} {
		file := filepath.Join(path, metadataFolder, hint)
		if err := os.WriteFile(file, []byte(said), 0o600); err != nil {
			t.Fatal(err)
		}
		if said == "" {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		tab, err := (&folder{path: path}).load(t.Context())
		if words == "" && (err != nil || len(tab.Snapshots) != 11) || words != "" &&
			(err == nil || !strings.Contains(err.Error(), words)) {
			t.Errorf("hint %q: %v, want an error with %q", said, err, words)
		}
	}
}

// A snapshot is no earlier than those before it, whatever the clock says.
func TestStamp(t *testing.T) {
	now := time.UnixMilli(5000)
	for _, m := range []metadata{{LastUpdated: 7000}, {SnapshotLog: []logged{{Timestamp: 7000}, {Timestamp: 10}}}} {
		if got := m.stamp(now); got != 7000 {
			t.Errorf("%+v: %d", m, got)
		}
	}
	if got := (&metadata{LastUpdated: 10}).stamp(now); got != 5000 {
		t.Errorf("%d, want the clock's 5000", got)
	}
}
