package figure

import (
	"fmt"
	"math"
)

// RUMap is the R-U confidentiality map of one masked column: disclosure risk R
// against data utility, as efficiency U/U₀ (Duncan, Keller-McNulty and Stokes
// 2004, section III).
type RUMap struct {
	Title  string // title of a panel
	Column string
	Unit   string // of the column; R is in 1/unit²
	// Risk and Utility are the names of the axes if R is not 1/error², so that there is no
	// corresponding error to show; "" otherwise.
	Risk, Utility string
	Symbol        string // of the risk in the text of a mark; "" for R
	Points        []RUPoint
	Lines         []RULine
	// MinEfficiency is the least admissible efficiency; 0 if no rule sets one.
	MinEfficiency float64
	Curves        []RUCurve
	Settings      []RUSetting
	Key           []RUKey // legend of Curves and Settings; nil: that of the reference curves only
}

// RUPoint is one target under one knowledge state.
type RUPoint struct {
	Target, Knowledge string
	Efficiency        float64
	R                 float64 // +Inf if the snooper's error is 0
	Failed            bool    // the point violates a gate rule on this target and knowledge
	// Trail holds the earlier places of the point, the oldest first; empty for one
	// release.
	Trail []RUPlace
}

// RUPlace is a place on the map.
type RUPlace struct{ Efficiency, R float64 }

// drawable reports whether a place can be drawn on the axes; that of R is logarithmic.
func (p RUPlace) drawable() bool { return p.R > 0 && !math.IsNaN(p.Efficiency) }

// RULine is a threshold of the gate: the greatest admissible R of a target under
// a knowledge state, or of all of them if the word is empty.
type RULine struct {
	Target, Knowledge string
	R                 float64
}

// RUCurve is the curve of (efficiency, R) over the range of a parameter of a mask. The
// line is interrupted where R is not finite.
type RUCurve struct {
	Label      string
	Efficiency []float64
	R          []float64
	Style      RUStyle // zero: a faint reference line
}

// RUStyle distinguishes series by colour, dashes and, according to the state of
// knowledge, the shape of the marks.
type RUStyle struct {
	Colour    int // 1 to Colours; 0: that of a reference line
	Dash      int // 0 to Dashes − 1; 0: solid
	Knowledge string
	Weight    RUWeight
}

// RUWeight is the emphasis of a line.
type RUWeight int

// Weights of lines.
const (
	Ordinary RUWeight = iota
	Thin              // one of many in the background
	Strong            // the important one among the many
)

// Numbers of colours and of dash patterns with which a map distinguishes series.
const (
	Colours = 8
	Dashes  = 5
)

// class returns the style's classes in figure.css.
func (s RUStyle) class() string {
	class := fmt.Sprintf("c%d d%d", (max(s.Colour, 1)-1)%Colours+1, max(s.Dash, 0)%Dashes)
	switch s.Weight {
	case Thin:
		class += " thin"
	case Strong:
		class += " strong"
	}
	return class
}

// RUKey is an entry of the legend.
type RUKey struct {
	Text  string
	Style RUStyle
	Mark  bool // with a mark on the line
}

// RUSetting is one choice of a mask's parameters: a mark for each target and
// knowledge state at one efficiency.
type RUSetting struct {
	Name         string // "configured, noise.sd 35 % of SD"
	Note         string // further text, such as the violated rules
	Efficiency   float64
	EfficiencySE float64 // 0 or NaN: no bar
	Admissible   bool
	Unjudged     bool // admissible by the rules that could be evaluated, but some could not
	Recommended  bool
	Marks        []RUMark
}

// RUMark is one target under one knowledge state of a setting.
type RUMark struct {
	Label string // "max, index"
	Style RUStyle
	R     float64
	RSE   float64 // 0 or NaN: no bar
	Worst bool    // the mark that represents the setting if there is only one line
}

// drawable returns the map without what cannot be drawn on a log axis: points without a
// positive R, and thresholds that exclude nothing or are not numbers.
func (m RUMap) drawable() RUMap {
	points, lines := m.Points, m.Lines
	m.Points, m.Lines = nil, nil
	for _, p := range points {
		if (RUPlace{p.Efficiency, p.R}).drawable() {
			m.Points = append(m.Points, p)
		}
	}
	for _, l := range lines {
		if l.R > 0 && !math.IsInf(l.R, 1) {
			m.Lines = append(m.Lines, l)
		}
	}
	settings := m.Settings
	m.Settings = nil
	for _, s := range settings {
		marks := s.Marks
		s.Marks = nil
		for _, k := range marks {
			if (RUPlace{s.Efficiency, k.R}).drawable() {
				s.Marks = append(s.Marks, k)
			}
		}
		if len(s.Marks) > 0 {
			m.Settings = append(m.Settings, s)
		}
	}
	if math.IsNaN(m.MinEfficiency) || math.IsInf(m.MinEfficiency, 0) {
		m.MinEfficiency = 0
	}
	return m
}

// AdmissibleR returns the greatest R that satisfies all thresholds; ok is false if
// there are none.
func (m *RUMap) AdmissibleR() (limit float64, ok bool) {
	limit = math.Inf(1)
	for _, l := range m.Lines {
		limit = math.Min(limit, l.R)
	}
	return limit, len(m.Lines) > 0
}

// rangeR returns the decades that the map's R axis spans, at least two, from all
// finite points and lines.
func (m *RUMap) rangeR() (lo, hi int) {
	least, most := math.Inf(1), math.Inf(-1)
	see := func(r float64) {
		if r > 0 && !math.IsInf(r, 0) {
			least, most = math.Min(least, math.Log10(r)), math.Max(most, math.Log10(r))
		}
	}
	for _, p := range m.Points {
		see(p.R)
		for _, t := range p.Trail {
			see(t.R)
		}
	}
	for _, l := range m.Lines {
		see(l.R)
	}
	for _, s := range m.Settings {
		for _, k := range s.Marks {
			see(k.R)
		}
	}
	if least > most {
		return -1, 1
	}
	// Some space beyond the outermost marks, so that no mark is on the frame.
	lo, hi = int(math.Floor(least-0.1)), int(math.Ceil(most+0.1))
	if hi-lo < 2 {
		lo--
	}
	return lo, hi
}

// rangeU returns the upper end of the efficiency axis: 1, or more if a mask reduces the
// variance.
func (m *RUMap) rangeU() float64 {
	top := 1.0
	see := func(efficiency float64) {
		if !math.IsInf(efficiency, 0) && efficiency > top {
			top = efficiency
		}
	}
	for _, p := range m.Points {
		see(p.Efficiency)
		for _, t := range p.Trail {
			see(t.Efficiency)
		}
	}
	for _, s := range m.Settings {
		see(s.Efficiency)
	}
	// Points far above U₀ would compress all others on the axis; such points are drawn
	// at its end.
	return math.Min(math.Ceil(top*10)/10, 3)
}
