package monitor

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// mostPartitions is how many partitions, those with the greatest lag, the page lists.
const mostPartitions = 24

// liveState is the event "state": what changes from second to second. Times are
// seconds ago, so that the reader's clock does not matter.
type liveState struct {
	Mode   string  `json:"mode"`
	Uptime float64 `json:"uptime"`
	// the brokers answered at the last contact, or were not asked yet
	Connected    bool                     `json:"connected"`
	Stuck        string                   `json:"stuck,omitempty"`     // why the loop counts as stuck
	NotReady     string                   `json:"not_ready,omitempty"` // what is missing before records flow
	Rate         float64                  `json:"rate"`                // records per second
	Records      map[microdata.Fate]int64 `json:"records"`
	Dropped      []dropped                `json:"dropped"`       // by reason, as far back as is kept
	DroppedOther int64                    `json:"dropped_other"` // for reasons that Dropped leaves out
	Lag          liveLag                  `json:"lag"`
	Committed    int64                    `json:"committed"`
	Aborted      int64                    `json:"aborted"`
	SinceCommit  *float64                 `json:"since_commit"` // null: none yet
	Rebalances   int64                    `json:"rebalances"`
	Gate         liveVerdict              `json:"gate"`
	Reload       *liveReload              `json:"reload,omitempty"`
	HasSnapshot  bool                     `json:"has_snapshot"`
	LastSnapshot int64                    `json:"last_snapshot"`
}

type liveLag struct {
	Total      *int64          `json:"total"` // null: not known of any partition
	Assigned   int             `json:"assigned"`
	Partitions []livePartition `json:"partitions"` // by place, those with the greatest lag
}

type livePartition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Records   *int64 `json:"records"` // null: not known yet
}

type liveVerdict struct {
	Judged bool       `json:"judged"`
	Passed bool       `json:"passed"`
	Rules  []liveRule `json:"rules"`
}

type liveRule struct {
	Rule    string       `json:"rule"`
	Passed  bool         `json:"passed"`
	Measure string       `json:"measure,omitempty"`
	Unit    string       `json:"unit,omitempty"`
	Limit   assess.Float `json:"limit"`
	Found   assess.Float `json:"found"` // null: not shown
	Later   bool         `json:"later"` // judged after the snapshot, whose finding was another
	Advice  string       `json:"advice,omitempty"`
}

type liveReload struct {
	Since float64 `json:"since"`
	Error string  `json:"error,omitempty"`
}

// state is what the page shows besides a snapshot.
func (m *Monitor) state() liveState {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	s := liveState{
		Mode: m.mode, Uptime: now.Sub(m.started).Seconds(), Stuck: m.alive(), NotReady: m.ready(),
		Connected: m.brokers.err == "",
		Rate:      m.rate.over(now, m.started, m.rateWindow()),
		Records:   m.counts.ByFate(),
		Committed: m.committed, Aborted: m.aborted, Rebalances: m.rebalances,
		Gate: m.verdict(), Lag: m.liveLag(),
	}
	s.Dropped, s.DroppedOther = m.dropped()
	if !m.lastCommit.IsZero() {
		since := now.Sub(m.lastCommit).Seconds()
		s.SinceCommit = &since
	}
	if !m.reload.at.IsZero() {
		s.Reload = &liveReload{now.Sub(m.reload.at).Seconds(), m.reload.err}
	}
	if m.view != nil {
		s.HasSnapshot, s.LastSnapshot = true, m.view.report.Snapshot
	}
	return s
}

func (m *Monitor) liveLag() liveLag {
	l := liveLag{Partitions: []livePartition{}}
	var total int64
	for p, n := range m.lag {
		total += n
		l.Partitions = append(l.Partitions, livePartition{p.topic, p.partition, &n})
	}
	if len(m.lag) > 0 {
		l.Total = &total
	}
	for topic, list := range m.assigned {
		l.Assigned += len(list)
		for _, p := range list {
			if _, ok := m.lag[place{topic, p}]; !ok {
				l.Partitions = append(l.Partitions, livePartition{Topic: topic, Partition: p})
			}
		}
	}
	byPlace := func(a, b livePartition) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	}
	if len(l.Partitions) > mostPartitions {
		lag := func(p livePartition) int64 {
			if p.Records == nil {
				return math.MaxInt64
			}
			return *p.Records
		}
		slices.SortFunc(l.Partitions, func(a, b livePartition) int {
			return cmp.Or(cmp.Compare(lag(b), lag(a)), byPlace(a, b))
		})
		l.Partitions = l.Partitions[:mostPartitions]
	}
	slices.SortFunc(l.Partitions, byPlace)
	return l
}

// verdict joins the rules of the last snapshot with what the gate has said since.
// A snapshot tells what each rule found; the gate is asked on every commit.
func (m *Monitor) verdict() liveVerdict {
	v := liveVerdict{Rules: []liveRule{}}
	if m.view != nil && len(m.view.report.Gate.Rules) > 0 {
		v.Judged, v.Passed = true, m.view.report.Gate.Passed
		for _, rule := range m.view.report.Gate.Rules {
			unit := ""
			if c := m.view.columns[rule.Column]; c != nil {
				unit = c.measures.Unit
			}
			v.Rules = append(v.Rules, liveRule{Rule: rule.Rule, Passed: rule.Passed, Measure: rule.Measure, Unit: unit,
				Limit: rule.Limit, Found: rule.Found, Advice: rule.Advice})
		}
	}
	if !m.gate.known || v.Judged && m.gate.outdone {
		return v
	}
	v.Judged, v.Passed = true, m.gate.passed
	left := slices.Clone(m.gate.broken)
	for i := range v.Rules {
		rule := &v.Rules[i]
		passed := true
		left = slices.DeleteFunc(left, func(b string) bool {
			same := subject(b) == subject(rule.Rule)
			passed = passed && !same
			return same
		})
		if passed != rule.Passed {
			rule.Passed, rule.Later, rule.Found, rule.Advice = passed, true, assess.Float(math.NaN()), ""
		}
	}
	for _, b := range left {
		nan := assess.Float(math.NaN())
		v.Rules = append(v.Rules, liveRule{Rule: b, Limit: nan, Found: nan})
	}
	return v
}

// subject is a rule without the target that is the worst of those that it speaks of.
func subject(rule string) string {
	s, _, _ := strings.Cut(rule, " (worst:")
	return s
}

// liveSnapshot is the event "snapshot".
type liveSnapshot struct {
	Snapshot int64          `json:"snapshot"`
	Finished time.Time      `json:"finished"`
	Records  report.Records `json:"records"`
	Columns  []liveColumn   `json:"columns"` // masked ones
}

type liveColumn struct {
	Name       string       `json:"name"`
	Unit       string       `json:"unit,omitempty"`
	Efficiency assess.Float `json:"efficiency"`
	U          assess.Float `json:"U"`
	Worst      *liveRisk    `json:"worst"` // the greatest R; null: none is shown
}

type liveRisk struct {
	Target    string       `json:"target"`
	Knowledge string       `json:"knowledge"`
	R         assess.Float `json:"R"`
	RMSE      assess.Float `json:"rmse"`
}

// latest is the last snapshot, and which in the order of this process it is, 0
// where there is none.
func (m *Monitor) latest() (s liveSnapshot, v *view) {
	m.mu.Lock()
	v = m.view
	m.mu.Unlock()
	if v == nil {
		return s, nil
	}
	s = liveSnapshot{Snapshot: v.report.Snapshot, Finished: v.report.Finished.UTC(), Records: v.report.Records,
		Columns: []liveColumn{}}
	for i := range v.report.Columns {
		if c := &v.report.Columns[i]; c.Masked {
			s.Columns = append(s.Columns, liveColumn{c.Name, c.Unit, c.Utility.Efficiency, c.Utility.U, worst(c)})
		}
	}
	return s, v
}

func worst(c *assess.ColumnMeasures) *liveRisk {
	var w *liveRisk
	for _, k := range c.Risk {
		if r := float64(k.R); !math.IsNaN(r) && (w == nil || r > float64(w.R)) {
			w = &liveRisk{k.Target, k.Knowledge, k.R, k.RMSE}
		}
	}
	return w
}

// columnDetail is what the page shows of the chosen column.
type columnDetail struct {
	Name     string         `json:"name"`
	Unit     string         `json:"unit,omitempty"`
	Snapshot int64          `json:"snapshot"`
	N        int64          `json:"n"`
	Enough   bool           `json:"enough"` // respondents for anything to be shown
	Held     bool           `json:"held"`   // too few new ones: the state of an earlier snapshot
	Utility  assess.Utility `json:"utility"`
	SVG      string         `json:"svg"`
	Dots     string         `json:"dots"`    // "" where the map has no point
	Times    string         `json:"times"`   // risk, utility, lag and throughput over time
	History  []historyRow   `json:"history"` // the newest first
}

type historyRow struct {
	Snapshot   int64          `json:"snapshot"`
	Emitted    int64          `json:"emitted"` // its number in topics and files; 0: of the page alone
	Finished   time.Time      `json:"finished"`
	Records    report.Records `json:"records"`
	Judged     bool           `json:"judged"`
	Passed     bool           `json:"passed"`
	Efficiency assess.Float   `json:"efficiency"`
	Worst      *liveRisk      `json:"worst"`
}

// column returns what is shown of a column, its map drawn for a wide or a slim
// page; ok is false where no snapshot holds it.
func (m *Monitor) column(name string, slim bool) (d columnDetail, ok bool) {
	m.mu.Lock()
	history, moments := slices.Clone(m.history), slices.Clone(m.moments)
	m.mu.Unlock()
	if len(history) == 0 {
		return d, false
	}
	last := history[len(history)-1]
	c := last.columns[name]
	if c == nil {
		return d, false
	}
	d = columnDetail{Name: name, Unit: c.measures.Unit, Snapshot: last.report.Snapshot, N: c.measures.Original.N,
		Enough: c.enough, Held: c.earlier, Utility: c.measures.Utility, History: []historyRow{}}
	d.rows(moments)
	ru := c.ru
	ru.Points = slices.Clone(ru.Points)
	for i := range ru.Points {
		ru.Points[i].Trail = trail(history[:len(history)-1], name, ru.Points[i])
	}
	size, dots, times := figure.SVGOptions{Width: 680, Height: 540, ID: "live", Beside: true}, 420, 1136
	if slim {
		size.Width, size.Height, dots, times = 328, 470, 328, 328
	}
	d.SVG = string(figure.RUMapSVG(ru, size))
	d.Dots = string(figure.RiskDotsSVG(ru, figure.SVGOptions{Width: dots}))
	d.Times = string(figure.TimesSVG(timesOf(moments, name, d.Unit), figure.SVGOptions{Width: times}))
	return d, true
}

// rows are the table of the last snapshots, the newest first.
func (d *columnDetail) rows(moments []moment) {
	for _, k := range slices.Backward(moments[max(0, len(moments)-longestHistory):]) {
		row := historyRow{Snapshot: k.Number, Emitted: k.Emitted, Finished: k.At,
			Records: report.Records{Counts: microdata.Counts{Released: k.Released, Quarantined: k.Quarantined}},
			Judged:  k.Judged, Passed: k.Passed, Efficiency: assess.Float(math.NaN())}
		if c, ok := k.Columns[d.Name]; ok {
			row.Efficiency, row.Worst = c.Efficiency, c.Worst
		}
		d.History = append(d.History, row)
	}
}

// timesOf are the lines over time of a column and of the stream.
func timesOf(moments []moment, column, unit string) []figure.TimePanel {
	risk := figure.TimePanel{Title: "Greatest risk shown, R", Unit: figure.RiskUnit(unit), Log: true}
	utility := figure.TimePanel{Title: "Efficiency U/U₀", Share: true}
	lag := figure.TimePanel{Title: "Lag, records"}
	rate := figure.TimePanel{Title: "Records per second"}
	for _, k := range moments {
		add := func(p *figure.TimePanel, v float64) {
			p.Points = append(p.Points, figure.TimePoint{At: k.At, Value: v, Begins: k.Begins})
		}
		c, known := k.Columns[column]
		efficiency, greatest, behind := math.NaN(), math.NaN(), math.NaN()
		if known {
			efficiency = float64(c.Efficiency)
		}
		if c.Worst != nil {
			greatest = float64(c.Worst.R)
		}
		if k.Lag != nil {
			behind = float64(*k.Lag)
		}
		add(&risk, greatest)
		add(&utility, efficiency)
		add(&lag, behind)
		add(&rate, float64(k.Rate))
	}
	return []figure.TimePanel{risk, utility, lag, rate}
}

// trail is where a point of the map was, the oldest place first.
func trail(history []*view, column string, p figure.RUPoint) []figure.RUPlace {
	var places []figure.RUPlace
	for _, v := range history {
		c := v.columns[column]
		if c == nil {
			continue
		}
		for _, q := range c.ru.Points {
			if q.Target == p.Target && q.Knowledge == p.Knowledge {
				if place := (figure.RUPlace{Efficiency: q.Efficiency, R: q.R}); len(places) == 0 || places[len(places)-1] != place {
					places = append(places, place)
				}
				break
			}
		}
	}
	return places
}
