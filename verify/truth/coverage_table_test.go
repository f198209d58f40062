package truth

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// coverage is the figures of each row of a table.
type coverage struct {
	order []string
	lock  sync.Mutex
	rows  map[string]*held
	alone map[string]map[string]*held // and of each chain of a row
}

// row begins a row, if it is a new one.
func (c *coverage) row(row string) {
	if c.rows[row] == nil {
		c.rows[row], c.alone[row] = &held{}, map[string]*held{}
		c.order = append(c.order, row)
	}
}

// add may be called by several goroutines.
func (c *coverage) add(row, name string, h held) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.rows[row].add(h)
	if c.alone[row][name] == nil {
		c.alone[row][name] = &held{}
	}
	c.alone[row][name].add(h)
}

// least returns the chain of a row with the least share within.
func (c *coverage) least(row string) (name string, share float64) {
	share = 1
	for one, h := range c.alone[row] {
		if of := float64(h.within) / float64(max(1, h.figures)); h.figures > 0 &&
			(of < share || of == share && (name == "" || one < name)) {
			name, share = one, of
		}
	}
	return name, share
}

// judge reports the rows that do not hold, in the short form all rows together, and writes the table.
func (c *coverage) judge(t *testing.T, of form) {
	t.Helper()
	var all held
	for _, row := range c.order {
		all.add(*c.rows[row])
	}
	t.Logf("\n%s", c.markdown())
	rows := c.rows
	if of == short {
		rows = map[string]*held{"all masks": &all}
	}
	for row, h := range rows {
		if h.figures == 0 {
			if *onlyFlag == "" {
				t.Errorf("%s: every file is refused", row)
			}
			continue
		}
		if within := float64(h.within) / float64(h.figures); within < 0.9 {
			t.Errorf("%s: %.1f %% within two standard errors", row, 100*within)
		}
		if above := float64(h.above) / float64(h.figures); above > 0.05 {
			t.Errorf("UNSAFE %s: %.1f %% above the upper end", row, 100*above)
		}
	}
	if of == full {
		for row := range c.rows {
			if name, within := c.least(row); within < leastAlone {
				t.Errorf("%s: %.1f %% within two standard errors", name, 100*within)
			}
		}
	}
	c.write(t, of)
}

// leastAlone is the least share within of one chain, as of a row. Of its 24 reports with 23 figures each, one that
// misses does so in about 12: the share of a chain that misses in two reports varies by √2·12/554 = 3 %.
const leastAlone = 0.9

func (c *coverage) markdown() string {
	var b strings.Builder
	b.WriteString(
		"| masks | figures | within ± 2 SE | above the upper end | bounds | within, the least of one chain |\n|---|---|---|---|---|---|\n")
	for _, row := range c.order {
		h := c.rows[row]
		if h.figures == 0 && *onlyFlag != "" {
			continue
		}
		_, least := c.least(row)
		share := func(n int) float64 { return 100 * float64(n) / float64(max(1, h.figures)) }
		fmt.Fprintf(&b, "| %s | %d | %.1f %% | %.1f %% | %.0f %% | %.1f %% |\n", row, h.figures, share(h.within),
			share(h.above), share(h.bounds), 100*least)
	}
	return b.String()
}

// Marks around the table in docs/assessment.md.
const (
	coverageBegins = "<!-- table of coverage of make test-truth -->\n"
	coverageEnds   = "<!-- end of the table of coverage -->\n"
)

// write writes the table of the full form between the marks in the file named by -table.
func (c *coverage) write(t *testing.T, of form) {
	t.Helper()
	if *tableFlag == "" || *onlyFlag != "" || of != full {
		return
	}
	if err := between(*tableFlag, coverageBegins, coverageEnds, c.markdown()); err != nil {
		t.Fatal(err)
	}
}

// between replaces what a file has between two marks.
func between(path, begins, ends, table string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(text), begins)
	_, tail, also := strings.Cut(rest, ends)
	if !ok || !also {
		return fmt.Errorf("%s has no marks around the table", path)
	}
	return os.WriteFile(path, []byte(head+begins+"\n"+table+"\n"+ends+tail), 0o644)
}
