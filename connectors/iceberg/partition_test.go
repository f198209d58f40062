package iceberg

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/iceberg/internal/meta"
	"github.com/sdlfilter/sdlfilter/internal/connectortest"
)

// divided makes an empty table of the columns of records(), partitioned by fields.
func divided(t *testing.T, fields ...any) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table")
	release(t, records(t, 0), &SinkConfig{Place: at(path)})
	rewritten(t, path, func(m map[string]any) {
		m["partition-specs"], m["last-partition-id"] = []any{map[string]any{"spec-id": 0, "fields": fields}}, 1001
	})
	return path
}

func by(source, id int, name, transform string) map[string]any {
	return map[string]any{"source-id": source, "field-id": id, "name": name, "transform": transform}
}

// placed lists the records of each partition, by the text of its values.
func placed(t *testing.T, path string) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	for _, e := range entries(t, path) {
		all[present(t, path).spec().Key(e.File.Partition)] += e.File.Records
	}
	return all
}

// Each file has the records of one partition, whose values stand in the manifest, and in no name.
func TestPartitions(t *testing.T) {
	path := divided(t, by(4, 1000, "c1", "identity"), by(3, 1001, "c0_bucket", "bucket[3]"))
	release(t, records(t, 60), &SinkConfig{Place: at(path), Mode: "append"})
	expectRows(t, &SourceConfig{Place: at(path)}, masked(upTo(60)...))
	texts, numbers := values(t, &SourceConfig{Place: at(path)}, "c1"), values(t, &SourceConfig{Place: at(path)}, "c0")
	want := map[string]int64{}
	for i, text := range texts {
		var n int64
		if _, err := fmt.Sscan(numbers[i], &n); err != nil {
			t.Fatal(err)
		}
		b, err := meta.Transform("bucket[3]").Apply(n, meta.Long)
		if err != nil {
			t.Fatal(err)
		}
		want[present(t, path).spec().Key(map[int]any{1000: text, 1001: b})]++
	}
	if got := placed(t, path); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("partitions %v, want %v", got, want)
	}
	for _, e := range entries(t, path) {
		f := e.File
		if lo, hi := f.Lower[4], f.Upper[4]; string(lo) != string(hi) || string(lo) != f.Partition[1000] {
			t.Errorf("the partition %v has texts from %s to %s", f.Partition, lo, hi)
		}
		if name := filepath.Base(f.Path); !strings.HasPrefix(name, "part-") || strings.Contains(f.Path, "=") {
			t.Errorf("a file is called %s", name)
		}
		if info, err := os.Stat(f.Path); err != nil || info.Size() != f.Bytes {
			t.Errorf("a file has %v bytes, and is said to have %d", info, f.Bytes)
		}
	}
}

// mode partitions takes the place of the partitions that the release has, and of no others; overwrite of all.
func TestPartitionsAreReplaced(t *testing.T) {
	path := divided(t, by(4, 1000, "c1", "identity"))
	release(t, records(t, 40), &SinkConfig{Place: at(path), Mode: "append"}) // each of 40 texts once
	release(t, records(t, 40), &SinkConfig{Place: at(path), Mode: "append"})
	first := present(t, path).current().ID
	release(t, records(t, 3), &SinkConfig{Place: at(path), Mode: "partitions"})
	expectRows(t, &SourceConfig{Place: at(path)}, masked(upTo(40, 0, 1, 2)...), masked(upTo(40, 0, 1, 2)...),
		masked(0, 1, 2))
	expectRows(t, &SourceConfig{Place: at(path), Snapshot: first}, masked(upTo(40)...), masked(upTo(40)...))
	s := present(t, path).current().Summary
	if s["deleted-records"] != "6" || s["added-records"] != "3" || s["total-records"] != "77" ||
		s["operation"] != "overwrite" {
		t.Errorf("the summary says %v", s)
	}
	// A second time, manifests with kept and removed entries are divided again.
	release(t, records(t, 5), &SinkConfig{Place: at(path), Mode: "partitions"})
	expectRows(t, &SourceConfig{Place: at(path)}, masked(upTo(40, 0, 1, 2, 3, 4)...), masked(upTo(40, 0, 1, 2, 3, 4)...),
		masked(upTo(5)...))
	release(t, records(t, 2), &SinkConfig{Place: at(path)})
	expectRows(t, &SourceConfig{Place: at(path)}, masked(0, 1))
	// Into a partitioned table a table is released too, decoded.
	from := filepath.Join(t.TempDir(), "from")
	release(t, records(t, 70), &SinkConfig{Place: at(from)})
	to := &SinkConfig{Place: at(path), Mode: "partitions"}
	src, err := (&SourceConfig{Place: at(from)}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if to.Carries(src) || !(&SinkConfig{Place: at(from + "2")}).Carries(src) {
		t.Error("pages are copied into a partitioned table, or into none")
	}
	release(t, &SourceConfig{Place: at(from)}, to)
	expectRows(t, &SourceConfig{Place: at(path)}, masked(upTo(70)...))
}

func TestSinkRefused(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole")
	release(t, records(t, 3), &SinkConfig{Place: at(whole)})
	three := filepath.Join(t.TempDir(), "three")
	release(t, records(t, 3), &SinkConfig{Place: at(three)})
	rewritten(t, three, func(m map[string]any) { m["format-version"] = 1 })
	locked := filepath.Join(t.TempDir(), "locked")
	release(t, records(t, 3), &SinkConfig{Place: at(locked)})
	rewritten(t, locked, func(m map[string]any) { m["properties"] = map[string]any{"encryption.key-id": "k"} })
	cataloged := t.TempDir()
	if err := os.MkdirAll(cataloged+"/metadata", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cataloged+"/metadata/00000-0b7e0a3c-0000-4000-8000-000000000000.metadata.json", []byte("{}"),
		0o600); err != nil {
		t.Fatal(err)
	}
	text := connectortest.NewTable(t, connectortest.Contract{}, 3)
	text.Schema.Fields[0].Name, text.Schema.Fields[1].Name = "secret", "masked"
	for _, c := range []struct {
		words string
		from  connectors.SourceConfig
		to    *SinkConfig
		drop  []string
	}{
		{"has no partitions", records(t, 3), &SinkConfig{Place: at(whole), Mode: "partitions"}, nil},
		{"has 4 columns, and the release 3", records(t, 3), &SinkConfig{Place: at(whole)}, []string{"c0"}},
		{"is double in the table and string in the release", text.Config(0), &SinkConfig{Place: at(whole)},
			[]string{"secret"}},
		{"is of version 1", records(t, 3), &SinkConfig{Place: at(three)}, nil},
		{"is encrypted", records(t, 3), &SinkConfig{Place: at(locked)}, nil},
		{"of a catalog", records(t, 3), &SinkConfig{Place: at(cataloged)}, nil},
		{"is no more in use", records(t, 3),
			&SinkConfig{Place: at(divided(t, by(3, 1000, "v", "void"), by(4, 1001, "c1", "identity")))}, nil},
	} {
		_, _, _, err := started(t, c.from, c.to, c.drop...)
		if err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%v, want an error with %q", err, c.words)
		}
	}
	// A column that every record must have takes no release that may lack it.
	required := filepath.Join(t.TempDir(), "required")
	release(t, records(t, 3), &SinkConfig{Place: at(required)})
	rewritten(t, required, func(m map[string]any) {
		for _, f := range m["schemas"].([]any)[0].(map[string]any)["fields"].([]any) {
			f.(map[string]any)["required"] = true
		}
	})
	release(t, records(t, 3), &SinkConfig{Place: at(required), Mode: "append"})
	lacks := connectortest.NewTable(t,
		connectortest.Contract{Types: []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String}}, 3)
	lacks.Schema.Fields[3].Nullable = true
	if _, _, _, err := started(t, lacks.Config(0), &SinkConfig{Place: at(required)}); err == nil ||
		!strings.Contains(err.Error(), "must not be missing") {
		t.Errorf("a column that must not be missing: %v", err)
	}
	wide := connectortest.NewTable(t, connectortest.Contract{Types: connectortest.AllTypes}, 1)
	if _, _, _, err := started(t, wide.Config(0), &SinkConfig{Place: at(filepath.Join(t.TempDir(), "wide"))}); err ==
		nil || !strings.Contains(err.Error(), "column c0 is of type int8") {
		t.Errorf("a type that the format lacks: %v", err)
	}
	for _, path := range []string{whole, locked} {
		for _, name := range everything(t, path) {
			if strings.Contains(name, "/.") {
				t.Errorf("%s is left", name)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	for words, c := range map[string]connectors.SourceConfig{
		"must have a path":   &SourceConfig{},
		"must stand alone":   &SourceConfig{Place: Place{Path: "a", Table: "a.b"}},
		"of this machine":    &SourceConfig{Place: at("s3://b/t")},
		"of a REST catalog":  &SourceConfig{Place: Place{Catalog: "ftp://x", Table: "a.b"}},
		"hold a password":    &SourceConfig{Place: Place{Catalog: "https://a:b@x", Table: "a.b"}},
		"be NAMESPACE.NAME":  &SourceConfig{Place: Place{Catalog: "https://x", Table: "a."}},
		"without snapshot":   &SourceConfig{Place: at("a"), Snapshot: 1, AsOf: "2026-01-01T00:00:00Z"},
		"a time with its zo": &SourceConfig{Place: at("a"), AsOf: "2026-01-01"},
	} {
		ps := c.Check()
		if !strings.Contains(fmt.Sprint(ps), words) {
			t.Errorf("%q is not said: %v", words, ps)
		}
	}
	for _, c := range []connectors.SourceConfig{
		&SourceConfig{Place: at("a"), Snapshot: 1},
		&SourceConfig{
			Place: Place{Catalog: "https://x/y", Table: "a.b.c", Warehouse: "w", Token: connectors.Secret{Env: "T"}},
			AsOf:  "2026-01-01T00:00:00+01:00"},
	} {
		if ps := c.Check(); len(ps) > 0 {
			t.Error(ps)
		}
	}
	if ps := (&SinkConfig{Place: at("a"), Mode: "x", Compression: "y"}).Check(); len(ps) != 2 {
		t.Errorf("a mode and a codec that are none: %v", ps)
	}
}
