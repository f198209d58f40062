package monitor

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
)

// Shown is a snapshot reduced to what may be shown of it, before it is shown: what is
// kept of it goes into the transaction that it is about, and it is shown once that is
// committed. So what has been shown is always known after a restart, and two shown
// states are never one respondent apart (see shown).
type Shown struct {
	view   *view
	text   []byte // the report as JSON; nil where there is none
	moment moment
}

// moment is what is kept of a snapshot for good: enough for its row of the table and
// for the lines over time.
type moment struct {
	Number      int64                   `json:"n"`
	Emitted     int64                   `json:"emitted,omitempty"` // its number in topics and files; 0: of the page alone
	At          time.Time               `json:"at"`
	Begins      bool                    `json:"begins,omitempty"` // the first after a start
	Released    int64                   `json:"released"`
	Quarantined int64                   `json:"quarantined,omitempty"`
	Rate        assess.Float            `json:"rate"`
	Lag         *int64                  `json:"lag,omitempty"`
	Judged      bool                    `json:"judged,omitempty"`
	Passed      bool                    `json:"passed,omitempty"`
	Columns     map[string]momentColumn `json:"columns"`
}

type momentColumn struct {
	Efficiency assess.Float `json:"efficiency"`
	Worst      *liveRisk    `json:"worst,omitempty"`
}

// Bounds of what is kept: moments, and moments times columns.
const (
	mostMoments = 240
	mostCells   = 2000
	fewMoments  = 20
)

// keptVersion is the version of what State writes.
const keptVersion = 1

// savedState is the state of a page over a restart. It holds only what was shown.
type savedState struct {
	Version int             `json:"version"`
	Of      string          `json:"of"` // what the measures are of
	At      time.Time       `json:"at"`
	Number  int64           `json:"number"`
	Report  json.RawMessage `json:"report,omitempty"`
	Moments []moment        `json:"moments"`
}

// Reduce reduces a report to what may be shown after the report shown last. It reads the report
// before it returns, and nothing keeps it. A nil Monitor reduces nothing.
func (m *Monitor) Reduce(rep *report.Report) *Shown {
	if m == nil || rep == nil {
		return nil
	}
	// Reducing a report takes milliseconds, during which no lock is held.
	m.taking.Lock()
	defer m.taking.Unlock()
	m.mu.Lock()
	before, number, begins := m.view, max(m.number+1, rep.Snapshot), !m.begun
	m.mu.Unlock()
	s := &Shown{view: viewOf(rep, before)}
	s.view.report.Snapshot = number
	text, err := s.view.report.JSON()
	if err == nil { // or a parameter of a mask has no form in JSON; the rest is shown
		s.text = text
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s.moment = m.momentOf(s.view, rep.Snapshot)
	s.moment.Begins = begins
	return s
}

// momentOf is called with the lock held.
func (m *Monitor) momentOf(v *view, emitted int64) moment {
	r := v.report
	k := moment{Number: r.Snapshot, Emitted: emitted, At: r.Finished.UTC(), Released: r.Records.Released,
		Quarantined: r.Records.Quarantined,
		Rate:        rounded(assess.Float(m.rate.over(m.now(), m.started, m.rateWindow())), digits), Lag: m.liveLag().Total,
		Judged: len(r.Gate.Rules) > 0, Passed: r.Gate.Passed, Columns: map[string]momentColumn{}}
	for i := range r.Columns {
		if c := &r.Columns[i]; c.Masked {
			k.Columns[c.Name] = momentColumn{c.Utility.Efficiency, worst(c)}
		}
	}
	return k
}

// Show shows what Reduce made.
func (m *Monitor) Show(s *Shown) {
	if m == nil || s == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.view, m.text, m.number, m.begun = s.view, s.text, s.moment.Number, true
	m.history = append(m.history, s.view)
	if n := len(m.history); n > longestHistory {
		m.history = slices.Delete(m.history, 0, n-longestHistory)
	}
	m.moments = thinned(append(m.moments, s.moment))
	if s.moment.Judged {
		m.gate.outdone = true
	}
	m.metrics.snapshots.Inc()
	m.tell()
}

// Snapshot shows the current assessment. It reads the report before it returns, and nothing keeps
// it.
func (m *Monitor) Snapshot(rep *report.Report) { m.Show(m.Reduce(rep)) }

// HasSnapshot says whether a snapshot has been shown since the start.
func (m *Monitor) HasSnapshot() bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.begun
}

// thinned leaves every second moment out of the older half where there are too many:
// the more there are, the coarser the past.
func thinned(list []moment) []moment {
	columns := 1
	for i := range list {
		columns = max(columns, len(list[i].Columns))
	}
	if len(list) <= min(mostMoments, max(fewMoments, mostCells/columns)) {
		return list
	}
	half := len(list) / 2
	var out []moment
	for i, k := range list {
		switch {
		case i >= half || i%2 == 0:
			out = append(out, k)
		case k.Begins && i+1 < len(list):
			list[i+1].Begins = true // the line is interrupted there all the same
		}
	}
	return out
}

// State is what is to be kept of the page once s is shown; of says what the measures
// are of, so that they are not taken for those of another configuration.
func (m *Monitor) State(s *Shown, of string) ([]byte, error) {
	if m == nil || s == nil {
		return nil, nil
	}
	m.mu.Lock()
	k := savedState{Version: keptVersion, Of: of, At: s.moment.At, Number: s.moment.Number, Report: s.text,
		Moments: thinned(append(slices.Clone(m.moments), s.moment))}
	m.mu.Unlock()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := errors.Join(json.NewEncoder(z).Encode(k), z.Close()); err != nil {
		return nil, fmt.Errorf("the live page's state: %w", err)
	}
	return b.Bytes(), nil
}

// mostKept bounds what a state unpacks to.
const mostKept = 16 << 20

// Resume takes up what an instance before this one has kept of the page. It changes
// nothing where a snapshot has been shown since the start, or what is there is newer.
// Measures of something else than of are left out; their lines over time are kept. Its
// errors name no value.
func (m *Monitor) Resume(state []byte, of string) error {
	if m == nil || len(state) == 0 {
		return nil
	}
	k, err := parseKept(state)
	if err != nil {
		return err
	}
	var last *view
	if len(k.Report) > 0 && k.Of == of {
		r, err := report.Parse(k.Report)
		if err != nil {
			return errors.New("the live page's state is damaged: it has no report")
		}
		last = again(r)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.begun || !k.At.After(m.resumed) {
		return nil
	}
	m.resumed, m.number, m.moments, m.history = k.At, k.Number, k.Moments, nil
	m.view, m.text = last, nil
	if last != nil {
		m.text, m.history = k.Report, []*view{last}
	}
	m.tell()
	return nil
}

func parseKept(state []byte) (k savedState, err error) {
	z, err := gzip.NewReader(bytes.NewReader(state))
	if err != nil {
		return k, errors.New("the live page's state is damaged: it is not gzip")
	}
	text, err := io.ReadAll(io.LimitReader(z, mostKept+1))
	if err != nil || len(text) > mostKept {
		return k, errors.New("the live page's state is damaged: it cannot be unpacked")
	}
	var head struct {
		Version int `json:"version"`
	}
	if json.Unmarshal(text, &head) != nil {
		return k, errors.New("the live page's state is damaged: it is not JSON")
	}
	if head.Version != keptVersion {
		return k, fmt.Errorf("the live page's state has version %d, this program reads version %d", head.Version, keptVersion)
	}
	if json.Unmarshal(text, &k) != nil || k.Number < 0 {
		return k, errors.New("the live page's state is damaged")
	}
	k.Moments = thinned(k.Moments)
	return k, nil
}

// again is the view of a report that was reduced before.
func again(r *report.Report) *view {
	v := &view{report: r, columns: make(map[string]*columnView, len(r.Columns))}
	for i := range r.Columns {
		c := r.Columns[i]
		view := &columnView{measures: c, ru: report.MapOf(&c, r.Gate), enough: c.Original.N >= fewest &&
			c.Released.N >= fewest}
		if !view.enough || math.IsNaN(float64(c.Utility.Efficiency)) {
			view.ru.Points, view.ru.Curves = nil, nil
		}
		v.columns[c.Name] = view
	}
	return v
}
