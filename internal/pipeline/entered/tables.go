package entered

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// EnterTables enters tables of the records that are about to be published; content is nil if they are no files. Settle
// says what became of them.
func (l *Ledger) EnterTables(t *ledger.Tables, content *connectors.Content) error {
	if l == nil {
		return nil
	}
	if err := l.made(t); err != nil {
		return err
	}
	if content != nil {
		t.Published = append(t.Published, publishedOf(content))
	}
	number, err := l.held.EnterTables(t)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	l.number = number
	return nil
}

// made says of tables by which masks and key of the pipeline they are made.
func (l *Ledger) made(t *ledger.Tables) (err error) {
	t.Pipeline, t.KeyID, t.Releasing = l.config.Name, l.key.ID(), l.config.Releasing()
	if t.Files, err = filesOf(l.config); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// notYet stands for the number of records that are released while it is not known.
const notYet = -1

// besideTables names tables of the ledger that tell more of the records than what was released of them and what this
// release shows, that the plan was not told of, or not of as many records, and that the gate does not allow: a total
// less what records tell of the others in its cell tells of one of them. "" if there are none, or if the ledger is
// not held. released is the number of today's records that are released, and unidentified that of those without
// identity.
func (l *Ledger) besideTables(released, unidentified int64) string {
	if l.held == nil {
		return ""
	}
	for _, r := range l.tables() {
		switch {
		case slices.Contains(l.config.Gate.AllowTables, r.Name()) || l.follow(r.Tables, released, unidentified):
		case !l.judged[r.Number]:
			return l.unjudged(&r, "it is done in one run only, of tables that it begins with")
		case released != r.Tables.Records:
			return l.unjudged(&r, fmt.Sprintf("they were made of %d records, and %d are released", r.Tables.Records, released))
		}
	}
	return ""
}

// BesideRecords returns the releases of records beside which tables that are about to be published tell more than was
// released; none without a ledger.
func (l *Ledger) BesideRecords(t *ledger.Tables) []ledger.Listed {
	if l == nil || l.made(t) == nil && l.follow(t, notYet, 0) {
		return nil
	}
	return l.releases
}

// Opened says of which cells that tables hold back whoever has the released records computes the values: those of
// tables of columns that they have as they are. Of them the tables' audit is of somebody without the records.
func (l *Ledger) Opened(t *ledger.Tables) []string {
	if l == nil {
		return nil
	}
	return l.opened(nil, t)
}

// opened is Opened beside the records of a plan of today too, if there is one.
func (l *Ledger) opened(pl *pipeline.Plan, of *ledger.Tables) (list []string) {
	for i := range of.Tables {
		t := &of.Tables[i]
		if len(t.Hidden) == 0 || len(t.Columns) == 0 || len(l.unseen(pl, of, t)) > 0 {
			continue
		}
		list = append(list, fmt.Sprintf("ledger: the %d cells that table %s (%s) holds back are counted, or summed up, in "+
			"released records, which have its columns as they are: ranges and risks in the report of the tables are of "+
			"somebody without these records", len(t.Hidden), t.Name, of.Name))
	}
	return list
}

// Tables returns the tables of the ledger that count as published; none without a ledger.
func (l *Ledger) Tables() []ledger.Listed {
	if l == nil {
		return nil
	}
	return l.held.Tables()
}

// follow reports whether tables are no more than sums of what one release has of the records: an earlier one, or that
// of today's plan, if there is one. They are made of what it released, draw by draw, or of columns that it released as
// they are; and it released as many records as they are made of, so that it has left out none of them. released and
// unidentified are those of besideTables.
func (l *Ledger) follow(t *ledger.Tables, released, unidentified int64) bool {
	made := func(key string, releasing []byte, files []ledger.File) bool {
		return t.KeyID == key && bytes.Equal(t.Releasing, releasing) && slices.Equal(t.Files, files)
	}
	if l.today != nil && (released == notYet || released == t.Records) {
		again := sameDraws(&ledger.Release{Draws: keystream.Version, ByPlace: unidentified}, l.config) &&
			len(transform.NeedsSD(l.config.Masks)) == 0
		files, err := filesOf(l.config)
		plain := map[string]bool{}
		for _, out := range l.today.Layout.Release {
			plain[out.Field.Name] = !out.Masked
		}
		if again && err == nil && made(l.key.ID(), l.config.Releasing(), files) || asTheyAre(t, plain) {
			return true
		}
	}
	return slices.ContainsFunc(l.releases, func(of ledger.Listed) bool {
		r := of.Release
		before, err := l.config.Before("", r.Releasing)
		again := err == nil && sameDraws(r, before) && len(transform.NeedsSD(before.Masks)) == 0
		plain := map[string]bool{}
		for _, c := range r.Columns {
			plain[c.Name] = !c.Masked
		}
		return r.Records == t.Records && (again && made(r.KeyID, r.Releasing, r.Files) || asTheyAre(t, plain))
	})
}

// asTheyAre reports whether all columns from which tables are made are plain: released, and by no mask.
func asTheyAre(t *ledger.Tables, plain map[string]bool) bool {
	return !slices.ContainsFunc(t.Tables, func(one ledger.Table) bool {
		return len(one.Columns) == 0 || slices.ContainsFunc(one.Columns, func(name string) bool { return !plain[name] })
	})
}

// describeTables names in a report the tables of the ledger, and warns of those that tell more than was released of
// the records.
func (l *Ledger) describeTables(rep *report.Report) {
	for _, r := range l.tables() {
		of := report.EarlierTables{Number: r.Number, Name: r.Name()}
		for _, t := range r.Tables.Tables {
			of.Tables = append(of.Tables, describedTable(t))
		}
		of.Judged = l.judged[r.Number] && rep.Ledger.Not == ""
		if today := l.today; rep.Records.Released == r.Tables.Records {
			rep.Warnings = append(rep.Warnings, l.opened(today, r.Tables)...)
		}
		rep.Ledger.Tables = append(rep.Ledger.Tables, of)
		if of.Judged || l.follow(r.Tables, rep.Records.Released, rep.IdentifiedByPlace) {
			continue
		}
		rep.Warnings = append(rep.Warnings,
			fmt.Sprintf("ledger: what this release tells together with the tables of entry %d (%s) "+
				"is not judged: %s", of.Number, of.Name, strings.Join(of.Tables, "; ")))
	}
}

// describedTable names a table by its columns.
func describedTable(t ledger.Table) string {
	what := "number of records"
	if t.Value != "" {
		what = "sum of " + t.Value
	}
	return fmt.Sprintf("%s: %s by %s, %d cells, protected by %s", t.Name, what, strings.Join(t.Rows, " × "), t.Cells,
		t.Protect)
}

// aboutTables describes tables in lines.
func aboutTables(of *ledger.Tables) []string {
	lines := []string{fmt.Sprintf("   tables of the records of %s, key %s", of.Pipeline, of.KeyID)}
	for _, t := range of.Tables {
		lines = append(lines, "   "+describedTable(t))
	}
	return lines
}
