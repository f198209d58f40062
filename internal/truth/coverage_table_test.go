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
}

// row begins a row, if it is a new one.
func (c *coverage) row(row string) {
	if c.rows[row] == nil {
		c.rows[row] = &held{}
		c.order = append(c.order, row)
	}
}

// add may be called by several goroutines.
func (c *coverage) add(row string, h held) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.rows[row].add(h)
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
	c.write(t, of)
}

func (c *coverage) markdown() string {
	var b strings.Builder
	b.WriteString("| masks | figures | within ± 2 SE | above the upper end | bounds |\n|---|---|---|---|---|\n")
	for _, row := range c.order {
		h := c.rows[row]
		share := func(n int) float64 { return 100 * float64(n) / float64(max(1, h.figures)) }
		fmt.Fprintf(&b, "| %s | %d | %.1f %% | %.1f %% | %.0f %% |\n", row, h.figures, share(h.within), share(h.above), share(h.bounds))
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
