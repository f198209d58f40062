package entered

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/ledger/place"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/publish"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// ofProject returns an error for a release that a project has published: what its tables tell together with a release
// of one of them is judged where all of them are.
func ofProject(r *ledger.Release) error {
	if r.Project == nil {
		return nil
	}
	return fmt.Errorf("it was published by the project %s with the tables %s, and what all of them tell together with this "+
		"one is judged by a project that has them (docs/project.md)", strconv.Quote(r.Project.Name),
		strings.Join(r.Project.Tables, ", "))
}

// Project is the ledgers of the tables of a project, one each, all held. A nil Project does nothing: the tables have
// none.
type Project struct {
	name   string
	tables []projectTable // in the order in which they are held and entered
}

type projectTable struct {
	name   string
	ledger *Ledger
}

// OpenProject takes the ledgers of all tables of a project, given by their names, as Open does. Whoever holds several
// has taken them in the order of their places, so that no two runs wait for each other. nil if the tables have none.
func OpenProject(ctx context.Context, name string, tables map[string]*config.Pipeline, key keystream.Key,
	log zerolog.Logger) (*Project, error) {
	return projectOf(name, tables, func(c *config.Pipeline) (*Ledger, error) { return Open(ctx, c, key, log) })
}

// LookProject reads the ledgers of all tables of a project without holding them, as Look does. One that is not there
// has no releases; if none is there, the error is fs.ErrNotExist.
func LookProject(ctx context.Context, name string, tables map[string]*config.Pipeline, key keystream.Key,
	log zerolog.Logger) (*Project, error) {
	there := false
	p, err := projectOf(name, tables, func(c *config.Pipeline) (*Ledger, error) {
		l, err := Look(ctx, c, key, log)
		if errors.Is(err, fs.ErrNotExist) {
			return look(ctx, c, key, log, ledger.Unmade)
		}
		there = true
		return l, err
	})
	if err == nil && p != nil && !there {
		return nil, fs.ErrNotExist
	}
	return p, err
}

// projectOf takes the ledgers of all tables in the order of their places.
func projectOf(name string, tables map[string]*config.Pipeline,
	take func(c *config.Pipeline) (*Ledger, error)) (*Project, error) {
	p := &Project{name: name}
	at := map[string]string{}
	for table, c := range tables {
		if c.Ledger == "" {
			return nil, nil
		}
		at[table] = placeOf(c.Ledger)
		p.tables = append(p.tables, projectTable{name: table})
	}
	slices.SortFunc(p.tables, func(a, b projectTable) int { return cmp.Compare(at[a.name], at[b.name]) })
	for i := range p.tables {
		t := &p.tables[i]
		var err error
		if t.ledger, err = take(tables[t.name]); err != nil {
			return nil, errors.Join(fmt.Errorf("table %s: %w", strconv.Quote(t.name), err), p.Close())
		}
		t.ledger.project = true
	}
	return p, nil
}

// placeOf names the place of a ledger, a file by its absolute path.
func placeOf(at string) string {
	if at = place.Clean(at); place.IsTable(at) || objectpath.Is(at) {
		return at
	}
	if abs, err := filepath.Abs(at); err == nil {
		return abs
	}
	return at
}

// Of returns the ledger of a table for one pass over its records: nothing of an earlier pass is in it.
func (p *Project) Of(table string) *Ledger {
	if p == nil {
		return nil
	}
	i := slices.IndexFunc(p.tables, func(t projectTable) bool { return t.name == table })
	l := p.tables[i].ledger
	return &Ledger{held: l.held, releases: l.releases, config: l.config, key: l.key, log: l.log, project: true}
}

// Entry is what the ledger is to have of the release of a report; nil without a ledger.
func (l *Ledger) Entry(rep *report.Report, pl *pipeline.Plan) (*ledger.Release, error) {
	if l == nil {
		return nil, nil
	}
	return l.entry(rep, pl)
}

// Not says why it is not known what all releases of all tables tell together: some of them was published together
// with one that no ledger of the project has. "" if it is.
func (p *Project) Not() string {
	if p == nil {
		return ""
	}
	for _, t := range p.tables {
		for _, r := range t.ledger.releases {
			of := r.Release.Project
			if of == nil {
				continue
			}
			for _, name := range of.Tables {
				if !p.has(of.ID, name) {
					return fmt.Sprintf("release %d of the ledger of table %s was published by the project %s together with its table %s, of which no ledger of this project has that release: what it tells together with this one is not judged",
						r.Number, strconv.Quote(t.name), strconv.Quote(of.Name), strconv.Quote(name))
				}
			}
		}
	}
	return ""
}

// has reports whether a ledger has the release of a table that was published together with others, or says of it that
// it was not published, and so none of them was.
func (p *Project) has(id, table string) bool {
	return slices.ContainsFunc(p.tables, func(t projectTable) bool {
		return slices.ContainsFunc(t.ledger.held.All(), func(r ledger.Listed) bool {
			return r.Release != nil && r.Release.Project != nil && r.Release.Project.ID == id &&
				r.Release.Project.Table == table
		})
	})
}

// Enter enters the releases of all tables, which are about to be published together, with their content; nil if it is
// no files. After an error none of them counts as published.
func (p *Project) Enter(releases map[string]*ledger.Release, content *publish.Content) error {
	if p == nil {
		return nil
	}
	of := ledger.Project{Name: p.name, ID: p.id()}
	for _, t := range p.tables {
		of.Tables = append(of.Tables, t.name)
	}
	slices.Sort(of.Tables)
	for _, t := range p.tables {
		r, one := *releases[t.name], of
		one.Table = t.name
		r.Project = &one
		if err := t.ledger.enter(&r, content); err != nil {
			err = fmt.Errorf("table %s: %w", strconv.Quote(t.name), err)
			p.Settle(err)
			return err
		}
	}
	return nil
}

// id names the next publication: no two follow the same lines of the same ledgers.
func (p *Project) id() string {
	h := sha256.New()
	for _, t := range p.tables {
		number, previous := t.ledger.held.Next()
		fmt.Fprintf(h, "%q %d %s %q\n", t.name, number, previous, placeOf(t.ledger.config.Ledger))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Settle enters what became of the releases, as Ledger.Settle does of one.
func (p *Project) Settle(named error) {
	if p == nil {
		return
	}
	for _, t := range p.tables {
		t.ledger.Settle(named)
	}
}

// Close lets go of the ledgers.
func (p *Project) Close() error {
	if p == nil {
		return nil
	}
	var errs []error
	for _, t := range p.tables {
		errs = append(errs, t.ledger.Close())
	}
	return errors.Join(errs...)
}
