package tabling

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/kafka"
	"github.com/sdlfilter/sdlfilter/internal/tables/tabulation"
)

// Tables of a topic are refused if an earlier release exists or could not be detected, unless all
// tables have cell keys.
func TestLinkedReleases(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const (
		keyed      = "{name: k, rows: [region], unsafe: [{threshold: 3}], protect: {cell_key: {max: 3, variance: 1.5}}}"
		suppressed = "{name: s, rows: [region], value: wage, unsafe: [{threshold: 3}], protect: {suppress: {}}}"
	)
	write(t, dir, "key", testKey)
	write(t, dir, "there.csv", "earlier")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "link.csv")); err != nil {
		t.Fatal(err)
	}
	local := func(name string) string { return "{csv: {path: " + filepath.Join(dir, name) + "}}" }
	for _, c := range []struct{ what, tables, sink, want string }{
		{"a first release", suppressed, local("new.csv"), ""},
		{"an earlier release", suppressed, local("there.csv"), "there.csv: is there already, and tables[0] is not"},
		{"a link to nothing", suppressed, local("link.csv"), "link.csv: is there already"},
		{"cell keys", keyed, local("there.csv"), ""},
		{"one table without cell keys", keyed + ", " + suppressed, local("there.csv"),
			"tables[1] is not of counts that are protected by cell_key"},
		{"standard output", suppressed, "{csv: {path: '-'}}", "must be a local file"},
		{"standard output of cell keys", keyed, "{csv: {path: '-'}}", ""},
		{"a place that cannot be looked at", suppressed, local("there.csv/t.csv"), "there.csv/t.csv"},
	} {
		text := "version: 1\nsource: {csv: {path: in.csv}}\ntables: [" + c.tables + "]\nsink: " + c.sink + "\n"
		if strings.Contains(c.tables, "cell_key") {
			text += "key: {file: " + filepath.Join(dir, "key") + "}\nidentity: [id]\n"
		}
		write(t, dir, "t.yaml", text)
		loaded, err := tabulation.Load(filepath.Join(dir, "t.yaml"), config.Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		err = linked(loaded)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.what, err, c.want)
		}
	}
}

// unread is a source that is never read, of topics where topics is not nil.
type unread struct {
	connectors.Source
	topics connectors.Numbered
}

func (u unread) Abilities() connectors.SourceAbilities {
	return connectors.SourceAbilities{Numbered: u.topics}
}

// Only tables of a whole topic are linked with an earlier release: those of a file are identical
// again, and those of windows have no records in common.
func TestWhatIsLinkedIsOfATopic(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "there.csv", "earlier")
	c := configured(t, dir,
		"version: 1\nsource: {csv: {path: %s/in.csv}}\ntables: [{name: s, rows: [region], unsafe: [{threshold: 3}], protect: {suppress: {}}}]\nsink: {csv: {path: %s/there.csv}}\n")
	for what, r := range map[string]struct {
		of      *records
		refused bool
	}{
		"a topic":   {&records{config: c, source: unread{topics: new(kafka.Source)}}, true},
		"a window":  {&records{config: c, source: unread{topics: new(kafka.Source)}, windowed: true}, false},
		"no topics": {&records{config: c, source: unread{}}, false},
	} {
		if err := r.of.alone(); (err != nil) != r.refused {
			t.Errorf("%s: alone returns %v", what, err)
		}
	}
}
