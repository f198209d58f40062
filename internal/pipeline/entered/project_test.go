package entered

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// projected is a project of three tables with ledgers, and its folder.
type projected struct {
	t      *testing.T
	folder string
	tables map[string]*config.Pipeline
}

func newProjected(t *testing.T) *projected {
	p := &projected{t, filepath.Join(t.TempDir(), "release"), map[string]*config.Pipeline{}}
	for _, name := range []string{"a", "b", "c"} {
		p.tables[name] = &config.Pipeline{Name: name, Ledger: filepath.Join(t.TempDir(), name+".sdl")}
	}
	return p
}

func (p *projected) open() *Project {
	p.t.Helper()
	held, err := OpenProject(p.t.Context(), "x", p.tables, keytest.Key(1), zerolog.Nop())
	if err != nil {
		p.t.Fatal(err)
	}
	return held
}

// write writes the folder under its temporary name.
func (p *projected) write(text string) *publish.Content {
	p.t.Helper()
	temp := publish.TempName(p.folder)
	if err := errors.Join(os.RemoveAll(temp), os.Mkdir(temp, 0o700), os.WriteFile(filepath.Join(temp, "a.csv"), []byte(text),
		0o600)); err != nil {
		p.t.Fatal(err)
	}
	content, err := publish.ContentOf(p.t.Context(), temp)
	if err != nil {
		p.t.Fatal(err)
	}
	content.Path = p.folder
	return content
}

// name gives the folder its name, and what was there the temporary one.
func (p *projected) name() {
	p.t.Helper()
	temp, old := publish.TempName(p.folder), p.folder+".old"
	err := os.Rename(p.folder, old)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		err = os.Rename(temp, p.folder)
	}
	if _, there := os.Stat(old); err == nil && there == nil {
		err = os.Rename(old, temp)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func entriesOf() map[string]*ledger.Release {
	list := map[string]*ledger.Release{}
	for _, name := range []string{"a", "b", "c"} {
		list[name] = &ledger.Release{Name: name, Releasing: json.RawMessage("{}")}
	}
	return list
}

// published returns how many releases each ledger has that count as published; the same of all, and none of which it is
// not known with which others it was published.
func (p *projected) published(held *Project) (n int) {
	p.t.Helper()
	for i, t := range held.tables {
		if k := len(t.ledger.releases); i > 0 && k != n {
			p.t.Fatalf("table %s has %d releases, the one before it %d", t.name, k, n)
		} else {
			n = k
		}
	}
	if not := held.Not(); not != "" {
		p.t.Fatal(not)
	}
	return n
}

// TestProjectsThatAreKilled: killed after any line of any ledger, before or after the folder has its name, with an
// earlier release or without: the releases of all tables count as published if and only if the folder has its name, and
// the next run enters its own. A line is in a ledger whole or not at all (internal/ledger), so that these are all moments.
func TestProjectsThatAreKilled(t *testing.T) {
	for _, before := range []int{0, 1} {
		for lines := range 7 {
			named := []bool{false, true}
			if lines < 3 {
				named = named[:1] // no folder gets its name before all are entered
			} else if lines > 3 {
				named = named[1:] // no outcome is entered before
			}
			for _, is := range named {
				at := fmt.Sprintf("with %d releases, after %d lines, named %v", before, lines, is)
				p := newProjected(t)
				for range before {
					held := p.open()
					if err := held.Enter(entriesOf(), p.write("first")); err != nil {
						t.Fatal(err)
					}
					p.name()
					held.Settle(nil)
					if err := held.Close(); err != nil {
						t.Fatal(err)
					}
				}
				content := p.write("second")
				held := p.open()
				if p.published(held) != before {
					t.Fatal(at)
				}
				if lines < 3 {
					all := held.tables
					part := *held
					part.tables = all[:lines]
					if err := part.Enter(entriesOf(), content); err != nil {
						t.Fatal(err)
					}
					// as Enter of all would have entered them
					for _, one := range part.tables {
						if got := one.ledger.held.All(); len(got) != before+1 {
							t.Fatal(at)
						}
					}
				} else if err := held.Enter(entriesOf(), content); err != nil {
					t.Fatal(err)
				}
				if is {
					p.name()
				}
				for i := range lines - 3 {
					held.tables[i].ledger.Settle(nil)
				}
				if err := held.Close(); err != nil {
					t.Fatal(err)
				}
				next := p.open()
				want := before
				if is {
					want++
				}
				if n := p.published(next); n != want {
					t.Errorf("%s: %d releases count as published, want %d", at, n, want)
				}
				if err := next.Enter(entriesOf(), p.write("third")); err != nil {
					t.Errorf("%s: the next run: %v", at, err)
				}
				p.name()
				next.Settle(nil)
				if err := next.Close(); err != nil {
					t.Fatal(err)
				}
				last := p.open()
				if n := p.published(last); n != want+1 {
					t.Errorf("%s: after the next run %d releases", at, n)
				}
				last.Close()
			}
		}
	}
}

// TestProjectsThatCannotEnter: where one of the ledgers takes no line, none of the releases counts as published.
func TestProjectsThatCannotEnter(t *testing.T) {
	for fails := range 3 {
		p := newProjected(t)
		content := p.write("first")
		held := p.open()
		broken := held.tables[fails].ledger.held
		if err := broken.Close(); err != nil { // it was lost
			t.Fatal(err)
		}
		if err := held.Enter(entriesOf(), content); err == nil {
			t.Fatal("it is entered")
		}
		held.Close()
		if err := os.RemoveAll(publish.TempName(p.folder)); err != nil {
			t.Fatal(err)
		}
		next := p.open()
		if n := p.published(next); n != 0 {
			t.Errorf("table %d: %d releases count as published", fails, n)
		}
		next.Close()
	}
	var none *Project
	none.Settle(nil)
	if none.Enter(nil, nil) != nil || none.Close() != nil || none.Not() != "" || none.Of("a") != nil {
		t.Error("without ledgers something fails")
	}
}

// TestReleasesThatLackOthers: a release that was published with others is not judged without them, whichever ledger is
// missing or is another one.
func TestReleasesThatLackOthers(t *testing.T) {
	p := newProjected(t)
	held := p.open()
	if err := held.Enter(entriesOf(), p.write("first")); err != nil {
		t.Fatal(err)
	}
	p.name()
	held.Settle(nil)
	held.Close()
	whole := p.tables
	for _, name := range []string{"a", "b", "c"} {
		for _, other := range []string{"", filepath.Join(t.TempDir(), "other.sdl")} {
			p.tables = map[string]*config.Pipeline{}
			for table, c := range whole {
				if one := *c; table != name {
					p.tables[table] = &one
				} else if one.Ledger = other; other != "" {
					p.tables[table] = &one
				}
			}
			held := p.open()
			if held.Not() == "" {
				t.Errorf("without the ledger of %s, instead %q: nothing is said", name, other)
			}
			held.Close()
		}
	}
}

// TestProjectsThatAreOthers: that a ledger has some release of the table, published with others at another time, does
// not do.
func TestProjectsThatAreOthers(t *testing.T) {
	one, other := newProjected(t), newProjected(t)
	for _, p := range []*projected{one, other} {
		held := p.open()
		if err := held.Enter(entriesOf(), p.write("x")); err != nil {
			t.Fatal(err)
		}
		p.name()
		held.Settle(nil)
		held.Close()
	}
	one.tables["b"] = other.tables["b"]
	held := one.open()
	defer held.Close()
	if held.Not() == "" {
		t.Error("nothing is said")
	}
}

// TestLedgersAreTakenInOneOrder: whatever the tables are called, so that no two projects wait for each other.
func TestLedgersAreTakenInOneOrder(t *testing.T) {
	p := newProjected(t)
	var orders [2]string
	for i := range orders {
		held := p.open()
		for _, one := range held.tables {
			orders[i] += one.ledger.held.Path() + " "
		}
		held.Close()
		p.tables["a"], p.tables["c"] = p.tables["c"], p.tables["a"]
	}
	if orders[0] != orders[1] {
		t.Errorf("%q", orders)
	}
}
