package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	yaml "go.yaml.in/yaml/v3"
)

// Loosening is a setting of the environment or the command line that lets more out
// than the configuration file does, or may: it weakens a role, a mask, the gate or
// what they rest on.
type Loosening struct {
	Path   string `json:"path"`           // columns.ssn.role
	Origin string `json:"origin"`         // environment SDLFILTER_COLUMNS__SSN__ROLE
	From   string `json:"from,omitempty"` // as the file has it; "" where it says nothing
	To     string `json:"to"`
}

// Words is the loosening in one line, without its place.
func (o Loosening) Words() string {
	from := "nothing"
	if o.From != "" {
		from = strconv.Quote(clipped(o.From))
	}
	return fmt.Sprintf("%q may let out what the file withholds, which says %s", clipped(o.To), from)
}

func clipped(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

// LooseningAllowed returns what is wrong with a pipeline that settings have
// loosened, unless that is allowed.
func (p *Pipeline) LooseningAllowed(allowed bool) error {
	if allowed || len(p.Loosened) == 0 {
		return nil
	}
	var problems Errors
	for _, o := range p.Loosened {
		problems = append(problems, Error{Path: o.Path, Text: o.Words() + "; say it in the file, or run with --allow-loosening", File: o.Origin})
	}
	return problems
}

// change is what settings have made of one scalar of the file.
type change struct {
	steps  []step
	path   string
	origin string
	old    *string // nil: the file says nothing
	now    string
	added  bool // it belongs to an element of a list that settings have added
}

// note remembers what a setting changes: the file's own value, however many
// settings come after one another.
func (l *loader) note(steps []step, old *yaml.Node, s setting) {
	c := change{steps: steps, origin: s.origin, now: s.value}
	for _, st := range steps {
		if st.name == "" {
			c.path += fmt.Sprintf("[%d]", st.index)
		} else {
			c.path = join(c.path, st.name)
		}
		if st.name == "" && l.grown[c.path] {
			c.added = true
		}
	}
	if i := slices.IndexFunc(l.changes, func(b change) bool { return b.path == c.path }); i >= 0 {
		l.changes[i].now, l.changes[i].origin = c.now, c.origin
		return
	}
	if old != nil && !isNull(old) {
		was := old.Value
		c.old = &was
	}
	l.changes = append(l.changes, c)
}

// loosened lists the settings that loosen.
func (l *loader) loosened() []Loosening {
	var list []Loosening
	for _, c := range l.changes {
		if !c.loosens() {
			continue
		}
		o := Loosening{Path: c.path, Origin: c.origin, To: c.now}
		if c.old != nil {
			o.From = *c.old
		}
		list = append(list, o)
	}
	return list
}

// loosens judges a setting by its place. What is not known to be harmless, or to
// be at least as strict as what the file says, loosens.
func (c *change) loosens() bool {
	if c.old != nil && *c.old == c.now {
		return false
	}
	switch names := c.names(); names[0] {
	case "version", "name", "quarantine", "map":
		return false // where entries go that hold no value; a run ignores the map
	case "source":
		return !harmless(names, "path", "brokers", "tls", "sasl", "topics", "pattern", "group", "instance", "start", "until", "registry")
	case "sink":
		return !c.strictest(names[len(names)-1]) &&
			!harmless(names, "path", "compression", "encoding", "brokers", "tls", "sasl", "topic", "delivery", "commit", "registry", "roll",
				"delimiter", "header", "nulls", "quoting", "line_ending")
	case "window":
		return !(names[1] == "linger" && c.longer())
	case "columns":
		return c.loosensColumn(names[len(names)-1])
	case "unlisted":
		return c.now != "fail"
	case "masks":
		return c.added || c.loosensMask(names)
	case "assess":
		return c.loosensAssessment(names)
	case "gate":
		return c.loosensGate(names)
	case "report":
		return names[1] == "publish"
	}
	return true // key, identity, profile, and what is yet to come
}

// names are the names of a path, without the indexes of lists.
func (c *change) names() []string {
	var names []string
	for _, st := range c.steps {
		if st.name != "" {
			names = append(names, st.name)
		}
	}
	return names
}

// harmless reports whether a field of a source or a sink (its third name) is one of
// those that decide where data come from and go to, and not what.
func harmless(names []string, fields ...string) bool {
	return len(names) > 2 && slices.Contains(fields, names[2])
}

// strictest reports whether a field of the sink gets the value that lets least out.
func (c *change) strictest(field string) bool {
	switch field {
	case "order":
		return c.now == "shuffled"
	case "key", "headers", "timestamp":
		return c.now == "drop"
	}
	return false
}

// roles by how much they protect.
var roles = []string{"other", "key", "sensitive", "identifier"}

func (c *change) loosensColumn(field string) bool {
	switch field {
	case "unit":
		return false
	case "role":
		now := slices.Index(roles, c.now)
		if c.old == nil { // a column that the file does not list
			return c.now != "identifier"
		}
		return now < 0 || now < slices.Index(roles, *c.old)
	case "unmasked":
		return c.now != "false"
	}
	return !c.tighter(field)
}

// stronger are the parameters of masks that mask more the greater they are; weaker,
// the smaller they are. Of every other one (the columns, the distribution, tiers, a
// kind of mask that is yet to come) a change may loosen.
var (
	stronger = []string{"noise.sd", "bias.phi", "bias.range", "swap.rate", "round.base", "truncate.lower"}
	weaker   = []string{"truncate.upper", "round.decimals"}
)

// loosensMask judges masks, KIND, PARAMETER.
func (c *change) loosensMask(names []string) bool {
	switch parameter := strings.Join(names[1:], "."); {
	case slices.Contains(stronger, parameter):
		return !c.grows()
	case slices.Contains(weaker, parameter):
		return !c.shrinks()
	}
	return true
}

func (c *change) loosensAssessment(names []string) bool {
	switch names[1] {
	case "every", "emit":
		return false
	case "replicates", "sample":
		if c.old == nil {
			defaults := map[string]string{"replicates": "200", "sample": "100000"}
			d := defaults[names[1]]
			c = &change{old: &d, now: c.now}
		}
		return c.now != "all" && !c.grows()
	}
	return true
}

// What becomes of records that the gate refuses, the strictest last.
var onFail = []string{Alert, Hold, Stop, Withhold}

func (c *change) loosensGate(names []string) bool {
	switch names[1] {
	case "on_fail":
		was := len(onFail) - 2 // stop and withhold are the defaults, and alike
		if c.old != nil {
			was = min(was, slices.Index(onFail, *c.old))
		}
		return slices.Index(onFail, c.now) < was
	case "rules":
		if c.added {
			return false // one rule more
		}
	}
	return !c.tighter(names[len(names)-1])
}

// tighter reports whether a limit (max_risk, min_rmse, max_quarantined, …) is
// stricter than that of the file, or is the only one.
func (c *change) tighter(field string) bool {
	switch {
	case strings.HasPrefix(field, "max_") && c.old == nil, strings.HasPrefix(field, "min_") && c.old == nil:
		_, _, ok := amount(c.now)
		return ok
	case strings.HasPrefix(field, "max_"):
		return c.shrinks()
	case strings.HasPrefix(field, "min_"):
		return c.grows()
	}
	return false
}

func (c *change) grows() bool   { return c.compare(func(old, now float64) bool { return now >= old }) }
func (c *change) shrinks() bool { return c.compare(func(old, now float64) bool { return now <= old }) }

// compare compares two amounts, which must both be numbers or both percentages.
func (c *change) compare(holds func(old, now float64) bool) bool {
	if c.old == nil {
		return false
	}
	old, oldUnit, ok1 := amount(*c.old)
	now, nowUnit, ok2 := amount(c.now)
	return ok1 && ok2 && oldUnit == nowUnit && holds(old, now)
}

func amount(text string) (v float64, unit string, ok bool) {
	text = strings.TrimSpace(text)
	if cut, percent := strings.CutSuffix(text, "%"); percent {
		text, unit = strings.TrimSpace(cut), "%"
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, unit, err == nil && v == v
}

// longer compares two lengths of time.
func (c *change) longer() bool {
	if c.old == nil {
		return false
	}
	old, err1 := time.ParseDuration(*c.old)
	now, err2 := time.ParseDuration(c.now)
	return err1 == nil && err2 == nil && now >= old
}
