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

// Schema names the form of map.json of tables.
const Schema = "sdlfilter.tables.map/1"

// Map is the R-U map of the tables of one value. R is in 1/nat, U in 1/(unit of the
// value)².
type Map struct {
	Schema      string       `json:"schema"`
	Name        string       `json:"name"`
	Version     string       `json:"version"`
	Tables      []string     `json:"tables"`          // those that are mapped
	Value       string       `json:"value,omitempty"` // the column; none: counts
	Records     int64        `json:"records"`
	Cells       int          `json:"cells"`
	Rules       []string     `json:"rules"`       // what the gate's configuration asks of these tables, in words
	MaxRisk     assess.Float `json:"max_risk"`    // the least limit among them; Infinity: none
	MinUtility  assess.Float `json:"min_utility"` // the greatest limit; 0: none
	Points      []Point      `json:"points"`
	Left        []string     `json:"left_out"` // what was not tried, and why
	Recommended *int         `json:"recommended"`
	Reason      string       `json:"reason,omitempty"` // what prevents a recommendation
}

// Point is one way to protect the tables, protected and audited as a run does it.
type Point struct {
	Method     string       `json:"method"`     // suppress, round: random, …
	Setting    string       `json:"setting"`    // as the configuration has it
	Configured bool         `json:"configured"` // as the tables are protected now
	Unsafe     int          `json:"unsafe"`     // cells, of all tables
	HeldBack   int          `json:"held_back"`
	Efficiency assess.Float `json:"efficiency"`             // share of the cells with contributors that are published with their value
	R          assess.Float `json:"R"`                      // greatest 1/entropy of what an intruder believes of an unsafe cell
	Error      assess.Float `json:"expected_squared_error"` // least one of that belief
	U          assess.Float `json:"U"`                      // 1/mean squared error of the cells with contributors
	Admissible bool         `json:"admissible"`             // whether the gate would publish
	Broken     []string     `json:"broken"`                 // rules that do not hold, in words
	CutShort   bool         `json:"cut_short,omitempty"`    // patience ended the search; another run may hold other cells back
	Impossible string       `json:"impossible,omitempty"`   // why the tables cannot be protected so
}

// Recommend chooses the admissible point of greatest utility, among equals that of the
// least risk (Duncan et al. 2001, §2: "the data disseminator … seek to maximize data
// utility" subject to a tolerable risk). others is what the gate does not admit of tables
// that the map does not vary; limited says that the gate limits what can be inferred, and
// not only that nothing can be computed.
func (m *Map) Recommend(limited bool, others []string) {
	m.Recommended, m.Reason = nil, ""
	switch {
	case !limited:
		m.Reason = "the gate has no limit of risk (max_risk, or min_range: rule) for these tables, so that the least change of all that leaves a doubt would have the greatest utility"
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
		m.Reason = "of the admissible points each was cut short by patience, so that another run may hold other cells back and be refused"
	default:
		m.Reason = m.prevents()
	}
}

// prevents says which rules hold at no point, or that none holds together with the others.
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
	return fmt.Sprintf("every rule holds at some of the %d points, all of them at none: %s", possible, strings.Join(some, "; "))
}

// Methods are the methods of the points, in their order.
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
func WriteJSON(w io.Writer, m *Map) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(m); err != nil {
		return fmt.Errorf("map.json: %w", err)
	}
	return nil
}

// WriteCSV writes map.csv, one row a point. Infinite values are Infinity; of what is
// impossible there are no numbers.
func WriteCSV(w io.Writer, m *Map) error {
	c := csv.NewWriter(w)
	rows := [][]string{{"method", "setting", "unsafe", "held_back", "efficiency", "R", "expected_squared_error", "U", "admissible", "recommended", "broken", "impossible"}}
	for i := range m.Points {
		p := &m.Points[i]
		row := []string{p.Method, p.Setting, "", "", "", "", "", "", "false", "false", strings.Join(p.Broken, "; "), p.Impossible}
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

// plain is a number for programs.
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
