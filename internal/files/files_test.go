package files

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// plant makes empty files in a new folder and returns it.
func plant(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, n := range names {
		p := filepath.Join(dir, filepath.FromSlash(n))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func rels(s *Set) []string {
	var r []string
	for _, f := range s.Files {
		r = append(r, f.Rel)
	}
	return r
}

func TestFind(t *testing.T) {
	tree := []string{
		"b.csv", "a.csv", "a10.csv", "a2.csv", "A.CSV", "z.csv.gz", "notes.txt", "x[1].csv",
		".hidden.csv", "_SUCCESS", "_meta.csv", ".out.csv.sdlfilter-tmp", ".dir/h.csv", "_dir/u.csv",
		"sub/c.csv", "sub/deep/d.csv", "sub/deep/e.txt", "other/c.csv", ".csv",
	}
	for _, c := range []struct {
		path   string
		want   []string
		folder bool
	}{
		{
			"", []string{"A.CSV", "a.csv", "a10.csv", "a2.csv", "b.csv", "other/c.csv", "sub/c.csv", "sub/deep/d.csv",
				"x[1].csv", "z.csv.gz"}, true},
		{"a.csv", []string{"a.csv"}, false},
		{"notes.txt", []string{"notes.txt"}, false},
		{".hidden.csv", []string{".hidden.csv"}, false},
		{"x[1].csv", []string{"x[1].csv"}, false},
		{"a*.csv", []string{"a.csv", "a10.csv", "a2.csv"}, true},
		{"a?.csv", []string{"a2.csv"}, true},
		{"[ab].csv", []string{"a.csv", "b.csv"}, true},
		{"[^a].csv", []string{"b.csv"}, true},
		{"*.txt", []string{"notes.txt"}, true},
		{"sub/*", []string{"sub/c.csv", "sub/deep/d.csv"}, true},
		{"*/c.csv", []string{"other/c.csv", "sub/c.csv"}, true},
		{"**/c.csv", []string{"other/c.csv", "sub/c.csv"}, true},
		{"**/**/d.csv", []string{"sub/deep/d.csv"}, true},
		{"**/deep/**", []string{"sub/deep/d.csv"}, true},
		{"**/*.csv.gz", []string{"z.csv.gz"}, true},
		{"s*", []string{"sub/c.csv", "sub/deep/d.csv"}, true},
		{"_*.csv", []string{"_meta.csv"}, true},
		{".d*/*", []string{".dir/h.csv"}, true},
	} {
		t.Run(c.path, func(t *testing.T) {
			dir := plant(t, tree...)
			s, err := Find(t.Context(), filepath.Join(dir, c.path), ".csv", ".csv.gz")
			if err != nil {
				t.Fatal(err)
			}
			got := rels(s)
			// Rel is relative to the folder before the first wildcard.
			for i, r := range got {
				full, _ := filepath.Rel(dir, filepath.Join(s.Root, filepath.FromSlash(r)))
				if s.Files[i].Path != filepath.Join(s.Root, filepath.FromSlash(r)) {
					t.Errorf("Path %q is not Root and Rel", s.Files[i].Path)
				}
				got[i] = filepath.ToSlash(full)
			}
			if !slices.Equal(got, c.want) || s.Folder != c.folder {
				t.Errorf("got %q, folder %v; want %q, %v", got, s.Folder, c.want, c.folder)
			}
		})
	}
}

func TestPartitions(t *testing.T) {
	dir := plant(t,
		"year=2024/region=a%2Fb/p.csv", "year=2023/region=__HIVE_DEFAULT_PARTITION__/p.csv",
		"year=2023/region=50%/p.csv", "year=2023/region=/q.csv")
	s, err := Find(t.Context(), dir, ".csv")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.PartitionKeys, []string{"year", "region"}) {
		t.Errorf("keys %q", s.PartitionKeys)
	}
	want := [][]Partition{
		{{Key: "year", Value: "2023"}, {Key: "region"}},
		{{Key: "year", Value: "2023"}, {Key: "region", Value: "50%"}},
		{{Key: "year", Value: "2023"}, {Key: "region", Null: true}},
		{{Key: "year", Value: "2024"}, {Key: "region", Value: "a/b"}},
	}
	labels := map[string]bool{}
	for i, f := range s.Files {
		if !slices.Equal(f.Partitions, want[i]) {
			t.Errorf("%s: %v, want %v", f.Rel, f.Partitions, want[i])
		}
		// the folder's name may contain any digits
		if within := strings.TrimPrefix(f.Label, dir); within == f.Label || strings.Contains(within, "202") ||
			labels[f.Label] {
			t.Errorf("label %q holds a partition's value or is not unique", f.Label)
		}
		labels[f.Label] = true
	}
	if s, err = Find(t.Context(), filepath.Join(dir, "year=*/region=50%/*"), ".csv"); err != nil || len(s.Files) != 1 ||
		len(s.PartitionKeys) != 2 {
		t.Errorf("glob over partitions: %v, %v", s, err)
	}
	dir = plant(t, "_k=1/a.csv", "_k=2/a.csv")
	if s, err = Find(t.Context(), dir, ".csv"); err != nil || !slices.Equal(s.PartitionKeys, []string{"_k"}) {
		t.Errorf("key that begins with _: %v, %v", s, err)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		files []string
		path  string
		want  string
	}{
		{nil, "no.csv", "no such file or folder"},
		{nil, "", "the folder holds no data file (.csv)"},
		{[]string{"a.txt", "_x.csv"}, "", "the folder holds no data file (.csv)"},
		{[]string{"a.txt"}, "*.csv", "no file matches"},
		{[]string{"a.txt"}, "sub/*.csv", "no file matches, the folder"},
		{[]string{"a.csv"}, "[a.csv", "not a valid glob"},
		{[]string{"a.csv", "k=secret/b.csv"}, "",
			"every file must lie in folders of the same keys, in the same order: got k, and none"},
		{[]string{"k=secret/b.csv", "j=secret/b.csv"}, "", "same keys"},
		{[]string{"k=secret/j=1/b.csv", "j=secret/k=1/b.csv"}, "", "same keys"},
		{[]string{"k=secret/k=2/b.csv"}, "", `name the key "k" twice`},
	} {
		dir := plant(t, c.files...)
		_, err := Find(t.Context(), filepath.Join(dir, c.path), ".csv")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q of %q: got %v, want %q", c.path, c.files, err, c.want)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error holds a partition's value: %v", err)
		}
	}
	if _, err := Find(t.Context(), "", ".csv"); err == nil {
		t.Error("an empty path is accepted")
	}
}

// Links to files and folders are followed; a cycle of links ends.
func TestLinks(t *testing.T) {
	dir := plant(t, "a/x.csv", "a/b/y.csv")
	for _, l := range [][2]string{{"..", "a/b/up"}, {"x.csv", "a/z.csv"}, {"nowhere", "a/dangling.csv"},
		{"a/b", "linked"}} {
		if err := os.Symlink(l[0], filepath.Join(dir, l[1])); err != nil {
			t.Skip(err)
		}
	}
	want := []string{"a/b/y.csv", "a/x.csv", "a/z.csv", "linked/y.csv"}
	for _, p := range []string{"", "**/*.csv"} {
		s, err := Find(t.Context(), filepath.Join(dir, p), ".csv")
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !slices.Contains(rels(s), w) {
				t.Errorf("%q: %q does not hold %s", p, rels(s), w)
			}
		}
	}
}

// The order is that of the bytes of Rel, in whatever order the folder lists its entries.
func TestOrder(t *testing.T) {
	var names []string
	for i := range 300 {
		names = append(names, fmt.Sprintf("%c/%d.csv", 'a'+i*7%26, i*i%311))
	}
	s, err := Find(t.Context(), plant(t, names...), ".csv")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	if got := rels(s); !slices.Equal(got, slices.Compact(names)) {
		t.Errorf("order %q", got)
	}
}
