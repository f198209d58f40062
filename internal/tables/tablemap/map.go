package tablemap

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/assess"
)

// Schema names the format of map.json of tables.
const Schema = "sdlfilter.tables.map/1"

// Map is the R-U map of the tables of one value. R is in 1/nat, U in 1/(unit of the
// value)².
type Map struct {
	Schema      string       `json:"schema"`
	Name        string       `json:"name"`
	Version     string       `json:"version"`
	Tables      []string     `json:"tables"`          // names of the mapped tables
	Value       string       `json:"value,omitempty"` // the column; empty: counts
	Records     int64        `json:"records"`
	Cells       int          `json:"cells"`
	Rules       []string     `json:"rules"`       // the gate's rules for these tables, in words
	MaxRisk     assess.Float `json:"max_risk"`    // the least limit among them; Infinity: none
	MinUtility  assess.Float `json:"min_utility"` // the greatest limit; 0: none
	Points      []Point      `json:"points"`
	Left        []string     `json:"left_out"` // settings that were not tried, with reasons
	Recommended *int         `json:"recommended"`
	Reason      string       `json:"reason,omitempty"` // why there is no recommendation
}

// Point is one method to protect the tables with its results; protection and audit are
// the same as in a run.
type Point struct {
	Method     string `json:"method"`     // suppress, round: random, …
	Setting    string `json:"setting"`    // in the form of the configuration
	Configured bool   `json:"configured"` // the present configuration of the tables
	Unsafe     int    `json:"unsafe"`     // number of unsafe cells of all tables
	HeldBack   int    `json:"held_back"`
	// share of the cells with contributors that are published with their value
	Efficiency assess.Float `json:"efficiency"`
	R          assess.Float `json:"R"`                      // greatest 1/entropy of an intruder's belief in an unsafe cell
	Error      assess.Float `json:"expected_squared_error"` // least one of these beliefs
	U          assess.Float `json:"U"`                      // 1/mean squared error of the cells with contributors
	Admissible bool         `json:"admissible"`             // whether the gate would publish
	Broken     []string     `json:"broken"`                 // violated rules, in words
	// patience ended the search; another run may suppress other cells
	CutShort   bool   `json:"cut_short,omitempty"`
	Impossible string `json:"impossible,omitempty"` // why the tables cannot be protected with this method
}

// Recommend chooses the admissible point with the greatest utility, among equal ones the
// one with the least risk (Duncan et al. 2001, §2: "the data disseminator … seek to
// maximize data utility" subject to a tolerable risk). others lists the violated rules
// of tables that the map does not vary; if there are any, nothing is recommended.
// limited says that the gate limits the risk of inference, and does not only exclude
// exact computation; otherwise nothing is recommended either. A point whose search
// patience has ended is not recommended.
func (m *Map) Recommend(limited bool, others []string) {
	m.Recommended, m.Reason = nil, ""
	switch {
	case !limited:
		m.Reason =
			"the gate has no limit of risk (max_risk, or min_range: rule) for these tables, so that the least change of all that leaves a doubt would have the greatest utility"
		return
	case len(others) > 0:
		m.Reason = "other tables of the configuration would be withheld: " + strings.Join(others, "; ")
		return
	}
	var order []int
	cut := false
	for i := range m.Points {
		if p := &m.Points[i]; p.Admissible && !p.CutShort {
			order = append(order, i)
		} else if p.Admissible {
			cut = true
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(m.Points[b].U, m.Points[a].U), cmp.Compare(m.Points[a].R, m.Points[b].R))
	})
	switch {
	case len(order) > 0:
		m.Recommended = &order[0]
	case cut:
		m.Reason =
			"of the admissible points each was cut short by patience, so that another run may hold other cells back and be refused"
	default:
		m.Reason = m.prevents()
	}
}

// prevents returns the reason in words: the rules that no point satisfies, or that no
// point satisfies all rules together.
func (m *Map) prevents() string {
	possible, broken := 0, map[string]int{}
	for i := range m.Points {
		if m.Points[i].Impossible != "" {
			continue
		}
		possible++
		for _, b := range m.Points[i].Broken {
			broken[b]++
		}
	}
	if possible == 0 {
		return "none of the methods can protect these tables"
	}
	var never, some []string
	for b, n := range broken {
		if n == possible {
			never = append(never, b)
		} else {
			some = append(some, fmt.Sprintf("%s at %d", b, possible-n))
		}
	}
	slices.Sort(never)
	slices.Sort(some)
	if len(never) > 0 {
		return "at no point holds: " + strings.Join(never, "; ")
	}
	return fmt.Sprintf("every rule holds at some of the %d points, all of them at none: %s", possible,
		strings.Join(some, "; "))
}

// Methods returns the methods of the points, in order of first occurrence.
func (m *Map) Methods() (list []string) {
	for i := range m.Points {
		if !slices.Contains(list, m.Points[i].Method) {
			list = append(list, m.Points[i].Method)
		}
	}
	return list
}

// MarshalJSON implements json.Marshaler: absent lists are empty ones.
func (m Map) MarshalJSON() ([]byte, error) {
	type plain Map
	p := plain(m)
	p.Schema = Schema
	p.Tables, p.Rules, p.Points, p.Left = full(p.Tables), full(p.Rules), full(p.Points), full(p.Left)
	return json.Marshal(p)
}

// MarshalJSON implements json.Marshaler: absent lists are empty ones.
func (p Point) MarshalJSON() ([]byte, error) {
	type plain Point
	q := plain(p)
	q.Broken = full(q.Broken)
	return json.Marshal(q)
}

func full[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// WriteJSON writes map.json.
func (m *Map) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(m); err != nil {
		return fmt.Errorf("map.json: %w", err)
	}
	return nil
}

// WriteCSV writes map.csv, one row per point. Infinite values are written as Infinity;
// rows of impossible points have no numbers.
func (m *Map) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	rows := [][]string{
		{"method", "setting", "unsafe", "held_back", "efficiency", "R", "expected_squared_error", "U", "admissible",
			"recommended", "broken", "impossible"}}
	for i := range m.Points {
		p := &m.Points[i]
		row := []string{p.Method, p.Setting, "", "", "", "", "", "", "false", "false", strings.Join(p.Broken, "; "),
			p.Impossible}
		if p.Impossible == "" {
			copy(row[2:], []string{
				strconv.Itoa(p.Unsafe), strconv.Itoa(p.HeldBack), plain(p.Efficiency), plain(p.R), plain(p.Error), plain(p.U),
				strconv.FormatBool(p.Admissible), strconv.FormatBool(m.Recommended != nil && *m.Recommended == i),
			})
		}
		rows = append(rows, row)
	}
	if err := c.WriteAll(rows); err != nil {
		return fmt.Errorf("map.csv: %w", err)
	}
	return nil
}

// plain formats a number for programs.
func plain(f assess.Float) string {
	switch v := float64(f); {
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsNaN(v):
		return ""
	default:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
}
