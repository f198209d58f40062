package connectortest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sdlfilter/sdlfilter/connectors"
)

// declared checks that a connector is able to do what it declares. Whether a source knows that its
// data change is checked by changed and changedFolder.
func declared(t *testing.T, c Contract) {
	t.Run("File", func(t *testing.T) { abilitiesOfFile(t, c) })
	t.Run("Folder", func(t *testing.T) { abilitiesOfFolder(t, c) })
	t.Run("Spare", func(t *testing.T) { spare(t, c) })
	t.Run("Content", func(t *testing.T) { digested(t, c) })
	t.Run("Options", func(t *testing.T) { options(t, c) })
}

func opened(t *testing.T, from connectors.SourceConfig) connectors.Source {
	t.Helper()
	src, err := from.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	return src
}

func abilitiesOfFile(t *testing.T, c Contract) {
	in, _ := input(t, c, 20)
	src := opened(t, c.Source(in))
	if connectors.Folder(src) {
		t.Error("a file is taken for a folder")
	}
	if keys, known := connectors.PartitionKeys(src); !known || len(keys) > 0 {
		t.Errorf("partition keys of a file: %q, known: %v", keys, known)
	}
	can := src.Abilities()
	if at := can.Changed(); at.IsZero() || at.After(time.Now()) || time.Since(at) > time.Hour {
		t.Errorf("a file that was just written was changed at %v", at)
	}
	if can.Missplit != nil && can.Missplit() != "" {
		t.Errorf("another delimiter of a whole file: %q", can.Missplit())
	}
	if can.InfersTypes == c.Typed {
		t.Errorf("says that types are inferred: %v, and the format names them: %v", !c.Typed, c.Typed)
	}
	if name := connectors.StreamName(src, 0); name != src.Streams()[0] {
		t.Errorf("the first stream is %q, and %q among all", name, src.Streams()[0])
	}
	for i, f := range src.Schema().Fields {
		if can.JSONText != nil && can.JSONText(i) && f.Type.ID() != arrow.STRING {
			t.Errorf("column %s of type %s is called JSON text", f.Name, f.Type)
		}
	}
}

// abilitiesOfFolder: of files in folders that are named by a value, the source tells
// the key, and the value in no name.
func abilitiesOfFolder(t *testing.T, c Contract) {
	if !c.Folders {
		t.Skip("reads no folders")
	}
	in, _ := input(t, c, 20)
	whole, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for i := range 2 {
		dir := filepath.Join(root, "person="+secretValue(i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "part"+c.Ext), whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, pattern := range []string{"", "*/*" + c.Ext, "**/*" + c.Ext} {
		src := opened(t, c.Source(filepath.Join(root, pattern)))
		if !connectors.Folder(src) {
			t.Errorf("%q: is not taken for a folder", pattern)
		}
		if keys, known := connectors.PartitionKeys(src); !known || !slices.Equal(keys, []string{"person"}) {
			t.Errorf("%q: partition keys %q, known: %v", pattern, keys, known)
		}
		for i := range src.Streams() {
			for k := range 2 {
				if strings.Contains(src.Streams()[i]+connectors.StreamName(src, i), secretValue(k)) {
					t.Errorf("%q: the name of a stream holds a value of its folder", pattern)
				}
			}
		}
		for path, taken := range map[string]bool{
			root: true, filepath.Join(root, "person="+secretValue(1)): true,
			filepath.Join(root, "person="+secretValue(0), "part"+c.Ext):  true,
			filepath.Join(root, "person="+secretValue(0), "other"+c.Ext): false, filepath.Dir(in): false,
			filepath.Join(root, "release"): false,
		} {
			if err := connectors.Spare(src, path); (err != nil) != taken {
				t.Errorf("%q: a release at %s: %v, want an error: %v", pattern, strings.TrimPrefix(path, root), err, taken)
			}
		}
	}
}

// spare: a release takes the place of its own source under no name that it has.
func spare(t *testing.T, c Contract) {
	in, _ := input(t, c, 20)
	before, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	link, hard := filepath.Join(t.TempDir(), "link"+c.Ext), filepath.Join(t.TempDir(), "hard"+c.Ext)
	if err := os.Symlink(in, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(in, hard); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{in, link} {
		for _, to := range []string{in, link, hard} {
			err := (&job{carry: true}).run(t.Context(), c.Source(from), c.Sink(to))
			if err == nil || !strings.Contains(err.Error(), "its own source") {
				t.Errorf("from %s into %s: %v", filepath.Base(from), filepath.Base(to), err)
			}
		}
	}
	after, err := os.ReadFile(in)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the source is not what it was: %v", err)
	}
	for _, dir := range []string{filepath.Dir(in), filepath.Dir(link), filepath.Dir(hard)} {
		if names := listing(t, dir); len(names) != 1 {
			t.Errorf("left behind: %q", names)
		}
	}
	// A source of another kind has no place that could be taken.
	src := opened(t, NewTable(t, c, 1).Config(0))
	if err := connectors.Spare(src, in); err != nil {
		t.Error(err)
	}
}

// digested: what a finished release is said to hold is what it holds when it has its
// name.
func digested(t *testing.T, c Contract) {
	in, _ := input(t, c, 100)
	path := filepath.Join(t.TempDir(), "out"+c.Ext)
	src, to, j := opened(t, c.Source(in)), c.Sink(path), job{mask: double}
	sink, err := to.Create(t.Context(), connectors.Plan{Source: src, Layout: j.plan(src, to)})
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, &j, src, sink, to)
	if err := sink.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	content, err := connectors.ContentOf(t.Context(), sink)
	if err != nil || content == nil {
		t.Fatalf("the sink does not say what it holds: %v", err)
	}
	if err := sink.Commit(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(file)
	if content.SHA256() != hex.EncodeToString(sum[:]) || content.Bytes() != int64(len(file)) || content.Path != path ||
		content.Folder {
		t.Errorf("said to hold %+v, and it has %d bytes of the digest %x", content, len(file), sum)
	}
}

// options: every option of a source is a field of its configuration with the same name.
func options(t *testing.T, c Contract) {
	from := c.Source("in" + c.Ext)
	fields := reflect.TypeOf(from).Elem()
	seen := map[string]bool{}
	for _, o := range from.Abilities().Options {
		if o.Doc == "" || (o.Text == nil) == (o.Words == nil) || seen[o.Name] {
			t.Errorf("option %q: must have words, one value, and a name of its own", o.Name)
			continue
		}
		seen[o.Name] = true
		at := -1
		for i := range fields.NumField() {
			if name, _, _ := strings.Cut(fields.Field(i).Tag.Get("yaml"), ","); name == o.Name {
				at = i
			}
		}
		if at < 0 {
			t.Errorf("option %q: is no field of the configuration", o.Name)
			continue
		}
		if o.Text != nil {
			*o.Text = "~"
		} else {
			*o.Words = []string{"~"}
		}
		if reflect.ValueOf(from).Elem().Field(at).IsZero() {
			t.Errorf("option %q: sets another field", o.Name)
		}
	}
}

// Lacks checks which abilities a struct of package connectors does not set: those of a list of names with spaces
// between them, in any order. The others are set.
func Lacks(t *testing.T, abilities any, list string) {
	t.Helper()
	var unset []string
	v := reflect.ValueOf(abilities)
	for _, f := range reflect.VisibleFields(v.Type()) {
		if !f.Anonymous && v.FieldByIndex(f.Index).IsZero() {
			unset = append(unset, f.Name)
		}
	}
	want := strings.Fields(list)
	slices.Sort(unset)
	slices.Sort(want)
	if !slices.Equal(unset, want) {
		t.Errorf("%T lacks %q, want %q", abilities, unset, want)
	}
}
