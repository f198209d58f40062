package entered

import (
	"fmt"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
)

// EnterTables enters tables of the records that are about to be published; content is nil if they are no files. Settle
// says what became of them.
func (l *Ledger) EnterTables(t *ledger.Tables, content *connectors.Content) error {
	if l == nil {
		return nil
	}
	t.Pipeline, t.KeyID, t.Releasing = l.config.Name, l.key.ID(), l.config.Releasing()
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

// describeTables names in a report the tables of the ledger, which are not judged together with records.
func (l *Ledger) describeTables(rep *report.Report) {
	for _, r := range l.held.Tables() {
		of := report.EarlierTables{Number: r.Number, Name: r.Name()}
		for _, t := range r.Tables.Tables {
			of.Tables = append(of.Tables, describedTable(t))
		}
		rep.Ledger.Tables = append(rep.Ledger.Tables, of)
		rep.Warnings = append(rep.Warnings, fmt.Sprintf("ledger: what this release tells together with the tables of entry %d (%s) "+
			"is not judged: %s", of.Number, of.Name, strings.Join(of.Tables, "; ")))
	}
}

// describedTable names a table by its columns.
func describedTable(t ledger.Table) string {
	what := "number of records"
	if t.Value != "" {
		what = "sum of " + t.Value
	}
	return fmt.Sprintf("%s: %s by %s, %d cells, protected by %s", t.Name, what, strings.Join(t.Rows, " × "), t.Cells, t.Protect)
}

// aboutTables describes tables in lines.
func aboutTables(of *ledger.Tables) []string {
	lines := []string{fmt.Sprintf("   tables of the records of %s, key %s", of.Pipeline, of.KeyID)}
	for _, t := range of.Tables {
		lines = append(lines, "   "+describedTable(t))
	}
	return lines
}
