package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/form"
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

// LooseningAllowed returns an error for each setting that loosens a pipeline, unless that is
// allowed.
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
type change struct{ form.Change }

// loosened lists the settings that loosen.
func (l *loader) loosened() []Loosening {
	var list []Loosening
	for _, was := range l.Changes() {
		c := change{was}
		if !c.loosens() {
			continue
		}
		o := Loosening{Path: c.Path, Origin: c.Origin, To: c.Now}
		if c.Old != nil {
			o.From = *c.Old
		}
		list = append(list, o)
	}
	return list
}

// loosens judges a setting by its place. A setting loosens unless it is known to be harmless,
// or to be at least as strict as the file.
func (c *change) loosens() bool {
	if c.Old != nil && *c.Old == c.Now {
		return false
	}
	switch names := c.Names; names[0] {
	case "version", "name", "quarantine", "map":
		return false // where entries go that hold no value; a run ignores the map
	case "source":
		return !harmless(names, "path", "brokers", "tls", "sasl", "patience", "topics", "pattern", "group", "instance", "start", "until", "registry")
	case "sink":
		return !c.strictest(names[len(names)-1]) &&
			!harmless(names, "path", "compression", "encoding", "brokers", "tls", "sasl", "patience", "topic", "delivery", "commit", "registry", "roll",
				"delimiter", "header", "nulls", "quoting", "line_ending")
	case "window":
		return !(names[1] == "linger" && c.longer())
	case "columns":
		return c.loosensColumn(names[len(names)-1])
	case "unlisted":
		return c.Now != "fail"
	case "shard":
		return c.Now != "true"
	case "masks":
		return c.Added || c.loosensMask(names)
	case "assess":
		return c.loosensAssessment(names)
	case "gate":
		return c.loosensGate(names)
	case "report":
		return names[1] == "publish"
	}
	return true // key, identity, profile, and what is yet to come
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
		return c.Now == "shuffled"
	case "key", "headers", "timestamp":
		return c.Now == "drop"
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
		now := slices.Index(roles, c.Now)
		if c.Old == nil { // a column that the file does not list
			return c.Now != "identifier"
		}
		return now < 0 || now < slices.Index(roles, *c.Old)
	case "unmasked":
		return c.Now != "false"
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
		if c.Old == nil {
			defaults := map[string]string{"replicates": "200", "sample": "100000"}
			d := defaults[names[1]]
			c = &change{form.Change{Old: &d, Now: c.Now}}
		}
		return c.Now != "all" && !c.grows()
	}
	return true
}

// What becomes of records that the gate refuses, the strictest last.
var onFail = []string{Alert, Hold, Stop, Withhold}

func (c *change) loosensGate(names []string) bool {
	switch names[1] {
	case "on_fail":
		was := len(onFail) - 2 // stop and withhold are the defaults, and alike
		if c.Old != nil {
			was = min(was, slices.Index(onFail, *c.Old))
		}
		return slices.Index(onFail, c.Now) < was
	case "rules":
		if c.Added {
			return false // one rule more
		}
	}
	return !c.tighter(names[len(names)-1])
}

// tighter reports whether a limit (max_risk, min_rmse, max_quarantined, …) is
// stricter than that of the file, or is the only one.
func (c *change) tighter(field string) bool {
	switch {
	case strings.HasPrefix(field, "max_") && c.Old == nil, strings.HasPrefix(field, "min_") && c.Old == nil:
		_, _, ok := amount(c.Now)
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
func (c *change) compare(condition func(old, now float64) bool) bool {
	if c.Old == nil {
		return false
	}
	old, oldUnit, ok1 := amount(*c.Old)
	now, nowUnit, ok2 := amount(c.Now)
	return ok1 && ok2 && oldUnit == nowUnit && condition(old, now)
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
	if c.Old == nil {
		return false
	}
	old, err1 := time.ParseDuration(*c.Old)
	now, err2 := time.ParseDuration(c.Now)
	return err1 == nil && err2 == nil && now >= old
}
